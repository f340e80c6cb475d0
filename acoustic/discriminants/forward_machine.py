"""The machines that NPD and OROLS estimators consist of, and the attributes made from them.

Axes: M training points, D features, R rows of weights, C distinct centres of all machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from acoustic.discriminants.base import warn_without_effect
from acoustic.kernels.forward import ForwardConfig, ForwardPath, forward_selection
from acoustic.kernels.kernel import Kernel, make_kernel, widths
from foundation.arrays import Floats, Longs

PATIENCE = 20  # centres without improvement before a stopping rule of the estimators takes effect
N_CANDIDATES = 60  # for selection="error_reduction"; with probability 0.95 one is among the best 5 %
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
    """

    _regularize: bool
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

    def _config(self) -> ForwardConfig:
        """Return how centres are selected, from the estimator's parameters."""
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        sigmas = widths(parameters["sigma"])
        kernel = make_kernel(parameters["kernel"], sigmas[0], parameters["kernel_params"])
        config = ForwardConfig(
            kernel,
            sigmas,
            parameters["max_centers"],
            parameters["selection"],
            parameters["stopping"],
            parameters["tol"],
            PATIENCE,
            parameters["epsilon"],
            parameters["block_size"],
            N_CANDIDATES,
            self._regularize,
        )
        if config.stopping not in ("tol", "lambda"):
            warn_without_effect(self, ["tol"], f'stopping="{config.stopping}"')
        return config

    def _keep(self, machines: list[Machine], loo_decision: Floats) -> None:
        """Set the attributes that are made from the machines."""
        self.machines_, self.loo_decision_ = machines, loo_decision
        self.machine_center_indices_ = [m.chosen for m in machines]
        rows = np.concatenate(self.machine_center_indices_)
        sigmas = np.concatenate([m.path.sigmas[: len(m.chosen)] for m in machines])
        points = np.concatenate([m.centers[: len(m.chosen)] for m in machines])
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
    config: ForwardConfig,
    sample_weight: Floats | None,
    rng: np.random.Generator,
) -> list[ForwardPath]:
    """Return the path of a forward selection on points (M, D) for each group of columns of targets (M, R)."""
    return [forward_selection(x, y, config, sample_weight=sample_weight, rng=rng) for y in columns]


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator seeded as scikit-learn's ``random_state`` says."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
