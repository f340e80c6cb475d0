"""What people write in transcripts: words in their plain form, remarks, and numerals.

The plain form is that in which words are compared: what is written differently and sounds the same. It is in
Unicode normal form C, case folded, with all apostrophes one and all hyphens one, without punctuation and
characters that are only format. Apostrophes and hyphens stay inside a word (``daylight's``,
``mother-in-law``) and are taken off its ends. Case folding is Unicode's, whatever the language.

Remarks are such as ``[noise]``, ``(laughs)``, ``<unk>``. Square, angle and curly brackets and ``++…++``
always hold a remark. Round brackets and stars hold one if it is of one or two words and one of them is in
`NOISES` or `UNINTELLIGIBLE`; otherwise what they hold was spoken.

Numerals are spelt out by the optional package ``num2words``, in the languages that it knows.
"""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Literal

from asr.errors import ConfigError
from decoder.pronouncing.model import APOSTROPHES, HYPHENS
from foundation.files import composed
from foundation.version import how_to_install

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
    if not form.isalpha():
        form = "".join(c for c in form if c in _INSIDE or _is_spoken(c))
        form = composed(form)  # marks that a sign kept apart have met
    return form.strip("'-")


def folded(word: str) -> str:
    """Return a word in normal form C, case folded, with one kind of apostrophe and of hyphen.

    Examples
    --------
    >>> folded("U.S."), folded("İZMİR")
    ('u.s.', 'izmir')
    """
    # The small dotted i of a capital İ is two characters to Unicode, and equal to i in every language.
    small = composed(word).casefold().replace("i\u0307", "i")
    return composed(small).translate(_ONE).replace(_TATWEEL, "")


def bare(word: str) -> str:
    """Return a word as it is written, without the punctuation around it.

    Examples
    --------
    >>> bare("“Trail,”"), bare("etc."), bare("’tis"), bare("C#."), bare("$5,")
    ('Trail', 'etc', 'tis', 'C#', '$5')
    """
    text = composed(word)
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


RemarkKind = Literal["noise", "unknown", "nothing"]

UNINTELLIGIBLE = frozenset(
    """unk unknown oov unintelligible inaudible incomprehensible indistinct unclear garbled foreign
    xxx""".split()  # noqa: SIM905
)
NOISES = frozenset(
    """noise noises laugh laughs laughing laughter laughed chuckle chuckles giggles cough coughs coughing
    breath breaths breathing breathes inhale inhales exhale exhales sigh sighs sneeze sneezes sniff sniffs
    throat smack smacks lipsmack click clicks music applause clapping crosstalk beep beeps bang door hum hums
    whistles yawn yawns gasp gasps groans crying sobs spn nsn""".split()  # noqa: SIM905
)
# Marks of the beginning, the end and silence, and the tags of subtitles, say nothing of a sound.
_NOTHING = frozenset(
    "s sil silence pause eps blank i b u em strong font c v br start end".split()  # noqa: SIM905
)
_ALWAYS = r"\[[^\[\]]*\]|<[^<>]*>|\{[^{}]*\}|\+\+[^+\s]+\+\+|!SIL\b"
_PERHAPS = r"\([^()]*\)|\*[^*\s]+\*"
_REMARK = re.compile(f"({_ALWAYS})|({_PERHAPS})")
_WORD = re.compile(r"[\w-]+")
_MAX_WORDS = 2  # of a remark in round brackets; by feel


def parts_of(text: str) -> Iterator[tuple[str, RemarkKind | None]]:
    """Yield the stretches of a text in order, each with the kind of its remark, None for what was spoken.

    Examples
    --------
    >>> list(parts_of("so [door slams] (and so on) <unk>"))
    [('so ', None), ('[door slams]', 'noise'), (' (and so on) ', None), ('<unk>', 'unknown')]
    """
    spoken_from = 0
    for match in _REMARK.finditer(text):
        if match[1] is None and not _is_known(match[0]):
            continue
        if match.start() > spoken_from:
            yield text[spoken_from : match.start()], None
        yield match[0], remark_kind(match[0])
        spoken_from = match.end()
    if spoken_from < len(text):
        yield text[spoken_from:], None


