"""Numerals spelt out by another package."""

import pytest

from asr.errors import ConfigError
from asr.text import plain as numerals
from asr.text.plain import spelt_out


@pytest.mark.parametrize(
    ("numeral", "language", "expected"),
    [
        ("21", "en", "twenty one"),
        ("1,914", "en", "one thousand nine hundred and fourteen"),
        ("007", "en", "zero zero seven"),
        ("3.5", "en", "three point five"),
        ("21st", "en", "twenty first"),
        ("2.000", "de", "zweitausend"),
        ("80", "fr", "quatre vingts"),
        ("x2", "en", ""),
        ("0.125", "en", "zero point one two five"),
        ("0,125", "de", "null Komma eins zwei fünf"),
        ("3.141", "en", "three point one four one"),
        ("3,5", "en", ""),
        ("1" * 5000 + "st", "en", ""),
        ("1" + ",000" * 200, "en", ""),
        ("1" * 400 + ".5", "en", ""),
        ("1/2", "en", ""),
        ("1111222233334444", "en", " ".join(d for d in ("one", "two", "three", "four") for _ in range(4))),
    ],
)
def test_spelt_out(numeral: str, language: str, expected: str) -> None:
    pytest.importorskip("num2words")
    assert spelt_out(numeral, language) == tuple(expected.split())


def test_a_language_it_does_not_know() -> None:
    pytest.importorskip("num2words")
    with pytest.raises(ConfigError, match="text=tlh: expected plain, exact or a language"):
        spelt_out("1", "tlh")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(numerals.importlib, "import_module", missing)
    numerals._num2words.cache_clear()
    with pytest.raises(ConfigError, match=r"run: pip install \".*\[numerals\]\""):
        spelt_out("1", "en")
