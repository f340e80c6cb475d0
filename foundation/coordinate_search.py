"""A search for the best values of several options: one after the other, over lists of values.

Weights of decoders are found by it, and options of training that are chosen on a dev set.
"""

from __future__ import annotations

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
        it are tried one by one as long as the best value is the outermost that was tried

    Examples
    --------
    >>> axes, start = {"a": (1, 2, 3), "b": (0, 1)}, {"a": 1, "b": 1}
    >>> coordinate_search(lambda w: abs(w["a"] - 2) + abs(w["b"]), axes, start, max_rounds=3).weights
    {'a': 2, 'b': 0}
    >>> coordinate_search(lambda w: abs(w["a"] - 5), axes, start, 3, {"a": widened(axes["a"])}).weights
    {'a': 5, 'b': 0}
    """
    tried: dict[tuple[float, ...], float] = {}
    runs = {name: _Run.of(values, wider.get(name, values)) for name, values in axes.items()}

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
    def of(cls, listed: Sequence[float], values: Sequence[float]) -> _Run:
        first = list(values).index(listed[0])
        return cls(values, first, first + len(listed))

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
    """
    if len(values) < 2:
        return list(values)
    width = abs(values[-1] - values[0])

    def beyond(edge: float, inner: float) -> list[float]:
        n_steps = int(min(len(values), width / abs(edge - inner)))
        return [edge + n * (edge - inner) for n in range(1, 1 + n_steps)]

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
