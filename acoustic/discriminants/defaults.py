"""What the estimators' arguments mean for a training set, where they leave something to it.

Axes: M training points, D features, R targets.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from acoustic.errors import ParameterError
from acoustic.kernels.forward import ForwardConfig
from acoustic.kernels.kernel import make_kernel, widths
from acoustic.kernels.parameters import check_not_negative, check_whole
from acoustic.kernels.quick_forward import Refinement, is_quick
from acoustic.kernels.width import (
    EPSILONS,
    FACTORS,
    left_out_setting,
    median_width,
    n_small_centers,
    neighbours,
    scale_width,
)
from foundation.arrays import Floats

SigmaName = Literal["loo", "scale", "median"]

PATIENCE = 20  # centres without improvement before a stopping rule of the estimators takes effect
N_CANDIDATES = 60  # for selection="error_reduction"; with probability 0.95 one is among the best 5 %
PAPERS_EPSILON, PAPERS_CENTERS = 1e-6, 100  # what a given block_size leaves open
FEW_CENTERS = 50  # up to this max_centers block_size="auto" is the papers' algorithm
PAIR_CENTERS = 150  # of each pair of classes with max_centers="auto"
MANY_CLASSES = 12  # above it multiclass="auto" is one-vs-one
_MUCH_LARGER = 5.0
_BLOCK = 16  # where neither the fast path nor the compiled selection does what is asked for
_FLAT = 1e-6  # kernel values below it count as 0, above 1 minus it as 1


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
    """What is left to the leave-one-out error."""

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
