"""Pronunciations as a tree of shared beginnings, in flat arrays.

The pronunciations are sorted, and every node of the tree covers a range of them: those that begin with the
units on its way. So a set of pronunciations, kept sorted, has members below a node exactly if some of them
fall into the node's range. Nodes are numbered level by level, which makes the children of a node neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foundation.arrays import Floats, Ints, Longs

NOTHING = -1  # fills the rows of short pronunciations


class PrefixTree(NamedTuple):
    """A tree over L pronunciations with N nodes, one for each distinct beginning.

    Attributes
    ----------
    order : (L,) int64, the pronunciations in the order of the tree; the leaf k is pronunciation ``order[k]``
    units : (N,) int32, the last unit of the beginning
    child_first, child_stop : (N,) int32, the nodes that are one unit longer
    leaf_first, leaf_stop : (N,) int32, the leaves that begin so
    own_stop : (N,) int32, the leaves that are no longer are ``leaf_first:own_stop``
    n_roots : the nodes of one unit are ``0:n_roots``
    """

    order: Longs
    units: Ints
    child_first: Ints
    child_stop: Ints
    leaf_first: Ints
    leaf_stop: Ints
    own_stop: Ints
    n_roots: int


def build_prefix_tree(pronunciations: Sequence[Sequence[int]]) -> PrefixTree:
    """Return the tree of pronunciations, each of one unit or more; units are numbered from 0.

    Pronunciations that are equal share their nodes and stay in the order in which they are given.
    """
    rows = np.full((len(pronunciations), max(map(len, pronunciations))), NOTHING, dtype=np.int32)
    for row, pronunciation in zip(rows, pronunciations, strict=True):
        row[: len(pronunciation)] = pronunciation
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    lengths = (rows != NOTHING).sum(axis=1)
    begins = np.arange(len(rows)) == 0  # where the beginning differs from that of the leaf before
    levels: list[tuple[Longs, Longs]] = []
    for depth, column in enumerate(rows.T):
        begins = begins | np.concatenate([[True], column[1:] != column[:-1]])
        edges = np.append(np.flatnonzero(begins), len(rows))
        has_node = column[edges[:-1]] != NOTHING
        levels.append((edges[:-1][has_node], edges[1:][has_node]))
        if (lengths <= depth + 1).all():
            break
    return _numbered(order, rows, lengths, levels)


def _numbered(order: Longs, rows: Ints, lengths: Longs, levels: Sequence[tuple[Longs, Longs]]) -> PrefixTree:
    """Return the tree whose nodes have the leaves given for each level."""
    sizes = np.array([len(first) for first, _ in levels])
    level_first = np.concatenate([[0], np.cumsum(sizes)])
    child_first, child_stop, own_stop, units = [], [], [], []
    for depth, (first, stop) in enumerate(levels):
        below = levels[depth + 1][0] if depth + 1 < len(levels) else np.zeros(0, dtype=np.int64)
        child_first.append(level_first[depth + 1] + np.searchsorted(below, first))
        child_stop.append(level_first[depth + 1] + np.searchsorted(below, stop))
        # Leaves are sorted, so that those that end here come before the longer ones.
        is_longer = np.concatenate([[0], np.cumsum(lengths > depth + 1)])
        own_stop.append(stop - (is_longer[stop] - is_longer[first]))
        units.append(rows[first, depth])
    return PrefixTree(
        order=order,
        units=_joined(units),
        child_first=_joined(child_first),
        child_stop=_joined(child_stop),
        leaf_first=_joined([first for first, _ in levels]),
        leaf_stop=_joined([stop for _, stop in levels]),
        own_stop=_joined(own_stop),
        n_roots=len(levels[0][0]),
    )


def _joined(parts: Sequence[Longs | Ints]) -> Ints:
    return np.concatenate(parts).astype(np.int32)


def best_below(tree: PrefixTree, values: Floats) -> Floats:
    """Return the greatest of the leaves' values (L,) below each node, (N,) float64."""
    ranges = np.column_stack([tree.leaf_first, tree.leaf_stop]).ravel()
    found: Floats = np.maximum.reduceat(np.append(values, -np.inf), ranges)[::2]
    return found
