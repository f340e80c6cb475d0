"""Sequences whose items are computed whenever they are asked for, where all items would not fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item", covariant=True)
Other = TypeVar("Other")


class Computed(Sequence[Item]):
    """The sequence ``function(0), …, function(length − 1)``, of which nothing is kept.

    >>> squares = Computed(lambda n: n * n, 4)
    >>> squares[3], list(squares), list(squares.map(str))
    (9, [0, 1, 4, 9], ['0', '1', '4', '9'])
    """

    def __init__(self, function: Callable[[int], Item], length: int) -> None:
        self._function, self._length = function, length

    def __len__(self) -> int:
        """Return the number of items."""
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        """Compute an item, or all items of a slice."""
        places = range(self._length)[index]
        return self._function(places) if isinstance(places, int) else [self._function(n) for n in places]

    def map(self, function: Callable[[Item], Other]) -> Computed[Other]:
        """Return the sequence of what a function makes of the items."""
        return Computed(lambda n: function(self[n]), self._length)
