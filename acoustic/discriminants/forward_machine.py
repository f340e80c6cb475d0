"""What the NPD and OROLS estimators are made of: machines that predict, and their state as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from acoustic.discriminants.state import HEADER, State, packed_header, unpacked_header
from acoustic.kernels.forward import ForwardConfig, ForwardPath, forward_selection
from acoustic.kernels.kernel import Kernel, widths
from foundation.arrays import Floats, Longs

PREDICT_BLOCK = 2048  # points whose kernel block is held at once


class Machine:
    """The models of one forward selection on (M, R) targets, ready to predict.

    Parameters
    ----------
    path : models of all sizes; ``indices`` are rows of the estimator's X
    centers : (C, D) selected points
    kernel : kernel function
    """

    def __init__(self, path: ForwardPath, centers: NDArray[Any], kernel: Kernel) -> None:
        self.path, self.centers, self.kernel = path, centers, kernel

    @cached_property
    def model(self) -> tuple[Floats, Floats]:
        """Weights (C, R) and biases (R,) of the chosen size."""
        return self.path.weights()

    def outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return the outputs (len(sizes), M, R) of the models with so many centres."""
        models = [self.model] if sizes is None else [self.path.weights(size) for size in sizes]
        n_centers = max((len(alpha) for alpha, _ in models), default=0)
        found = np.empty((len(models), len(x), self.path.projections.shape[1]))
        for start in range(0, len(x), PREDICT_BLOCK):
            rows = slice(start, start + PREDICT_BLOCK)
            block = self.kernel.block(x[rows], self.centers[:n_centers], self.path.sigmas[:n_centers])
            for model, (alpha, bias) in enumerate(models):
                found[model, rows] = block[:, : len(alpha)] @ alpha.astype(block.dtype) + bias
        return found

    def arrays(self) -> State:
        """Return all but the kernel as arrays."""
        path = {field.name: np.asarray(getattr(self.path, field.name)) for field in fields(ForwardPath)}
        return {"centers": self.centers, **path}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], kernel: Kernel) -> Self:
        """Return the machine again."""
        values: dict[str, Any] = {field.name: arrays[field.name] for field in fields(ForwardPath)}
        return cls(ForwardPath(**{**values, "size": int(values["size"])}), arrays["centers"], kernel)


class ForwardMachines:
    """Parameters and learned values that classifiers and regressors have in common."""

    _regularize: bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    machines_: list[Machine]

    def _config(self) -> ForwardConfig:
        """Return how centres are selected, from the estimator's parameters."""
        parameters: dict[str, Any] = self.get_params()  # type: ignore[attr-defined]
        sigmas = widths(parameters["sigma"])
        kernel = Kernel(
            parameters["kernel"], sigmas[0], parameters["theta"], parameters["degree"], parameters["radius"]
        )
        shared = (
            "max_centers",
            "selection",
            "stopping",
            "tol",
            "patience",
            "epsilon",
            "block_size",
            "n_candidates",
        )
        return ForwardConfig(
            kernel, sigmas, regularize=self._regularize, **{name: parameters[name] for name in shared}
        )

    def _select(
        self, x: NDArray[Any], targets: Floats, sample_weight: Floats | None, seed: Any
    ) -> ForwardPath:
        """Return one forward selection with the estimator's parameters."""
        return forward_selection(x, targets, self._config(), sample_weight=sample_weight, rng=seed)

    def _keep(self, x: NDArray[Any], paths: list[ForwardPath], used: Longs) -> None:
        """Keep machines, without what is as large as the training set; ``used`` rows of X took part."""
        kernel = self._config().kernel
        self._store([Machine(path.without_points(used), x[path.indices], kernel) for path in paths])
        self.loo_decision_ = np.concatenate([path.leave_one_out for path in paths], axis=1)

    def _store(self, machines: list[Machine]) -> None:
        """Keep the machines, and what scikit-learn users look for."""
        self.machines_ = machines
        chosen = [m.path.indices[: m.path.size] for m in machines]
        self.center_indices_ = chosen[0] if len(machines) == 1 else chosen
        centers = [m.centers[: m.path.size] for m in machines]
        self.centers_ = centers[0] if len(machines) == 1 else centers
        weights = [m.model for m in machines]
        self.dual_coef_ = weights[0][0].T if len(machines) == 1 else [alpha.T for alpha, _ in weights]
        self.intercept_ = np.concatenate([bias for _, bias in weights])
        self.n_distinct_centers_ = len(np.unique(np.concatenate(chosen)))

    def _machine_outputs(self, x: NDArray[Any], sizes: Sequence[int] | None = None) -> Floats:
        """Return outputs (len(sizes), M, R) of all machines side by side; their chosen sizes by default."""
        if sizes is None:
            return np.concatenate([m.outputs(x) for m in self.machines_], axis=2)
        if not all(size >= 0 and size == int(size) for size in sizes):
            raise ValueError(f"sizes are {list(sizes)}, expected whole numbers of at least 0")
        asked = [[min(int(size), len(m.centers)) for size in sizes] for m in self.machines_]
        return np.concatenate([m.outputs(x, a) for m, a in zip(self.machines_, asked, strict=True)], axis=2)

    def state_dict(self) -> State:
        """Return the fitted estimator as arrays, for example for safetensors; ``from_state`` makes it again.

        All that predicts is there, for every size; ``loo_decision_``, as large as the training set, is not.
        """
        check_is_fitted(self)
        header: dict[str, Any] = {"parameters": self.get_params()}  # type: ignore[attr-defined]
        header["n_features"] = self.n_features_in_
        header["feature_names"] = getattr(self, "feature_names_in_", None)
        state: State = {}
        self._save(header, state)
        state[HEADER] = packed_header(type(self).__name__, header)
        return {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in state.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Return the estimator that gave this ``state_dict``; it predicts the same bits."""
        header = unpacked_header(state, cls.__name__)
        estimator = cls(**header["parameters"])
        estimator.n_features_in_ = header["n_features"]
        if header["feature_names"] is not None:
            estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        estimator._restore(header, state)
        return estimator

    def _save(self, header: dict[str, Any], state: State) -> None:
        """Add the machines to a state."""
        header["n_machines"] = len(self.machines_)
        for i, machine in enumerate(self.machines_):
            state |= {f"machine{i}.{name}": array for name, array in machine.arrays().items()}

    def _restore(self, header: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> None:
        """Take the machines from a state."""
        kernel = self._config().kernel
        self._store(
            [Machine.from_arrays(part_of(state, f"machine{i}"), kernel) for i in range(header["n_machines"])]
        )


def part_of(state: Mapping[str, NDArray[Any]], prefix: str) -> State:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.partition(".")[2]: array for name, array in state.items() if name.partition(".")[0] == prefix
    }


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Return a generator seeded as scikit-learn's ``random_state`` says."""
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
