"""The machines that NPD and OROLS estimators consist of, and the attributes made from them.

Axes: M training points, D features, R rows of weights, C distinct centres of all machines.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from acoustic.discriminants.base import warn_without_effect
from acoustic.discriminants.defaults import Plan, plan_of
from acoustic.kernels.forward import ForwardConfig, ForwardPath, forward_selection
from acoustic.kernels.kernel import Kernel
from acoustic.kernels.quick_forward import quick_selection
from foundation.arrays import Floats, Longs

_NEARLY_ALL = 0.9  # share of the points
PREDICT_BLOCK = 2048  # points whose kernel block is held at once


@dataclass(frozen=True)
class Machine:
    """The models of one forward selection, ready to predict.

    Attributes
    ----------
    path : models of all sizes on (M, R) targets; ``indices`` are rows of the estimator's X
    centers : (C, D) selected points
    kernel : kernel function
    weights : (C', R) weights of the first C' centres, those of the chosen size
    biases : (R,)
    """

    path: ForwardPath
    centers: NDArray[Any]
    kernel: Kernel
    weights: Floats
    biases: Floats

    @property
    def chosen(self) -> Longs:
        """The rows of the centres of the model of the chosen size."""
        return self.path.indices[: len(self.weights)]

    def outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return the outputs (len(sizes), M, R) of the models of these sizes."""
        models = (
            [(self.weights, self.biases)] if sizes is None else [self.path.weights(size) for size in sizes]
        )
        n_centers = max((len(alpha) for alpha, _ in models), default=0)
        found = np.empty((len(models), len(x), len(self.biases)))
        for start in range(0, len(x), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            block = self.kernel.rows(x[rows], self.centers[:n_centers], self.path.sigmas[:n_centers])
            for model, (alpha, bias) in enumerate(models):
                found[model, rows] = block[:, : len(alpha)] @ alpha.astype(block.dtype) + bias
        return found


def machine_of(path: ForwardPath, x: NDArray[Any], kernel: Kernel, rows: Longs) -> Machine:
    """Return the machine of a path on points x (M, D), which are these ``rows`` (M,) of the estimator's X."""
    weights, biases = path.weights()
    return Machine(path.without_points(rows), x[path.indices], kernel, np.ascontiguousarray(weights), biases)


class ForwardMachines:
    """Parameters and learned values that classifiers and regressors have in common.

    However many machines there are, the attributes show one set of distinct centres and one row of weights
    for every output: one output for two classes, one for each class (``shared``, ``ovr``) or one for each
    pair of classes (``ovo``).

    Attributes
    ----------
    machines_ : list of the machines
    center_indices_ : (C,) rows of X, the distinct centres in the order of their selection, machine by machine
    centers_ : (C, D)
    center_sigmas_ : (C,) width of each; a point that has two widths is two centres
    machine_center_indices_ : list of the centres of each machine, in the order of their selection
    intercept_ : (R,)
    loo_decision_ : leave-one-out value of ``decision_function`` at each training point of non-zero weight,
        always with a second axis; for regressors the leave-one-out values (M, R)
    n_distinct_centers_ : number of different points among the centres
    sigma_ : width of the kernel, or a tuple of several
    epsilon_ : ε
    """

    _regularize: bool
    sigma_: float | tuple[float, ...]
    epsilon_: float
    machines_: list[Machine]
    center_indices_: Longs
    centers_: NDArray[Any]
    center_sigmas_: Floats
    machine_center_indices_: list[Longs]
    intercept_: Floats
    loo_decision_: Floats
    n_distinct_centers_: int

    @property
    def dual_coef_(self) -> Floats:
        """(R, C) weights of the centres, 0 where a machine does not have a centre."""
        place = {key: c for c, key in enumerate(zip(self.center_indices_, self.center_sigmas_, strict=True))}
        found = np.zeros((len(self.intercept_), len(place)))
        first = 0
        for machine in self.machines_:
            keys = zip(machine.chosen, machine.path.sigmas, strict=False)  # the path may be longer
            columns = [place[key] for key in keys]
            found[first : first + len(machine.biases), columns] = machine.weights.T
            first += len(machine.biases)
        return found

    @property
    def ridge_(self) -> Floats:
        """(R,) λ of the OROLS machine that each row of weights belongs to."""
        if not self._regularize:
            raise AttributeError(f"{type(self).__name__} has no ridge_: only OROLS learns λ")
        ridges = [m.path.ridges[m.path.size] for m in self.machines_]
        return np.repeat(ridges, [len(m.biases) for m in self.machines_])

    def _plan(
        self, x: NDArray[Any], targets: Floats, sample_weight: Floats | None, *, is_pairwise: bool = False
    ) -> Plan:
        """Return how centres are selected, from the estimator's parameters and what is left to the data."""
        plan = plan_of(
            self.get_params(deep=False),  # type: ignore[attr-defined]
            x,
            targets,
            sample_weight,
            regularize=self._regularize,
            is_pairwise=is_pairwise,
        )
        self._keep_setting(plan.config)
        if plan.config.stopping not in ("tol", "lambda"):
            warn_without_effect(self, ["tol"], f'stopping="{plan.config.stopping}"')
        return plan

    def _keep_setting(self, config: ForwardConfig) -> None:
        """Set what was learned of the kernel."""
        self.sigma_ = config.sigmas[0] if len(config.sigmas) == 1 else config.sigmas
        self.epsilon_ = config.epsilon

    def _keep(self, machines: list[Machine], loo_decision: Floats) -> None:
        """Set the attributes that are made from the machines."""
        self.machines_, self.loo_decision_ = machines, loo_decision
        self.machine_center_indices_ = [m.chosen for m in machines]
        rows = np.concatenate(self.machine_center_indices_)
        sigmas = np.concatenate([m.path.sigmas[: len(m.chosen)] for m in machines])
        points = np.concatenate([m.centers[: len(m.chosen)] for m in machines])
        first: Longs = np.arange(len(rows))
        if len(machines) > 1:  # the centres of one machine are distinct
            first = np.sort(np.unique(np.stack([rows, sigmas]), axis=1, return_index=True)[1])
        self.center_indices_, self.center_sigmas_, self.centers_ = rows[first], sigmas[first], points[first]
        self.intercept_ = np.concatenate([m.biases for m in machines])
        self.n_distinct_centers_ = len(np.unique(rows))

    def _machine_outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return outputs (len(sizes), M, R) of all machines side by side; their chosen sizes by default."""
        if sizes is None:
            return np.concatenate([m.outputs(x) for m in self.machines_], axis=2)
        if not all(size >= 0 and size == int(size) for size in sizes):
            raise ValueError(f"sizes are {list(sizes)}, expected whole numbers of at least 0")
        asked = [[min(int(size), len(m.centers)) for size in sizes] for m in self.machines_]
        return np.concatenate([m.outputs(x, a) for m, a in zip(self.machines_, asked, strict=True)], axis=2)


def selected_paths(
    x: NDArray[Any],
    columns: Sequence[Floats],
    plan: Plan,
    sample_weight: Floats | None,
    random_state: int | np.random.RandomState | None,
) -> tuple[list[ForwardPath], ForwardConfig]:
    """Return the path of a forward selection for each group of columns of targets (M, R).

    The configuration is returned, too, as the fast selection of a single group may change width and ε.
    """
    config = plan.config
    if not plan.is_quick:
        rng = generator(random_state)
        paths = [forward_selection(x, y, config, sample_weight=sample_weight, rng=rng) for y in columns]
        if plan.gives_advice:
            _warn_of_unsettled_ridge(paths, config, len(x))
        return paths, config
    # Without a seed the draws are the same in every fit, so that a fit can be repeated.
    rng = np.random.default_rng(0) if random_state is None else generator(random_state)
    refinement = plan.refinement if len(columns) == 1 else None
    found = [
        quick_selection(x, y, config, sample_weight=sample_weight, rng=rng, refinement=refinement)
        for y in columns
    ]
    kernel = replace(config.kernel, sigma=found[0].sigma)
    return [quick.path for quick in found], replace(
        config, kernel=kernel, sigmas=(found[0].sigma,), epsilon=found[0].epsilon
    )


def _warn_of_unsettled_ridge(paths: list[ForwardPath], config: ForwardConfig, n_points: int) -> None:
    """Warn if the rule ``lambda`` let nearly all points become centres."""
    most = max(path.size for path in paths)
    if config.stopping == "lambda" and most >= _NEARLY_ALL * n_points:
        warnings.warn(
            f'stopping="lambda" took {most} of {n_points} points as centres, expected λ to settle before; '
            'give stopping="loo" or "gcv", or a smaller max_centers',
            UserWarning,
            stacklevel=4,
        )


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator seeded as scikit-learn's ``random_state`` says."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
