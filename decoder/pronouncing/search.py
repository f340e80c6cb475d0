"""The most likely pronunciations of a word: a beam search over its letters.

Hypotheses that have used the same letters compete. Each goes on with every unit that begins with the next
letter or the next two, at the probability of the n-gram model, which is looked up for all these units at
once: from the shortest history to the longest, those that the history knows replace what backoff gave.
Hypotheses with the same phones and the same history are one, with the sum of their probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foundation.arrays import Floats, Ints, Longs
from foundation.compiled import njit

_MIX = 6364136223846793005  # a multiplier of Knuth's: products wrap around and tell sequences apart
_ROOM = 16  # hypotheses kept before pruning, in beams


class JointNgram(NamedTuple):
    """An n-gram model of U units as a graph of histories.

    Node 0 is the empty history. Arc a, an n-gram below the highest order, leads to node a + 1. The end of a
    word is unit U, its start U + 1.

    Attributes
    ----------
    first_arcs : (nodes + 1,) int64, the arcs of node h are ``first_arcs[h]:first_arcs[h + 1]``
    arc_units : (arcs,) int32, ascending for each node
    arc_probs : (arcs,) float64, P(unit | node)
    last_nodes : int64, where the arcs of the highest order lead, the last of all arcs
    backoffs : (nodes,) float64, γ
    suffixes : (nodes,) int64, the node of the history without its first unit
    """

    first_arcs: Longs
    arc_units: Ints
    arc_probs: Floats
    last_nodes: Longs
    backoffs: Floats
    suffixes: Longs


class Stacks(NamedTuple):
    """The hypotheses after each number of letters: arrays of shape (letters + 1, room)."""

    scores: Floats
    nodes: Longs
    sounds: Longs  # numbers that stand for the phones so far
    parents: Longs  # record of the hypothesis before
    units: Longs  # last unit
    sizes: Longs  # (letters + 1,) hypotheses that are there
    best: Floats  # (letters + 1,) their best score


@njit(cache=True, nogil=True)
def search(
    model: JointNgram, ranges: Longs, unit_phones: Ints, beam: int, threshold: float
) -> tuple[Floats, Ints]:
    """Return the probabilities of the hypotheses left at a word's end, and their units.

    Parameters
    ----------
    model : n-grams of U units
    ranges : (letters, 2, 2) int64, the units with this letter alone, and with this and the next, each as
        first and stop
    unit_phones : (U, 2) int32, -1 = none
    beam : hypotheses that go on from each letter, at most
    threshold : those below this share of the best are dropped; 0 drops none

    Returns
    -------
    probs : (H,), joint probability of the letters, the phones and the cut
    units : (H, letters) int32, -1 behind the last
    """
    n_letters = len(ranges)
    stacks = _new_stacks(n_letters, _ROOM * beam)
    parents = np.empty(n_letters * beam, dtype=np.int64)
    last_units = np.empty(n_letters * beam, dtype=np.int64)
    widest = max(1, np.max(ranges[:, :, 1] - ranges[:, :, 0]))
    probs, nodes = np.empty(widest), np.empty(widest, dtype=np.int64)
    start = len(unit_phones) + 2 if len(model.suffixes) > 1 else 0
    _push(stacks, 0, 1.0, start, 0, -1, -1, beam, threshold)
    n_records = 0
    for i in range(n_letters):
        _prune(stacks, i, beam, threshold)
        for k in range(stacks.sizes[i]):
            parents[n_records], last_units[n_records] = stacks.parents[i, k], stacks.units[i, k]
            for width in range(1, 3):
                first, stop = ranges[i, width - 1]
                if i + width > n_letters or first == stop:
                    continue
                _continuations(model, stacks.nodes[i, k], first, stop, probs, nodes)
                for unit in range(first, stop):
                    sound = stacks.sounds[i, k]
                    for phone in unit_phones[unit]:
                        if phone >= 0:
                            sound = (sound + phone + 1) * _MIX
                    score = stacks.scores[i, k] * probs[unit - first]
                    node = nodes[unit - first]
                    _push(stacks, i + width, score, node, sound, n_records, unit, beam, threshold)
            n_records += 1
    _prune(stacks, n_letters, beam, threshold)
    n_found = stacks.sizes[n_letters]
    found = np.empty(n_found)
    units = np.full((n_found, n_letters), -1, dtype=np.int32)
    for k in range(n_found):
        end = _end_prob(model, stacks.nodes[n_letters, k], len(unit_phones))
        found[k] = stacks.scores[n_letters, k] * end
        n_units, unit, record = 0, stacks.units[n_letters, k], stacks.parents[n_letters, k]
        while record >= 0:
            units[k, n_units] = unit
            n_units += 1
            unit, record = last_units[record], parents[record]
        units[k, :n_units] = units[k, :n_units][::-1].copy()
    return found, units


@njit(cache=True, nogil=True)
def _new_stacks(n_letters: int, room: int) -> Stacks:
    shape = (n_letters + 1, room)
    return Stacks(
        np.empty(shape),
        np.empty(shape, dtype=np.int64),
        np.empty(shape, dtype=np.int64),
        np.empty(shape, dtype=np.int64),
        np.empty(shape, dtype=np.int64),
        np.zeros(n_letters + 1, dtype=np.int64),
        np.zeros(n_letters + 1),
    )


@njit(cache=True, nogil=True)
def _push(
    stacks: Stacks,
    at: int,
    score: float,
    node: int,
    sound: int,
    parent: int,
    unit: int,
    beam: int,
    threshold: float,
) -> None:
    """Add a hypothesis unless it is far below the best; make room if there is none."""
    if score <= threshold * stacks.best[at]:
        return
    if stacks.sizes[at] == stacks.scores.shape[1]:
        _prune(stacks, at, 4 * beam, threshold)
    k = stacks.sizes[at]
    stacks.scores[at, k], stacks.nodes[at, k], stacks.sounds[at, k] = score, node, sound
    stacks.parents[at, k], stacks.units[at, k] = parent, unit
    stacks.sizes[at] = k + 1
    stacks.best[at] = max(stacks.best[at], score)


@njit(cache=True, nogil=True)
def _prune(stacks: Stacks, at: int, beam: int, threshold: float) -> None:
    """Make hypotheses with the same phones and history one, and keep the best of them."""
    size = stacks.sizes[at]
    scores, nodes, sounds = stacks.scores[at], stacks.nodes[at], stacks.sounds[at]
    parents, units = stacks.parents[at], stacks.units[at]
    order = np.argsort(sounds[:size] ^ (nodes[:size] * _MIX))
    sums = np.zeros(size)
    n_kept = 0
    kept = np.empty(size, dtype=np.int64)
    for rank in range(size):
        k = order[rank]
        last = kept[n_kept - 1] if n_kept else -1
        if last >= 0 and sounds[k] == sounds[last] and nodes[k] == nodes[last]:
            sums[n_kept - 1] += scores[k]
            if scores[k] > scores[last]:
                kept[n_kept - 1] = k
        else:
            kept[n_kept], sums[n_kept] = k, scores[k]
            n_kept += 1
    kept, sums = kept[:n_kept], sums[:n_kept]
    best = np.max(sums) if n_kept else 0.0
    floor = threshold * best
    if n_kept > beam:
        floor = max(floor, np.partition(sums, n_kept - beam)[n_kept - beam])
    chosen = np.flatnonzero(sums >= floor)[:beam]
    kept, sums = kept[chosen], sums[chosen]
    scores[: len(kept)] = sums
    nodes[: len(kept)] = nodes[kept]
    sounds[: len(kept)] = sounds[kept]
    parents[: len(kept)] = parents[kept]
    units[: len(kept)] = units[kept]
    stacks.sizes[at], stacks.best[at] = len(kept), best


@njit(cache=True, nogil=True)
def _continuations(model: JointNgram, node: int, first: int, stop: int, probs: Floats, nodes: Longs) -> None:
    """Write P(unit | history) of the units from first to stop, and the nodes they lead to."""
    if node == 0:
        for arc in range(first, stop):  # all units are arcs of the empty history
            probs[arc - first], nodes[arc - first] = model.arc_probs[arc], _target(model, arc)
        return
    _continuations(model, model.suffixes[node], first, stop, probs, nodes)
    first_arc, stop_arc = model.first_arcs[node], model.first_arcs[node + 1]
    if first_arc == stop_arc:
        return
    probs[: stop - first] *= model.backoffs[node]
    arc = first_arc + np.searchsorted(model.arc_units[first_arc:stop_arc], first)
    while arc < stop_arc and model.arc_units[arc] < stop:
        at = model.arc_units[arc] - first
        probs[at], nodes[at] = model.arc_probs[arc], _target(model, arc)
        arc += 1


@njit(cache=True, nogil=True)
def _target(model: JointNgram, arc: int) -> int:
    n_inner = len(model.arc_units) - len(model.last_nodes)
    return arc + 1 if arc < n_inner else model.last_nodes[arc - n_inner]


@njit(cache=True, nogil=True)
def _end_prob(model: JointNgram, node: int, end: int) -> float:
    """Return the probability that a word ends after a history."""
    weight = 1.0
    while node > 0:
        stop = model.first_arcs[node + 1]
        if model.first_arcs[node] < stop:
            if model.arc_units[stop - 1] == end:  # the last unit that can follow
                return float(weight * model.arc_probs[stop - 1])
            weight *= model.backoffs[node]
        node = model.suffixes[node]
    return float(weight * model.arc_probs[end])
