"""The machines that NPD and OROLS estimators consist of, and how the estimators' arguments make them.

`plan_of` says what the arguments mean for a training set where they leave something to it: widths, ε, numbers
of centres, block sizes. `Machine` is one selected expansion; `ForwardMachines` are the attributes of an
estimator that are made from its machines.

Axes: M training points, D features, R targets or rows of weights, C distinct centres of all machines.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from acoustic.discriminants.base import warn_without_effect
from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig, ForwardPath, forward_selection
from acoustic.kernels.kernel import Kernel, check_not_negative, check_whole, make_kernel, widths
from acoustic.kernels.quick_forward import Refinement, is_quick, quick_selection
from acoustic.kernels.width import (
    EPSILONS,
    FACTORS,
    left_out_setting,
    median_width,
    n_small_centers,
    neighbours,
    scale_width,
)
from foundation.arrays import Floats, Longs

SigmaName = Literal["loo", "scale", "median"]

PATIENCE = 20  # centres without improvement before a stopping rule of the estimators takes effect; by feel
N_CANDIDATES = 60  # for selection="error_reduction"; with probability 0.95 one is among the best 5 %
PAPERS_EPSILON, PAPERS_CENTERS = 1e-6, 100  # what a given block_size leaves open
# Up to this max_centers block_size="auto" is the papers' algorithm (ADR 10).
FEW_CENTERS = 50
PAIR_CENTERS = 150  # of each pair of classes with max_centers="auto"
MANY_CLASSES = 12  # above it multiclass="auto" is one-vs-one; ADR 10
_MUCH_LARGER = 5.0  # by feel
_BLOCK = 16  # where neither the fast path nor the compiled selection does what is asked for
_FLAT = 1e-6  # kernel values below it count as 0, above 1 minus it as 1; by feel
_NEARLY_ALL = 0.9  # share of the points; by feel
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


class Plan(NamedTuple):
    """How centres are selected.

    Attributes
    ----------
    config : for `forward_selection` or `quick_selection`
    is_quick : which of the two
    refinement : what `quick_selection` may still change
    gives_advice : whether to warn of settings that seldom make sense; who asks for the papers' algorithm by a
        ``block_size`` may want them
    """

    config: ForwardConfig
    is_quick: bool
    refinement: Refinement = Refinement()
    gives_advice: bool = True


def plan_of(
    parameters: Mapping[str, Any],
    x: NDArray[Any],
    targets: Floats,
    sample_weight: Floats | None,
    *,
    regularize: bool,
    is_pairwise: bool = False,
) -> Plan:
    """Return how centres are selected among points (M, D) for targets (M, R).

    Parameters
    ----------
    parameters : arguments of an estimator of NPD or OROLS
    x, targets, sample_weight : the training set
    regularize : whether λ is estimated (OROLS)
    is_pairwise : whether there will be a machine for each pair of classes
    """
    given = _given_widths(parameters["sigma"], x)
    kernel = make_kernel(parameters["kernel"], given[0], parameters["kernel_params"])
    block_size = _checked_block_size(parameters["block_size"])
    is_papers = block_size is not None
    n_centers = _number_of_centers(parameters["max_centers"], len(x), is_pairwise, is_papers)
    stopping = parameters["stopping"]
    if _is(stopping, "auto"):
        is_free = _is(parameters["max_centers"], "auto") and not (is_papers or is_pairwise)
        stopping = "loo" if is_free else "size"
    epsilon = parameters["epsilon"]
    if _is(epsilon, "auto"):
        epsilon = PAPERS_EPSILON if is_papers else "loo"
    config = ForwardConfig(
        kernel,
        given,
        n_centers,
        parameters["selection"],
        stopping,
        parameters["tol"],
        PATIENCE,
        _checked_epsilon(epsilon),
        block_size or 1,
        N_CANDIDATES,
        regularize,
    )
    searches = Searches(_is(parameters["sigma"], "loo"), _is(epsilon, "loo"))
    config = _with_searched(config, searches, x, targets, sample_weight)
    if not isinstance(parameters["sigma"], str) and not is_papers:
        _warn_of_extreme_width(config, x)
    few = not _is(parameters["max_centers"], "auto") and n_centers <= FEW_CENTERS
    if is_papers or is_pairwise or few:
        return Plan(config, False, gives_advice=not is_papers)
    if not is_quick(config):
        return Plan(replace(config, block_size=_BLOCK), False)
    return Plan(config, True, _refinement(searches, n_centers, len(x)))


class Searches(NamedTuple):
    """Which of the settings the leave-one-out error chooses."""

    width: bool
    epsilon: bool


def _refinement(searches: Searches, n_centers: int, n_points: int) -> Refinement:
    """Return what the fast selection may still change of what the search found with small models.

    With few centres a wide kernel fits best, so that small models find too large a width for large ones. A
    small model with nearly as many centres has found what need not be changed.
    """
    if n_centers <= _MUCH_LARGER * n_small_centers(n_points):
        return Refinement()
    return Refinement(
        (1.0, 0.5) if searches.width else (1.0,), (0.1, 1.0, 10.0) if searches.epsilon else (1.0,)
    )


def _is(value: Any, word: str) -> bool:
    """Return whether an argument, which may be an array, is this word."""
    return isinstance(value, str) and value == word


def automatic_centers(n_points: int) -> int:
    """Return the number of centres that ``max_centers="auto"`` allows.

    It is a third of the points, 500 from 1,500 points on; above 7,000 it grows like the square root of their
    number.
    """
    return min(max(n_points // 3, 50), max(500, round(6 * math.sqrt(n_points))))


def _given_widths(sigma: Any, x: NDArray[Any]) -> tuple[float, ...]:
    """Return the widths that an argument names; those to be searched where it is ``loo``."""
    if not isinstance(sigma, str):
        return widths(sigma)
    if sigma not in get_args(SigmaName):
        raise ParameterError(
            f"sigma is {sigma!r}, expected a finite number above 0, or several, or one of: "
            + ", ".join(get_args(SigmaName))
        )
    if sigma == "median":
        return (median_width(x),)
    scale = scale_width(x)
    return (scale,) if sigma == "scale" else tuple(factor * scale for factor in FACTORS)


def _number_of_centers(max_centers: Any, n_points: int, is_pairwise: bool, is_papers: bool) -> int:
    """Return the largest number of centres of a machine."""
    if _is(max_centers, "auto"):
        if is_papers:
            return PAPERS_CENTERS
        return PAIR_CENTERS if is_pairwise else automatic_centers(n_points)
    check_whole("max_centers", max_centers, ', or "auto"')
    return int(max_centers)


def _checked_block_size(block_size: Any) -> int | None:
    """Return the number of centres added at once, None if it was left open."""
    if _is(block_size, "auto"):
        return None
    check_whole("block_size", block_size, ', or "auto"')
    return int(block_size)


def _checked_epsilon(epsilon: Any) -> float:
    """Return ε, or 0 as long as it is to be searched."""
    if isinstance(epsilon, str):
        if epsilon != "loo":
            raise ParameterError(f'epsilon is "{epsilon}", expected a finite number of at least 0, or "loo"')
        return 0.0
    check_not_negative("epsilon", epsilon)
    return float(epsilon)


def _with_searched(
    config: ForwardConfig,
    searches: Searches,
    x: NDArray[Any],
    targets: Floats,
    sample_weight: Floats | None,
) -> ForwardConfig:
    """Return the configuration with the width and the ε that have the least leave-one-out error."""
    if not any(searches):
        return config
    epsilons = EPSILONS if searches.epsilon else np.array([config.epsilon])
    found = left_out_setting(x, targets, config.kernel, np.sort(config.sigmas), epsilons, sample_weight)
    sigmas = (found.sigma,) if searches.width else config.sigmas
    return replace(
        config, sigmas=sigmas, kernel=replace(config.kernel, sigma=sigmas[0]), epsilon=found.epsilon
    )


def _warn_of_extreme_width(config: ForwardConfig, x: NDArray[Any]) -> None:
    """Warn of a kernel that is 0 between different points, or 1 between all of them."""
    if config.kernel.name not in ("gaussian", "compact") or len(x) < 2:
        return
    nearest = neighbours(x, config.kernel, max(config.sigmas))[:-1]
    least = neighbours(x, config.kernel, min(config.sigmas))[-1]
    if float(np.median(nearest)) < _FLAT:
        fault, cure = (
            "0 between a point and its nearest neighbours: it can only learn points by heart",
            "larger",
        )
    elif least > 1.0 - _FLAT:
        fault, cure = "1 between all points: it cannot tell them apart", "smaller"
    else:
        return
    warnings.warn(
        f"sigma is {config.sigmas[0] if len(config.sigmas) == 1 else config.sigmas}, for which the kernel is "
        f'nearly {fault}; expected something like {scale_width(x):.3g}; give sigma="loo", "scale" or a '
        f"{cure} number, or standardise the features",
        UserWarning,
        stacklevel=5,
    )
