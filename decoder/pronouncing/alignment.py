"""Which letters of a word stand for which of its phones: units of both, found by expectation-maximisation.

A unit is one letter with no, one or two phones, or two letters with one phone. A pronunciation
is a sequence of units, each drawn independently; EM finds the probabilities of the units that make all
pronunciations of a lexicon most likely, over all ways to cut them (J. Novak, N. Minematsu and K. Hirose,
"Phonetisaurus: exploring grapheme-to-phoneme conversion with joint n-gram models in the WFST framework",
Natural Language Engineering 22 (6), 2016; S. Jiampojamarn et al., "Applying many-to-many alignments and
hidden Markov models to letter-to-phoneme conversion", NAACL 2007). The first round takes all ways to cut a
word for equally likely.

Units are numbered by letters first: those of letter a are ``a·G … a·G + G − 1`` with G = 1 + phones + pairs
of phones, then follow those of pairs of letters, one for each phone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foundation.arrays import Floats, Longs
from foundation.compiled import njit

ROUNDS = 12  # of EM at most; by feel
TOLERANCE = 1e-3  # EM ends when a round gains less than this share of the log-likelihood; by feel
_BEFORE = ((1, 0), (1, 1), (1, 2), (2, 1))  # letters and phones of a unit by its shape


class Cuts(NamedTuple):
    """Pronunciations as numbers, N entries end to end.

    The units that begin with letter i and phone j of an entry are ``single[i]`` (the letter is silent),
    ``single[i] + phones[j]``, ``single[i] + phone_pairs[j]`` and ``double[i] + phones[j]``.

    Attributes
    ----------
    single, double : (L,) int64, what is added to the phones for the letter, and for it and the next
    phones, phone_pairs : (P,) int64, from 1 on; a pair begins with its phone
    letter_offsets, phone_offsets : (N + 1,) int64, entry k is ``offsets[k]:offsets[k + 1]``
    """

    single: Longs
    double: Longs
    phones: Longs
    phone_pairs: Longs
    letter_offsets: Longs
    phone_offsets: Longs


@dataclass(frozen=True)
class Numbering:
    """The letters, phones and their pairs by their numbers; n units in all."""

    letters: tuple[str, ...]
    letter_pairs: tuple[tuple[int, int], ...]
    phones: tuple[str, ...]
    phone_pairs: tuple[tuple[int, int], ...]

    @property
    def n_groups(self) -> int:
        """Units of one letter."""
        return 1 + len(self.phones) + len(self.phone_pairs)

    @property
    def n_single(self) -> int:
        """Units with one letter."""
        return len(self.letters) * self.n_groups

    @property
    def n_units(self) -> int:
        """Number of all units that are possible."""
        return self.n_single + len(self.letter_pairs) * len(self.phones)

    def parts(self, unit: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the letters and the phones of a unit, by their numbers."""
        if unit >= self.n_single:
            pair, phone = divmod(unit - self.n_single, len(self.phones))
            return self.letter_pairs[pair], (phone,)
        letter, group = divmod(unit, self.n_groups)
        if group == 0:
            return (letter,), ()
        n_phones = len(self.phones)
        return (letter,), ((group - 1,) if group <= n_phones else self.phone_pairs[group - 1 - n_phones])


def number(entries: Sequence[tuple[str, Sequence[str]]]) -> tuple[Cuts, Numbering]:
    """Return pronunciations (letters, phones) as numbers, which follow the order of code points."""
    letters = sorted({letter for word, _ in entries for letter in word})
    phones = sorted({phone for _, pronunciation in entries for phone in pronunciation})
    letter_ids, letter_pair_ids, letter_offsets, letter_pairs = _numbered([w for w, _ in entries], letters)
    phone_ids, phone_pair_ids, phone_offsets, phone_pairs = _numbered([p for _, p in entries], phones)
    names = Numbering(tuple(letters), letter_pairs, tuple(phones), phone_pairs)
    cuts = Cuts(
        letter_ids * names.n_groups,
        names.n_single + letter_pair_ids * len(phones) - 1,
        phone_ids + 1,
        phone_pair_ids + 1 + len(phones),
        letter_offsets,
        phone_offsets,
    )
    return cuts, names


