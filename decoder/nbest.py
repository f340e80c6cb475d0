"""The n best distinct word sequences of a lattice, exactly and in order."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from decoder.lattice import Lattice, best_remaining

# The edges of a path, last first: (edge, the edges before it).
Path = tuple[int, "Path | None"]
# For each node where a word sequence can end: the best score up to there, and its path.
Ends = dict[int, tuple[float, Path | None]]


@dataclass(frozen=True)
class LatticePath:
    """The best way of saying one word sequence: its edges in order of time (silences too) and its total score."""

    edges: tuple[int, ...]
    log_score: float


def best_sequences(lattice: Lattice, n_best: int) -> list[LatticePath]:
    """Return up to ``n_best`` paths of different words, best first.

    A* over word sequences instead of paths: a sequence stands for all its times and silences at once, as in the
    on-the-fly determinisation of M. Mohri and M. Riley, "An efficient algorithm for the n-best-strings problem", ICSLP
    2002. The score that remains is known exactly, so each pop is on the way to the next best sequence.
    """
    remaining = best_remaining(lattice)
    ticket = itertools.count()  # equal scores leave in the order of arrival
    heap: list[tuple[float, int, Ends | LatticePath]] = []

    def push(ends: Ends) -> None:
        ends = _with_silences(lattice, ends)
        score = max(score + remaining[node] for node, (score, _) in ends.items())
        if score > -np.inf:
            heapq.heappush(heap, (-score, next(ticket), ends))

    push({lattice.start: (0.0, None)})
    found: list[LatticePath] = []
    while heap and len(found) < n_best:
        _, _, item = heapq.heappop(heap)
        if isinstance(item, LatticePath):
            found.append(item)
            continue
        finished = _finish(lattice, item)
        if finished:
            heapq.heappush(heap, (-finished.log_score, next(ticket), finished))
        for ends in _next_words(lattice, item):
            push(ends)
    return found


def _edges_from(lattice: Lattice, node: int) -> range:
    """Return the edges that leave a node."""
    first, stop = np.searchsorted(lattice.sources, [node, node + 1])
    return range(int(first), int(stop))


def _offer(ends: Ends, node: int, score: float, path: Path) -> None:
    """Keep the better of two ways to a node."""
    if node not in ends or score > ends[node][0]:
        ends[node] = (score, path)


def _with_silences(lattice: Lattice, ends: Ends) -> Ends:
    """Return the ends with those a silence leads to; a silence is never followed by another."""
    extended = dict(ends)
    for node, (score, path) in ends.items():
        for edge in _edges_from(lattice, node):
            if lattice.words[edge] < 0:
                _offer(
                    extended, int(lattice.targets[edge]), score + float(lattice.scores[edge]), (edge, path)
                )
    return extended


def _next_words(lattice: Lattice, ends: Ends) -> list[Ends]:
    """Return the ends of each word sequence that is one word longer."""
    by_word: dict[int, Ends] = {}
    for node, (score, path) in ends.items():
        for edge in _edges_from(lattice, node):
            word = int(lattice.words[edge])
            if word >= 0:
                longer = by_word.setdefault(word, {})
                _offer(longer, int(lattice.targets[edge]), score + float(lattice.scores[edge]), (edge, path))
    return list(by_word.values())


def _finish(lattice: Lattice, ends: Ends) -> LatticePath | None:
    """Return the best path that ends the sentence here, None if it may not end."""
    total, node = max((score + float(lattice.final_scores[node]), node) for node, (score, _) in ends.items())
    if total == -np.inf:
        return None
    edges, path = [], ends[node][1]
    while path is not None:
        edges.append(path[0])
        path = path[1]
    return LatticePath(tuple(edges[::-1]), total)
