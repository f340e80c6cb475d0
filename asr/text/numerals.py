"""Numerals spelt out, by the optional package ``num2words`` and in the languages it knows."""

from __future__ import annotations

import importlib
import re
from functools import cache
from types import ModuleType

from asr.errors import ConfigError

_GROUPED = re.compile(r"(?!0)\d{1,3}(?:([,.'\u00a0\u202f])\d{3})(?:\1\d{3})*")
_WHOLE = re.compile(r"\d+")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_LONGEST = 15  # digits; longer whole numbers are read digit by digit, others not at all
# Languages in which a point is never between thousands, nor a comma before decimals.
_DECIMAL_POINT = frozenset({"en", "he", "ja", "ko", "th", "zh"})


def spelt_out(numeral: str, language: str) -> tuple[str, ...]:
    """Return the words of a numeral, none if it is of a kind that is not read.

    Whole numbers, with or without marks between thousands, decimals, and English ordinals such as ``21st``.
    """
    words, has_point = _module(language), language[:2] in _DECIMAL_POINT
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
def _module(language: str) -> ModuleType:
    """Return the package; an error says what is missing: the package, or the language in it."""
    try:
        package = importlib.import_module("num2words")
    except ImportError as error:
        raise ConfigError(
            f'text={language}: numerals are spelt out by the package "num2words", which is not installed; '
            'run: pip install "asr-sparse-kernel[numerals]", or leave text as it is'
        ) from error
    try:
        package.num2words(1, lang=language)
    except NotImplementedError as error:
        raise ConfigError(
            f"text={language}: expected plain, exact or a language that num2words knows, such as en, de or "
            "pt_BR; change it"
        ) from error
    return package