def remark_kind(remark: str) -> RemarkKind:
    """Return what a remark says.

    Examples
    --------
    >>> remark_kind("<unk>"), remark_kind("[silence]"), remark_kind("</i>"), remark_kind("(coughs)")
    ('unknown', 'nothing', 'nothing', 'noise')
    """
    words = _WORD.findall(remark.casefold())
    if not words or remark.startswith("</") or words[0] in _NOTHING:
        return "nothing"
    return "unknown" if UNINTELLIGIBLE.intersection(words) else "noise"


def is_remark(word: str) -> bool:
    """Return whether a word of a lexicon is a remark and no word.

    Examples
    --------
    >>> is_remark("<UNK>"), is_remark("!SIL"), is_remark("(a)"), is_remark("go")
    (True, True, False, False)
    """
    match = _REMARK.fullmatch(word)
    return match is not None and match[1] is not None


def _is_known(remark: str) -> bool:
    """Return whether round brackets or stars hold a remark."""
    words = _WORD.findall(remark.casefold())
    return len(words) <= _MAX_WORDS and bool((NOISES | UNINTELLIGIBLE).intersection(words))


_GROUPED = re.compile(r"(?!0)\d{1,3}(?:([,.'\u00a0\u202f])\d{3})(?:\1\d{3})*")
_WHOLE = re.compile(r"\d+")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_LONGEST = 15  # digits; longer whole numbers are read digit by digit, others not at all
_MOST_DIGITS = 100  # and marks between them; by feel
# Languages in which a point is never between thousands, nor a comma before decimals.
_DECIMAL_POINT = frozenset({"en", "he", "ja", "ko", "th", "zh"})


def spelt_out(numeral: str, language: str) -> tuple[str, ...]:
    """Return the words of a numeral, none if it is of a kind that is not read.

    Whole numbers, with or without marks between thousands, decimals, and English ordinals such as ``21st``.
    """
    words, has_point = _num2words(language), language[:2] in _DECIMAL_POINT
    if len(numeral) > _MOST_DIGITS:  # nobody reads that out
        return ()
    if _WHOLE.fullmatch(numeral):
        text = _whole(numeral, words, language)
    elif sum(map(str.isdigit, numeral)) > _LONGEST:
        return ()
    elif match := _ORDINAL.fullmatch(numeral):
        text = words.num2words(int(match[1]), to="ordinal", lang=language)
    elif (match := _GROUPED.fullmatch(numeral)) and not (has_point and match[1] == "."):
        text = words.num2words(int(re.sub(r"\D", "", numeral)), lang=language)
    elif (match := _DECIMAL.fullmatch(numeral)) and not (has_point and "," in numeral):
        text = words.num2words(float(f"{match[1]}.{match[2]}"), lang=language)
    else:
        return ()
    return tuple(re.sub(r"[,\-\u2010-\u2013]", " ", text).split())


def _whole(digits: str, words: ModuleType, language: str) -> str:
    """Return a number, digit by digit where a leading zero or its length says that it is no quantity."""
    if len(digits) > _LONGEST or (digits.startswith("0") and len(digits) > 1):
        return " ".join(words.num2words(int(d), lang=language) for d in digits)
    return str(words.num2words(int(digits), lang=language))


@cache
def _num2words(language: str) -> ModuleType:
    """Return the package; an error says what is missing: the package, or the language in it."""
    try:
        package = importlib.import_module("num2words")
    except ImportError as error:
        raise ConfigError(
            f'text={language}: numerals are spelt out by the package "num2words", which is not installed; '
            f"run: {how_to_install('numerals')}, or leave text as it is"
        ) from error
    try:
        package.num2words(1, lang=language)
    except NotImplementedError as error:
        raise ConfigError(
            f"text={language}: expected plain, exact or a language that num2words knows, such as en, de or "
            "pt_BR; change it"
        ) from error
    return package
