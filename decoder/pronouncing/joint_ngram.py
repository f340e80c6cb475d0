"""The n-gram model of units: interpolated Kneser-Ney smoothing, on arrays.

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

from decoder.pronouncing.search import JointNgram
from foundation.arrays import Flags, Floats, Longs

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
    """Return the counts of Kneser-Ney: below the highest order, of different units that precede."""
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