def _numbered(
    sequences: Sequence[Sequence[str]], symbols: Sequence[str]
) -> tuple[Longs, Longs, Longs, tuple[tuple[int, int], ...]]:
    """Return the symbols' numbers end to end, those of the pairs (0 at an end), the offsets, the pairs."""
    ids = {symbol: i for i, symbol in enumerate(symbols)}
    flat = np.array([ids[symbol] for sequence in sequences for symbol in sequence], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum([len(sequence) for sequence in sequences])]).astype(np.int64)
    has_next = np.ones(len(flat), dtype=bool)
    has_next[offsets[1:] - 1] = False
    begins = np.flatnonzero(has_next)
    codes, pair_of = np.unique(flat[begins] * len(ids) + flat[begins + 1], return_inverse=True)
    pairs = np.zeros(len(flat), dtype=np.int64)
    pairs[begins] = pair_of
    return flat, pairs, offsets, tuple((int(c) // len(ids), int(c) % len(ids)) for c in codes)


def learn_units(cuts: Cuts, n_units: int) -> tuple[Floats, list[float]]:
    """Return the probabilities of the units, shape (n_units,), and the log-likelihood of each round.

    The first round's weights are no probabilities, so its figure is not among them.
    """
    weights = np.ones(n_units)
    log_likelihoods: list[float] = []
    for _ in range(ROUNDS):
        counts = np.zeros(n_units)
        log_likelihoods.append(expected_counts(cuts, weights, counts))
        weights = counts / max(counts.sum(), 1.0)
        gain = np.diff(log_likelihoods[-2:])
        if len(log_likelihoods) > 2 and gain < -TOLERANCE * log_likelihoods[-1]:
            break
    return weights, log_likelihoods[1:]


@njit(cache=True, nogil=True)
def expected_counts(cuts: Cuts, weights: Floats, counts: Floats) -> float:
    """Add to counts (n_units,) how often each unit is expected; return the log of the sum over all cuts of
    the product of their units' weights, added over the entries that can be cut.
    """
    log_total = 0.0
    for entry in range(len(cuts.letter_offsets) - 1):
        letters = slice(cuts.letter_offsets[entry], cuts.letter_offsets[entry + 1])
        sounds = slice(cuts.phone_offsets[entry], cuts.phone_offsets[entry + 1])
        single, double = cuts.single[letters], cuts.double[letters]
        phones, phone_pairs = cuts.phones[sounds], cuts.phone_pairs[sounds]
        forward = _forward(single, double, phones, phone_pairs, weights)
        total = forward[len(single), len(phones)]
        if total > 0.0:
            log_total += np.log(total)
            _count(single, double, phones, phone_pairs, weights, forward, counts)
    return log_total


@njit(cache=True, nogil=True)
def _forward(single: Longs, double: Longs, phones: Longs, phone_pairs: Longs, weights: Floats) -> Floats:
    """Return the sum over all cuts of the first i letters and j phones, shape (letters + 1, phones + 1)."""
    n_letters, n_phones = len(single), len(phones)
    forward = np.zeros((n_letters + 1, n_phones + 1))
    forward[0, 0] = 1.0
    for i in range(n_letters):
        for j in range(max(0, n_phones - 2 * (n_letters - i)), min(n_phones, 2 * i) + 1):
            here = forward[i, j]
            forward[i + 1, j] += here * weights[single[i]]
            if j < n_phones:
                forward[i + 1, j + 1] += here * weights[single[i] + phones[j]]
                if i + 1 < n_letters:
                    forward[i + 2, j + 1] += here * weights[double[i] + phones[j]]
            if j + 1 < n_phones:
                forward[i + 1, j + 2] += here * weights[single[i] + phone_pairs[j]]
    return forward


@njit(cache=True, nogil=True)
def _count(
    single: Longs,
    double: Longs,
    phones: Longs,
    phone_pairs: Longs,
    weights: Floats,
    forward: Floats,
    counts: Floats,
) -> None:
    """Add the expected number of each unit in one entry to the counts."""
    n_letters, n_phones = len(single), len(phones)
    backward = np.zeros((n_letters + 1, n_phones + 1))  # over the total, so that products are posteriors
    backward[n_letters, n_phones] = 1.0 / forward[n_letters, n_phones]
    for i in range(n_letters - 1, -1, -1):
        for j in range(min(n_phones, 2 * i), max(0, n_phones - 2 * (n_letters - i)) - 1, -1):
            here = forward[i, j]
            unit = single[i]
            onward = weights[unit] * backward[i + 1, j]
            counts[unit] += here * onward
            after = onward
            if j < n_phones:
                unit = single[i] + phones[j]
                onward = weights[unit] * backward[i + 1, j + 1]
                counts[unit] += here * onward
                after += onward
                if i + 1 < n_letters:
                    unit = double[i] + phones[j]
                    onward = weights[unit] * backward[i + 2, j + 1]
                    counts[unit] += here * onward
                    after += onward
            if j + 1 < n_phones:
                unit = single[i] + phone_pairs[j]
                onward = weights[unit] * backward[i + 1, j + 2]
                counts[unit] += here * onward
                after += onward
            backward[i, j] = after


@njit(cache=True, nogil=True)
def best_cuts(cuts: Cuts, weights: Floats) -> tuple[Longs, Longs]:
    """Return the units of each entry's most likely cut end to end, and the offsets (N + 1,); an entry that
    cannot be cut has none.
    """
    n_entries = len(cuts.letter_offsets) - 1
    units = np.empty(len(cuts.single), dtype=np.int64)
    offsets = np.zeros(n_entries + 1, dtype=np.int64)
    n_found = 0
    for entry in range(n_entries):
        letters = slice(cuts.letter_offsets[entry], cuts.letter_offsets[entry + 1])
        sounds = slice(cuts.phone_offsets[entry], cuts.phone_offsets[entry + 1])
        single, double = cuts.single[letters], cuts.double[letters]
        phones, phone_pairs = cuts.phones[sounds], cuts.phone_pairs[sounds]
        last_units, shapes = _best_cut(single, double, phones, phone_pairs, weights)
        first, i, j = n_found, len(single), len(phones)
        while i > 0 and shapes[i, j] >= 0:
            units[n_found] = last_units[i, j]
            n_letters, n_phones = _BEFORE[shapes[i, j]]
            i, j = i - n_letters, j - n_phones
            n_found += 1
        units[first:n_found] = units[first:n_found][::-1].copy()
        offsets[entry + 1] = n_found
    return units[:n_found], offsets


@njit(cache=True, nogil=True)
def _best_cut(
    single: Longs, double: Longs, phones: Longs, phone_pairs: Longs, weights: Floats
) -> tuple[Longs, Longs]:
    """Return of the best cut of the first i letters and j phones the last unit and its shape, -1 if there
    is none; both of shape (letters + 1, phones + 1).
    """
    n_letters, n_phones = len(single), len(phones)
    best = np.zeros((n_letters + 1, n_phones + 1))
    units = np.full((n_letters + 1, n_phones + 1), -1)
    shapes = np.full((n_letters + 1, n_phones + 1), -1)
    best[0, 0] = 1.0
    for i in range(1, n_letters + 1):
        for j in range(max(0, n_phones - 2 * (n_letters - i)), min(n_phones, 2 * i) + 1):
            for shape in range(len(_BEFORE)):
                from_i, from_j = i - _BEFORE[shape][0], j - _BEFORE[shape][1]
                if from_i < 0 or from_j < 0:
                    continue
                if shape == 0:
                    unit = single[from_i]
                elif shape == 1:
                    unit = single[from_i] + phones[from_j]
                elif shape == 2:
                    unit = single[from_i] + phone_pairs[from_j]
                else:
                    unit = double[from_i] + phones[from_j]
                score = best[from_i, from_j] * weights[unit]
                if score > best[i, j]:
                    best[i, j], units[i, j], shapes[i, j] = score, unit, shape
    return units, shapes
