"""The n best distinct word sequences of a lattice, exactly and in order."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from decoder.search.lattice import Lattice, best_remaining, edge_slacks
from foundation.arrays import Longs

FIRST_WIDTH = 4.0  # how far from the best path the first search looks

# The edges of a path, last first: (edge, the edges before it).
Path = tuple[int, "Path | None"]
# For each node where a word sequence can end: the best score up to there, and its path.
Ends = dict[int, tuple[float, Path | None]]


@dataclass(frozen=True)
class LatticePath:
    """The best way to say a word sequence: its edges in order of time, silences too, and its total score."""

    edges: tuple[int, ...]
    log_score: float


class _Edges(NamedTuple):
    """The edges as lists, which Python reads faster; those of node v are ``offsets[v]:offsets[v + 1]``."""

    offsets: list[int]
    targets: list[int]
    words: list[int]
    scores: list[float]


def best_sequences(lattice: Lattice, n_best: int) -> list[LatticePath]:
    """Return up to ``n_best`` paths of different words, best first.

    The search first uses only the edges close to the best path, and widens as long as too few sequences are
    found. A path scores at most as well as the best path over each of its edges, so no path within the width
    is missed.
    """
    remaining = best_remaining(lattice)
    best = float(remaining[lattice.start])
    slacks = edge_slacks(lattice, remaining)
    width = FIRST_WIDTH
    while True:
        kept = np.flatnonzero(slacks <= width)
        everything = len(kept) == np.isfinite(slacks).sum()
        lowest = -np.inf if everything else best - width
        found = _best_sequences(lattice, kept, remaining.tolist(), n_best, lowest)
        if everything or len(found) == n_best:
            return found
        width *= 2.0


def _best_sequences(
    lattice: Lattice, kept: Longs, remaining: list[float], n_best: int, lowest: float
) -> list[LatticePath]:
    """Return up to ``n_best`` paths that score at least ``lowest`` and use only some edges, best first.

    A* over word sequences instead of paths: a sequence stands for all its times and silences at once, as in
    the on-the-fly determinisation of M. Mohri and M. Riley, "An efficient algorithm for the n-best-strings
    problem", ICSLP 2002. The best remaining score is known exactly, so each sequence that is extended leads
    to one of the best.
    """
    final = lattice.final_scores.tolist()
    edges = _Edges(
        np.searchsorted(lattice.sources[kept], np.arange(len(remaining) + 1)).tolist(),
        lattice.targets[kept].tolist(),
        lattice.words[kept].tolist(),
        lattice.scores[kept].tolist(),
    )
    ticket = itertools.count()  # equal scores leave in the order of arrival
    heap: list[tuple[float, int, Ends | LatticePath]] = []
    found: list[LatticePath] = []

    def push(ends: Ends) -> None:
        total = max(score + remaining[node] for node, (score, _) in ends.items())
        if total > -np.inf and total >= lowest:
            heapq.heappush(heap, (-total, next(ticket), ends))

    push({lattice.start: (0.0, None)})
    while heap and len(found) < n_best:
        item = heapq.heappop(heap)[2]
        if isinstance(item, LatticePath):
            found.append(LatticePath(tuple(kept[list(item.edges)].tolist()), item.log_score))
            continue
        item = _with_silences(edges, item)
        path = _finish(item, final)
        if path and path.log_score >= lowest:
            heapq.heappush(heap, (-path.log_score, next(ticket), path))
        for ends in _next_words(edges, item):
            push(ends)
    return found


def _offer(ends: Ends, node: int, score: float, path: Path) -> None:
    """Keep the better of two ways to a node."""
    if node not in ends or score > ends[node][0]:
        ends[node] = (score, path)


def _with_silences(edges: _Edges, ends: Ends) -> Ends:
    """Return the ends with those a silence leads to; a silence is never followed by another."""
    extended = dict(ends)
    for node, (score, path) in ends.items():
        for edge in range(edges.offsets[node], edges.offsets[node + 1]):
            if edges.words[edge] < 0:
                _offer(extended, edges.targets[edge], score + edges.scores[edge], (edge, path))
    return extended


def _next_words(edges: _Edges, ends: Ends) -> list[Ends]:
    """Return the ends of each word sequence that is one word longer."""
    by_word: dict[int, Ends] = {}
    for node, (score, path) in ends.items():
        for edge in range(edges.offsets[node], edges.offsets[node + 1]):
            word = edges.words[edge]
            if word >= 0:
                longer = by_word.setdefault(word, {})
                _offer(longer, edges.targets[edge], score + edges.scores[edge], (edge, path))
    return list(by_word.values())


def _finish(ends: Ends, final: list[float]) -> LatticePath | None:
    """Return the best path that ends the sentence here, None if it may not end."""
    total, node = max((score + final[node], node) for node, (score, _) in ends.items())
    if total == -np.inf:
        return None
    path, taken = ends[node][1], []
    while path is not None:
        taken.append(path[0])
        path = path[1]
    return LatticePath(tuple(taken[::-1]), total)
