"""Kernel Fisher discriminant, thesis 3.3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from acoustic.discriminants.kernel_ridge import PenalizedKernel, random_points
from acoustic.kernels.kernel import KernelName
from foundation.arrays import Floats


class KernelFisherDiscriminant(PenalizedKernel):
    """Kernel Fisher discriminant, thesis (3.36) to (3.41); of more than two classes each against the rest.

    It is found as the least squares onto the labels (thesis 3.2, 3.3.1). With S_T = S_W + M₊M₋/M·S_B, the
    scatter of the kernel columns about their mean over all points, (S_T + λI)⁻¹(m₊ − m₋) has the direction of
    (3.41), (S_W + λI)⁻¹(m₊ − m₋). But S_T is the same for every class, so one factorisation serves them all;
    and the length and the bias (3.26) follow, and the leave-one-out outputs that ``predict_proba`` rests on.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : how many random training points the expansion (3.33) has; None = all, as in the thesis
    epsilon : λ in units of the mean diagonal of S_T, above 0: S_W has rank M − 2 at most
    kernel, kernel_params : see `make_kernel`
    random_state : of the choice of centres

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
