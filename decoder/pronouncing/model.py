"""A model that guesses how words are pronounced, learned from a lexicon."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, Pronunciation
from decoder.pronouncing.alignment import Numbering, best_cuts, learn_units, number
from decoder.pronouncing.joint_ngram import JointNgram, estimate, search
from foundation.arrays import Floats, Ints, Longs
from foundation.files import composed

ORDER = 8  # longest n-grams of units; chosen on words of the training folds, docs/results/pronouncing.md
BEAM = 32  # hypotheses that go on from each letter; by feel
THRESHOLD = 1e-5  # those below this share of the best are dropped; by feel


class Guess(NamedTuple):
    """A pronunciation, and its share of the probability of all that were found."""

    pronunciation: Pronunciation
    share: float


@dataclass(frozen=True)
class PronunciationModel:
    """Letters and phones of a lexicon as joint units, and an n-gram model of these.

    Attributes
    ----------
    names : the letters and phones
    units : (U,) int64, the units in use by their numbers in ``names``, ascending
    ngram : model of sequences of these units
    unit_phones : (U, 2) int32, -1 = none
    fold : whether case says nothing
    left_out : words it could not learn from, sorted: with digits, or with more phones than two a letter

    Examples
    --------
    >>> model = PronunciationModel.train(Lexicon({"pat": ["PAT"], "tap": ["TAP"], "at": ["AT"]}), order=3)
    >>> [guess.pronunciation for guess in model.guess("tat")]
    [('T', 'A', 'T')]
    >>> model.fault("tot")
    'has "o", which no word of the lexicon has'
    """

    names: Numbering
    units: Longs
    ngram: JointNgram
    unit_phones: Ints
    fold: bool
    left_out: tuple[str, ...]

    @classmethod
    def train(cls, lexicon: Lexicon, *, order: int = ORDER) -> PronunciationModel:
        """Return the model learned from a lexicon, without entries that were guessed themselves.

        Parameters
        ----------
        order : length of the longest n-grams of units
        """
        if order < 1:
            raise LexiconError(
                f"pronunciations: expected n-grams of order 1 or more, got {order}; 8 is usual"
            )
        words = [word for word in lexicon if word not in lexicon.guessed]
        fold = folds_case(words)
        spelled = {word: letters_of(word, fold=fold) for word in words}
        entries = [(word, p) for word in words for p in lexicon.pronunciations(word)]
        learned = [(spelled[word], p) for word, p in entries if _can_be_learned(spelled[word], p)]
        if not learned:
            raise LexiconError(
                "no words to learn pronunciations from, expected a lexicon of words in letters with "
                "at most two phones a letter; give a larger one"
            )
        cuts, names = number(learned)
        weights, _ = learn_units(cuts, names.n_units)
        cut, offsets = best_cuts(cuts, weights)
        units = np.union1d(cut, _likeliest_singles(names, weights))
        taught = {word for word, p in entries if _can_be_learned(spelled[word], p)}
        return cls(
            names,
            units,
            estimate(np.searchsorted(units, cut), offsets, len(units), order),
            np.array([(*names.parts(int(unit))[1], -1, -1)[:2] for unit in units], dtype=np.int32),
            fold,
            tuple(sorted(set(words) - taught)),
        )

    def guess(self, word: str, n: int = 1) -> list[Guess]:
        """Return up to n different pronunciations of a word, the most likely first, each with its share.

        Shares are of all pronunciations that the search has kept, over all ways to cut them into units; they
        sum to one over all of these. A word that cannot be guessed raises a `LexiconError`; `fault` says
        beforehand.
        """
        letters, fault = known_letters(word, self.names.letters, fold=self.fold)
        if fault:
            raise LexiconError(
                f'word "{word}" {fault}: its pronunciation cannot be guessed; write it into the lexicon'
            )
        probs, units = search(self.ngram, self._ranges(letters), self.unit_phones, BEAM, THRESHOLD)
        guesses = _best(probs, [self._pronunciation(row) for row in units], n)
        if not guesses:
            raise LexiconError(
                f'word "{word}" has only letters that are silent: its pronunciation cannot be guessed; '
                "write it into the lexicon"
            )
        return guesses

    def fault(self, word: str) -> str:
        """Return what keeps a word from being guessed, an empty string if nothing does."""
        return known_letters(word, self.names.letters, fold=self.fold)[1]

    def _ranges(self, letters: str) -> Longs:
        """Return the units of each letter, and of it with the next, shape (letters, 2, 2)."""
        ids = [self._letter_ids[letter] for letter in letters]
        bounds = np.zeros((len(ids), 2, 2), dtype=np.int64)
        for i, (letter, following) in enumerate(zip(ids, [*ids[1:], -1], strict=True)):
            bounds[i, 0] = letter * self.names.n_groups, (letter + 1) * self.names.n_groups
            pair = self._pair_ids.get((letter, following))
            if pair is not None:
                first = self.names.n_single + pair * len(self.names.phones)
                bounds[i, 1] = first, first + len(self.names.phones)
        return np.searchsorted(self.units, bounds)

    def _pronunciation(self, units: Ints) -> Pronunciation:
        return tuple(phone for unit in units.tolist() if unit >= 0 for phone in self._phones_of[unit])

    @cached_property
    def _letter_ids(self) -> dict[str, int]:
        return {letter: i for i, letter in enumerate(self.names.letters)}

    @cached_property
    def _pair_ids(self) -> dict[tuple[int, int], int]:
        return {pair: i for i, pair in enumerate(self.names.letter_pairs)}

    @cached_property
    def _phones_of(self) -> list[Pronunciation]:
        return [tuple(self.names.phones[i] for i in row if i >= 0) for row in self.unit_phones.tolist()]


def _can_be_learned(letters: str, pronunciation: Sequence[str]) -> bool:
    """Return whether units can cut an entry; digits are no spelling."""
    return (
        len(letters) <= MAX_LETTERS
        and len(pronunciation) <= 2 * len(letters)
        and not any(letter.isdigit() for letter in letters)
    )


def _likeliest_singles(names: Numbering, weights: Floats) -> Longs:
    """Return for each letter the most likely unit with this letter alone, so that any word can be cut."""
    first = np.arange(len(names.letters)) * names.n_groups
    best: Longs = first + weights[: names.n_single].reshape(len(first), -1).argmax(axis=1)
    return best


def _best(probs: Floats, pronunciations: Sequence[Pronunciation], n: int) -> list[Guess]:
    """Return the n most likely pronunciations that have phones; equal ones are one."""
    sums: dict[Pronunciation, float] = {}
    for prob, pronunciation in zip(probs.tolist(), pronunciations, strict=True):
        if pronunciation:
            sums[pronunciation] = sums.get(pronunciation, 0.0) + prob
    total = sum(sums.values())
    ranked = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [Guess(pronunciation, prob / total) for pronunciation, prob in ranked[:n]]


# Words as the model sees them: letters in a plain form.
#
# A letter is a character of the Unicode normal form C; combining marks stand for themselves, a Hangul
# syllable is its letters. All apostrophes are one, and all hyphens. Case is folded, unless it tells letters
# apart, as in Buckwalter's transliteration of Arabic.

MAX_LETTERS = 60  # of a word that is learned or guessed; beyond this no word is meant; by feel

APOSTROPHES, HYPHENS = "\u2018\u2019\u02bc\uff07`\u00b4", "\u2010\u2011\u2012\u2013\u2212"
_PLAIN = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(HYPHENS, "-"))
_MAY_BE_SILENT = frozenset("'-.")
_MIXED_SHARE = 0.05  # from this share of words with capitals inside on, case is part of the spelling; by feel


def folds_case(words: Iterable[str]) -> bool:
    """Return whether case says nothing of how these words are pronounced.

    Examples
    --------
    >>> folds_case(["Anna", "ANNA", "anna"]), folds_case(["qAl", "kitAb"])
    (True, False)
    """
    n_words = n_mixed = 0
    for word in words:
        n_words += 1
        inner = word[1:]
        n_mixed += inner != inner.lower() and word != word.upper()
    return n_mixed <= _MIXED_SHARE * n_words


def letters_of(word: str, *, fold: bool = True) -> str:
    """Return the letters of a word.

    Examples
    --------
    >>> letters_of("Daylight’s"), len(letters_of("한"))
    ("daylight's", 3)
    """
    plain = composed(word.casefold() if fold else word).translate(_PLAIN)
    if plain.isascii():
        return plain
    spelled = (unicodedata.normalize("NFD", c) if "\uac00" <= c <= "\ud7a3" else c for c in plain)
    return "".join(c for c in spelled if unicodedata.category(c[0]) != "Cf")


def known_letters(word: str, alphabet: Collection[str], *, fold: bool = True) -> tuple[str, str]:
    """Return the letters of a word, and what keeps it from being guessed (an empty string if nothing).

    Apostrophes, hyphens and full stops that no word of the alphabet's lexicon has are left out.
    """
    letters = "".join(c for c in letters_of(word, fold=fold) if c in alphabet or c not in _MAY_BE_SILENT)
    unknown = next((c for c in letters if c not in alphabet), "")
    if unknown.isdigit():
        return "", f'has the digit "{unknown}"'
    if unknown:
        return "", f'has "{unknown}", which no word of the lexicon has'
    if not any(c.isalpha() for c in letters):
        return "", "has no letters"
    if len(letters) > MAX_LETTERS:
        return "", f"has {len(letters)} letters, more than {MAX_LETTERS}"
    return letters, ""
