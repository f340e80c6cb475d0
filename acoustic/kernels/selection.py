"""The greedy loop by which all methods of forward selection choose centres; each method is a scorer.

Thesis Algorithms 1 and 2, the leave-one-out slides, orthogonal least squares and the nodes of KMSE differ in
which point they choose next, in what they update after each choice, and in when they stop. They share the
rest: the kernel columns of the chosen points are made orthogonal to the columns before, and points whose
columns lie in the span of these are skipped.

Axes: M training points, b points chosen at once.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from foundation.arrays import Flags, Longs, Reals


class Scorer(Protocol):
    """The part of the loop that differs from method to method."""

    def choose(self) -> Longs:
        """Return the points (b,) whose columns come next, the best first; none to end the selection."""

    def columns(self, points: Longs) -> Reals:
        """Return the columns (M, b) of some points."""

    def account(self, points: Longs, added: Flags) -> None:
        """Take note of the points (b,) that were chosen, and of which columns the basis took."""

    def is_done(self) -> bool:
        """Return whether the model is good enough."""


class Basis(Protocol):
    """Orthogonal columns; see `OrthogonalBasis`."""

    def append(self, columns: Reals) -> Flags:
        """Add the columns (M, b) that do not lie in the span of the basis; return which were added (b,)."""


def select_greedily(scorer: Scorer, basis: Basis, n_most: int) -> Longs:
    """Return the selected points (C,), C ≤ n_most, in their order; the basis holds their columns.

    Parameters
    ----------
    scorer : says which points come next and when to stop
    basis : orthogonal columns, which the columns of the selected points are added to
    n_most : largest number of points
    """
    selected: list[int] = []
    while len(selected) < n_most and not scorer.is_done():
        # A full block is chosen even if there is room for less, so a path does not depend on its final
        # length.
        points = scorer.choose()[: n_most - len(selected)]
        if not len(points):
            break
        added = basis.append(scorer.columns(points))  # q = k − K K†k, thesis (3.54)
        scorer.account(points, added)
        selected += points[added].tolist()
    return np.array(selected, dtype=np.int64)
