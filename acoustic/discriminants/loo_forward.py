"""The sparse classifier of `loo_selection` as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from acoustic.discriminants.base import warn_without_effect
from acoustic.discriminants.expansion import ExpansionClassifier
from acoustic.discriminants.loo_selection import LooConfig, LooModel, LooStopping, loo_forward_selection
from acoustic.kernels.kernel import KernelName
from acoustic.kernels.leave_one_out import within_reach
from acoustic.kernels.parameters import check_whole
from foundation.arrays import Floats, Longs
from foundation.threads import single_threaded_libraries


class LOOForwardClassifier(ExpansionClassifier):
    """Sparse kernel classifier whose centres are selected for the fewest leave-one-out errors.

    More than two classes are told apart one-vs-rest, and each machine has its own centres.

    Parameters
    ----------
    sigma : width of the kernel
    max_centers : largest number of centres of a machine
    ridge : λ, which regularises the weights of the orthogonal columns
    stopping : ``loo`` stops when the leave-one-out misclassification rate no longer falls, as in the slides,
        which gives few centres; ``loo_error`` goes on while the rate stays the same and the leave-one-out
        squared error falls, which gives more centres; ``size`` stops at ``max_centers``
    patience : centres without improvement before stopping; the model goes back to the best size
    n_candidates : number of random points that may become centres; by default all points, whose columns take
        M² numbers
    fit_intercept : whether the model has a bias, which the slides do not have
    kernel, kernel_params : see `make_kernel`
    random_state : seed of the choice of candidates

    Attributes
    ----------
    classes_ : labels
    center_indices_ : (C,) rows of the distinct centres of all machines
    centers_ : (C, D)
    dual_coef_ : (R, C) θ, 0 where a machine does not have a centre; R is 1 for two classes
    intercept_ : (R,) 0 unless ``fit_intercept``
    machine_center_indices_ : R arrays, the centres of each machine in the order of their selection
    loo_decision_ : (M, R) leave-one-out outputs with the same centres, which ``predict_proba`` uses
    loo_errors_ : R arrays (number of steps, 2) of the leave-one-out misclassification rate and mean squared
        error with 0, 1, … centres, up to the last step tried
    """

    def __init__(
        self,
        sigma: float = 1.0,
        max_centers: int = 100,
        *,
        ridge: float = 1e-3,
        stopping: LooStopping = "loo",
        patience: int = 1,
        n_candidates: int | None = None,
        fit_intercept: bool = False,
        kernel: KernelName = "gaussian",
        kernel_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.sigma = sigma
        self.max_centers = max_centers
        self.ridge = ridge
        self.stopping = stopping
        self.patience = patience
        self.n_candidates = n_candidates
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _fit_outputs(self, X: NDArray[Any], targets: Floats, sample_weight: Floats | None) -> Floats:
        x, kernel, rng = X.astype(np.float64), self._make_kernel(), check_random_state(self.random_state)
        if self.stopping == "size":
            warn_without_effect(self, ["patience"], 'stopping="size"')
        config = LooConfig(
            self._capacity(len(x)), self.ridge, self.stopping, self.patience, self.fit_intercept
        )
        with single_threaded_libraries():
            machines = [
                loo_forward_selection(x, y, kernel, self._candidates(len(x), rng), config, sample_weight)
                for y in targets.T.copy()
            ]
        self._store(x, machines)
        self.loo_decision_ = np.column_stack([m.leave_one_out for m in machines])
        return within_reach(self.loo_decision_, targets)

    def _candidates(self, n_points: int, rng: np.random.RandomState) -> Longs:
        if self.n_candidates is None:
            return np.arange(n_points)
        check_whole("n_candidates", self.n_candidates, ", or None for all points")
        return np.sort(rng.choice(n_points, size=min(self.n_candidates, n_points), replace=False))

    def _store(self, x: Floats, machines: list[LooModel]) -> None:
        every = np.concatenate([m.indices for m in machines])
        order = np.sort(np.unique(every, return_index=True)[1])
        distinct = every[order]  # in the order of their selection
        place = {int(index): c for c, index in enumerate(distinct)}
        self.dual_coef_ = np.zeros((len(machines), len(distinct)))
        for weights, machine in zip(self.dual_coef_, machines, strict=True):
            weights[[place[int(index)] for index in machine.indices]] = machine.alpha
        self.intercept_ = np.array([m.bias for m in machines])
        self.centers_, self.center_indices_ = x[distinct], self._rows[distinct]
        self.machine_center_indices_ = [self._rows[m.indices] for m in machines]
        self.loo_errors_ = [m.errors for m in machines]
