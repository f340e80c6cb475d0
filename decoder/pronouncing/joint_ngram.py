"""The n-gram model of units: estimated with interpolated Kneser-Ney smoothing, and searched, on arrays.

With the counts c of n-grams hw, the discount D, and the shortened history h':

    P(w | h) = (c(hw) − D(c(hw))) / c(h) + γ(h) P(w | h'),    γ(h) = Σ_w D(c(hw)) / c(h)

Below the highest order c is the number of different units that precede the n-gram (n-grams at the start of a
word keep their counts); below the single units is the uniform distribution. D is one of three values, for
counts of 1, 2 and more: S. Chen and J. Goodman, "An empirical study of smoothing techniques for language
modeling", Harvard TR-10-98, 1998, section 4.2 ("modified").

The grammars of `decoder.grammars.smoothing` are the same for words, with one discount and dictionaries of
n-grams; a lexicon has millions of n-grams of units. A test holds the two against each other.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from foundation.arrays import Flags, Floats, Ints, Longs
from foundation.compiled import njit

MIN_DISCOUNT = 0.1


class Order(NamedTuple):
    """The n-grams of one order, sorted by history and unit.

    Attributes
    ----------
    histories, suffixes : (K,) int64, numbers of n-grams of the order below
    units : (K,) int64
    counts : (K,) int64, how often they occur
    is_first : (K,) bool, whether they begin with the start of a word
    """

    histories: Longs
    suffixes: Longs
    units: Longs
    counts: Longs
    is_first: Flags


def estimate(units: Longs, offsets: Longs, n_units: int, order: int) -> JointNgram:
    """Return the model of the sequences ``units[offsets[k]:offsets[k + 1]]``; empty ones are passed over."""
    orders = count_ngrams(units, offsets, n_units, order)
    return graph(orders, interpolate(orders, smoothed_counts(orders)))


def count_ngrams(units: Longs, offsets: Longs, n_units: int, order: int) -> list[Order]:
    """Return the n-grams of each order from 1; those of order 1 are all units, the end and the start."""
    symbols, places = _with_boundaries(units, offsets, n_units)
    n_symbols = n_units + 2
    everything = np.arange(n_symbols)
    none = np.zeros(n_symbols, dtype=np.int64)
    counts = np.bincount(symbols, minlength=n_symbols)
    orders = [Order(none, none, everything, counts, everything == n_units + 1)]
    ids = symbols  # of the n-gram that ends at each place
    for n in range(2, order + 1):
        ends = np.flatnonzero(places >= n - 1)
        if len(ends) == 0:
            break
        codes, inverse = np.unique(ids[ends - 1] * n_symbols + symbols[ends], return_inverse=True)
        suffixes = np.empty(len(codes), dtype=np.int64)
        suffixes[inverse] = ids[ends]
        is_first = np.zeros(len(codes), dtype=bool)
        is_first[inverse] = places[ends] == n - 1
        ngrams = Order(codes // n_symbols, suffixes, codes % n_symbols, np.bincount(inverse), is_first)
        orders.append(ngrams)
        ids = ids.copy()
        ids[ends] = inverse
    return orders


def _with_boundaries(units: Longs, offsets: Longs, n_units: int) -> tuple[Longs, Longs]:
    """Return the sequences with start and end, end to end, and the place of each symbol in its sequence."""
    lengths = np.diff(offsets)
    lengths = lengths[lengths > 0]
    stops = np.cumsum(lengths + 2)
    symbols = np.empty(stops[-1] if len(stops) else 0, dtype=np.int64)
    is_boundary = np.zeros(len(symbols), dtype=bool)
    for at, symbol in ((stops - 1, n_units), (stops - lengths - 2, n_units + 1)):
        is_boundary[at] = True
        symbols[at] = symbol
    symbols[~is_boundary] = units
    places = np.arange(len(symbols)) - np.repeat(stops - lengths - 2, lengths + 2)
    return symbols, places


def smoothed_counts(orders: list[Order]) -> list[Longs]:
    """Return Kneser-Ney counts: below the highest order, how many different units precede an n-gram."""
    found = []
    for ngrams, longer in pairwise(orders):
        preceding = np.bincount(longer.suffixes, minlength=len(ngrams.units))
        found.append(np.where(ngrams.is_first, ngrams.counts, preceding))
    found.append(orders[-1].counts)
    found[0] = np.where(orders[0].is_first, 0, found[0])  # nothing predicts the start
    return found


def discounts_of(counts: Longs) -> Floats:
    """Return the discounts of counts 0, 1, 2 and 3 or more, shape (4,).

    Where a lexicon is too small for an estimate they are the plain n1 / (n1 + 2 n2), kept from 0 and 1.
    """
    n1, n2, n3, n4 = (int(np.sum(counts == c)) for c in (1, 2, 3, 4))
    plain = n1 / (n1 + 2 * n2) if n1 else 0.0
    if min(n1, n2, n3, n4) == 0:
        return np.array([0.0, *[float(np.clip(plain, MIN_DISCOUNT, 1 - MIN_DISCOUNT))] * 3])
    estimates = [1 - 2 * plain * n2 / n1, 2 - 3 * plain * n3 / n2, 3 - 4 * plain * n4 / n3]
    return np.array([0.0, *(np.clip(d, MIN_DISCOUNT, c - MIN_DISCOUNT) for c, d in enumerate(estimates, 1))])


def interpolate(
    orders: list[Order], counts: list[Longs], discounts: list[Floats] | None = None
) -> tuple[list[Floats], list[Floats]]:
    """Return for each order P of its n-grams, and γ of their histories.

    Parameters
    ----------
    discounts : of each order, see `discounts_of`, which finds them if they are not given
    """
    probs: list[Floats] = []
    backoffs: list[Floats] = []
    events = orders[0].units != len(orders[0].units) - 1
    below = events / np.sum(events)
    for n, (ngrams, found) in enumerate(zip(orders, counts, strict=True)):
        taken = (discounts_of(found) if discounts is None else discounts[n])[np.minimum(found, 3)]
        n_histories = len(orders[n - 1].units) if n else 1
        totals = np.bincount(ngrams.histories, weights=found, minlength=n_histories)
        shared = np.bincount(ngrams.histories, weights=taken, minlength=n_histories)
        backoff = np.divide(shared, totals, out=np.ones(n_histories), where=totals > 0)
        own = np.divide(found - taken, totals[ngrams.histories], out=np.zeros(len(found)), where=found > 0)
        lower = probs[n - 1][ngrams.suffixes] if n else below
        probs.append(own + backoff[ngrams.histories] * lower)
        backoffs.append(backoff)
    return probs, backoffs


def graph(orders: list[Order], smoothed: tuple[list[Floats], list[Floats]]) -> JointNgram:
    """Return the n-grams of all orders as a graph of histories."""
    probs, backoffs = smoothed
    sizes = [len(ngrams.units) for ngrams in orders]
    starts = np.concatenate([[0], np.cumsum(sizes)])  # of the arcs of each order
    n_nodes = 1 + int(starts[-2])
    n_arcs = np.concatenate(
        [np.bincount(ngrams.histories, minlength=n) for ngrams, n in zip(orders, [1, *sizes], strict=False)]
    )
    suffixes = [
        np.zeros(sizes[0], dtype=np.int64),
        *(1 + starts[n - 1] + orders[n].suffixes for n in range(1, len(orders))),
    ]
    return JointNgram(
        np.concatenate([[0], np.cumsum(n_arcs)]).astype(np.int64),
        np.concatenate([ngrams.units for ngrams in orders]).astype(np.int32),
        np.concatenate(probs),
        suffixes[-1] if len(orders) > 1 else np.zeros(sizes[0], dtype=np.int64),
        np.concatenate(backoffs),
        np.concatenate([np.zeros(1, dtype=np.int64), *suffixes[:-1]])[:n_nodes],
    )


# The most likely pronunciations of a word: a beam search over its letters.
#
# Hypotheses that have used the same letters compete. Each goes on with every unit that begins with the next
# letter or the next two, at the probability of the n-gram model, which is looked up for all these units at
# once: from the shortest history to the longest, those that the history knows replace what backoff gave.
# Hypotheses with the same phones and the same history are one, with the sum of their probabilities.

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
