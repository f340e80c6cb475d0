"""A search for the best values of several options: one after the other, over lists of values.

Weights of decoders are found by it, and options of training that are chosen on a dev set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

Weights = dict[str, float]


@dataclass(frozen=True)
class Tuned:
    """The best weights found, their word errors on dev or other cost, and all that was tried."""

    weights: Weights
    errors: float
    trials: tuple[tuple[Weights, float], ...]


def coordinate_search(
    cost: Callable[[Weights], float], axes: Mapping[str, Sequence[float]], start: Weights, max_rounds: int
) -> Tuned:
    """Return the weights found by minimising along one axis after the other until a round changes nothing.

    >>> axes, start = {"a": (1, 2, 3), "b": (0, 1)}, {"a": 1, "b": 1}
    >>> coordinate_search(lambda w: abs(w["a"] - 2) + abs(w["b"]), axes, start, max_rounds=3).weights
    {'a': 2, 'b': 0}
    """
    tried: dict[tuple[float, ...], float] = {}

    def cached(weights: Weights) -> float:
        key = tuple(weights[name] for name in axes)
        if key not in tried:
            tried[key] = cost(weights)
        return tried[key]

    best = dict(start)
    for _ in range(max_rounds):
        before = dict(best)
        for name, values in axes.items():
            costs = [cached({**best, name: value}) for value in values]
            best[name] = values[middle_of_best(costs)]
        if best == before:
            break
    trials = tuple((dict(zip(axes, key, strict=True)), errors) for key, errors in tried.items())
    return Tuned(best, cached(best), trials)


def nearest(values: Sequence[float], wanted: float) -> float:
    """Return the value that is nearest to another, from which a search starts.

    >>> nearest((1, 4, 8), 5)
    4
    """
    return min(values, key=lambda value: abs(value - wanted))


def middle_of_best(costs: Sequence[float]) -> int:
    """Return the middle of the longest run of the lowest cost, since the edge of a plateau may be chance.

    >>> middle_of_best([5, 3, 3, 3, 4, 3])
    2
    """
    lowest = min(costs)
    runs = [list(run) for is_low, run in groupby(range(len(costs)), lambda i: costs[i] == lowest) if is_low]
    longest = max(runs, key=len)
    return longest[(len(longest) - 1) // 2]
