"""A search for the best values of several options: one after the other, over lists of values.

Weights of decoders are found by it, and options of training that are chosen on a dev set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

Weights = dict[str, float]


@dataclass(frozen=True)
class Tuned:
    """The best weights found, their word errors on dev or other cost, and all that was tried."""

    weights: Weights
    errors: float
    trials: tuple[tuple[Weights, float], ...]


def coordinate_search(
    cost: Callable[[Weights], float],
    axes: Mapping[str, Sequence[float]],
    start: Weights,
    max_rounds: int,
    wider: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> Tuned:
    """Return the weights found by minimising along one axis after the other until a round changes nothing.

    Parameters
    ----------
    cost : what is to be small
    axes : the values that are tried
    start : the weights to begin with
    max_rounds : how often each axis is walked at most
    wider : for some axes a longer list that has the values of ``axes`` in one run; those before and behind
        it are tried as far as ``start``, and then one by one as long as the best value is the outermost

    Examples
    --------
    >>> axes, start = {"a": (1, 2, 3), "b": (0, 1)}, {"a": 1, "b": 1}
    >>> coordinate_search(lambda w: abs(w["a"] - 2) + abs(w["b"]), axes, start, max_rounds=3).weights
    {'a': 2, 'b': 0}
    >>> coordinate_search(lambda w: abs(w["a"] - 5), axes, start, 3, {"a": widened(axes["a"])}).weights
    {'a': 5, 'b': 0}
    """
    tried: dict[tuple[float, ...], float] = {}
    runs = {name: _Run.of(values, wider.get(name, values), start[name]) for name, values in axes.items()}

    def cached(weights: Weights) -> float:
        key = tuple(weights[name] for name in axes)
        if key not in tried:
            tried[key] = cost(weights)
        return tried[key]

    best = dict(start)
    for _ in range(max_rounds):
        before = dict(best)
        for name, run in runs.items():
            while True:
                values = run.values[run.first : run.stop]
                place = middle_of_best([cached({**best, name: value}) for value in values])
                best[name] = values[place]
                if not run.grows_beside(place):
                    break
        if best == before:
            break
    trials = tuple((dict(zip(axes, key, strict=True)), errors) for key, errors in tried.items())
    return Tuned(best, cached(best), trials)


@dataclass
class _Run:
    """The values of an axis that are tried, ``first:stop`` of all there are."""

    values: Sequence[float]
    first: int
    stop: int

    @classmethod
    def of(cls, listed: Sequence[float], values: Sequence[float], start: float) -> _Run:
        """Return the run of the values that are listed, and of those between them and the start."""
        first = list(values).index(listed[0])
        stop = first + len(listed)
        if start in values:
            place = list(values).index(start)
            first, stop = min(first, place), max(stop, place + 1)
        return cls(values, first, stop)

    def grows_beside(self, place: int) -> bool:
        """Take in the next value if the one at a place of the run is the outermost; return whether it did."""
        if place == 0 and self.first > 0:
            self.first -= 1
        elif self.first + place == self.stop - 1 < len(self.values) - 1:
            self.stop += 1
        else:
            return False
        return True


def widened(values: Sequence[float]) -> list[float]:
    """Return ascending or descending values with as many more at both ends, in the steps that are there.

    No value is further out than the list is wide. A single value has no steps and stays alone.

    >>> widened([0, -5, -10, -20])
    [20, 15, 10, 5, 0, -5, -10, -20, -30, -40]
    >>> widened([0.1, 0.2, 0.3])
    [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    if len(values) < 2:
        return list(values)
    width = abs(values[-1] - values[0])

    def beyond(edge: float, inner: float) -> list[float]:
        step = edge - inner
        n_steps = int(min(len(values), width / abs(step) + 1e-9))
        n_digits = 12 - math.ceil(math.log10(abs(step)))  # behind the point; what is less is an error of sums
        return [round(edge + n * step, n_digits) + 0 for n in range(1, 1 + n_steps)]  # 0 has no sign

    return [*reversed(beyond(values[0], values[1])), *values, *beyond(values[-1], values[-2])]


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
