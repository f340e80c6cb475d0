"""Words as the model sees them: letters in a plain form.

A letter is a character of the Unicode normal form C; combining marks stand for themselves, a Hangul syllable
is its letters. All apostrophes are one, and all hyphens. Case is folded, unless it tells letters apart, as in
Buckwalter's transliteration of Arabic.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

MAX_LETTERS = 60  # of a word that is learned or guessed; beyond this no word is meant

APOSTROPHES, HYPHENS = "\u2018\u2019\u02bc\uff07`\u00b4", "\u2010\u2011\u2012\u2013\u2212"
_PLAIN = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(HYPHENS, "-"))
_MAY_BE_SILENT = frozenset("'-.")
_MIXED_SHARE = 0.05  # from this share of words with capitals inside on, case is part of the spelling


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
    plain = unicodedata.normalize("NFC", word.casefold() if fold else word).translate(_PLAIN)
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
