"""The plain form of words: what is compared, and what stays of the spelling."""

import unicodedata

import pytest

from asr.text.plain import bare, folded, has_digit, has_sign, plain


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Author", "author"),
        ("trail,", "trail"),
        ("etc.", "etc"),
        ("daylight’s", "daylight's"),
        ("‘tis", "tis"),
        ("dogs'", "dogs"),
        ("mother‑in‑law", "mother-in-law"),
        ("«Où", "où"),
        ("¿Qué", "qué"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("ＡＢＣ", "ａｂｃ"),
        ("Ἀθῆναι·", "ἀθῆναι"),
        ("МОСКВА!", "москва"),
        ("काम।", "काम"),
        ("مرحبًا،", "مرحبًا"),
        ("كتـــاب", "كتاب"),
        ("שלום״", "שלום"),
        ("你好。", "你好"),
        ("–", ""),
        ("…", ""),
        ("", ""),
    ],
)
def test_plain(word: str, expected: str) -> None:
    assert plain(word) == expected
    assert plain(expected) == expected


def test_composed_and_decomposed_letters_are_one() -> None:
    assert plain(unicodedata.normalize("NFD", "Größe")) == plain("größe") == "grösse"


def test_what_is_folded_keeps_its_punctuation() -> None:
    assert (folded("U.S."), folded("L’Homme"), folded("–a")) == ("u.s.", "l'homme", "-a")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("(Trail),", "Trail"),
        ("U.S.", "U.S"),
        ("50%", "50%"),
        ("-a-", "a"),
        ("--", ""),
        ("O’N!", "O’N"),
    ],
)
def test_bare(word: str, expected: str) -> None:
    assert bare(word) == expected


def test_digits_and_signs_of_all_scripts() -> None:
    assert [has_digit(w) for w in ("a1", "٣", "²", "Ⅳ", "one")] == [True, True, True, True, False]
    assert [has_sign(w) for w in ("5%", "€5", "AT&T", "a-b", "a.")] == [True, True, True, False, False]
