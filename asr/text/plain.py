"""The plain form of a word, in which words are compared: what is written differently and sounds the same.

Unicode normal form C, case folded, all apostrophes one and all hyphens one, no punctuation, no characters
that are only format. Apostrophes and hyphens stay inside a word (``daylight's``, ``mother-in-law``) and are
taken off its ends. Case folding is Unicode's, whatever the language.
"""

from __future__ import annotations

import re
import unicodedata

from decoder.pronouncing.model import APOSTROPHES, HYPHENS

# For str.translate: all apostrophes one, the prime too; all hyphens one, those of Armenian and Hebrew too.
ONE_APOSTROPHE = str.maketrans(dict.fromkeys(f"{APOSTROPHES}\u2032", "'"))
ONE_HYPHEN = str.maketrans(dict.fromkeys(f"{HYPHENS}\u058a\u05be", "-"))
_ONE = ONE_APOSTROPHE | ONE_HYPHEN
_INSIDE = frozenset("'-")
_TATWEEL = "\u0640"  # lengthens a line of Arabic, and is a letter to Unicode
# Dashes, slashes and rows of dots stand between words even where no space does.
BETWEEN_WORDS = re.compile(r"[\u2014\u2015/\\|_]+|--+|\.\.+|\u2026|(?<=\w)[,;:!?](?=[^\W\d_])")
# What is read aloud as a word, and which word depends on the language.
SIGNS = frozenset("%&+=@#§°")


def plain(word: str) -> str:
    """Return the plain form of a word, empty if nothing of it is spoken.

    Examples
    --------
    >>> plain("Steels,"), plain("Daylight’s"), plain("“Mother‑in‑law”"), plain("–")
    ('steels', "daylight's", 'mother-in-law', '')
    """
    form = folded(word)
    kept = form if form.isalpha() else "".join(c for c in form if c in _INSIDE or _is_spoken(c))
    return kept.strip("'-")


def folded(word: str) -> str:
    """Return a word in normal form C, case folded, with one kind of apostrophe and of hyphen.

    Examples
    --------
    >>> folded("U.S."), folded("İZMİR")
    ('u.s.', 'izmir')
    """
    # The small dotted i of a capital İ is two characters to Unicode, and equal to i in every language.
    small = unicodedata.normalize("NFC", word).casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", small).translate(_ONE).replace(_TATWEEL, "")


def bare(word: str) -> str:
    """Return a word as it is written, without the punctuation around it.

    Examples
    --------
    >>> bare("“Trail,”"), bare("etc."), bare("’tis"), bare("C#."), bare("$5,")
    ('Trail', 'etc', 'tis', 'C#', '$5')
    """
    text = unicodedata.normalize("NFC", word)
    spoken = [i for i, c in enumerate(text) if _is_spoken(c) or _is_sign(c)]
    return text[spoken[0] : spoken[-1] + 1] if spoken else ""


def has_digit(word: str) -> bool:
    """Return whether a word has a numeral, of any script."""
    return any(unicodedata.category(c) in ("Nd", "Nl", "No") for c in word)


def has_sign(word: str) -> bool:
    """Return whether a word has a sign that is read as a word, such as ``%`` or that of a currency."""
    return any(map(_is_sign, word))


def _is_sign(character: str) -> bool:
    return character in SIGNS or unicodedata.category(character) == "Sc"


def _is_spoken(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"
