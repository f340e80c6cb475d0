"""Kernel Fisher discriminant, thesis 3.3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.kernel_ridge import PenalizedKernel, random_points
from acoustic.kernels.kernel import KernelName
from foundation.arrays import Floats


class KernelFisherDiscriminant(PenalizedKernel):
    """Kernel Fisher discriminant, thesis (3.36) to (3.41); more than two classes are told apart one-vs-rest.

    It is computed as a least-squares fit to the labels (thesis 3.2, 3.3.1). Let S_T = S_W + M₊M₋/M·S_B be the
    scatter of the kernel columns about their mean over all points. Then (S_T + λI)⁻¹(m₊ − m₋) has the same
    direction as (S_W + λI)⁻¹(m₊ − m₋) of (3.41). As S_T is the same for every class, one factorisation serves
    all classes. The fit also gives the length of the weights, the bias (3.26), and the leave-one-out outputs
    that ``predict_proba`` uses.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : number of random training points in the expansion (3.33); None takes all, as in the thesis
    epsilon : λ in units of the mean diagonal of S_T; above 0, since S_W has at most rank M − 2
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of centres

    Attributes
    ----------
    center_indices_, centers_ : (C,) and (C, D)
    dual_coef_, intercept_ : (R, C) and (R,)
    ridge_, loo_decision_ : λ, and (M, R)
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int | None = None,
        *,
        epsilon: float = 1e-3,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers  # type: ignore[assignment]
        self.epsilon = epsilon
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x = np.asarray(X, dtype=np.float64)
        chosen = random_points(len(x), self.max_centers, "max_centers", self.random_state)
        return self._learn(x, targets, sample_weight, chosen, has_bias=True)
