"""The plain form of words, and what keeps a word from being guessed."""

import pytest

from decoder.pronouncing.model import MAX_LETTERS, folds_case, known_letters, letters_of

ALPHABET = frozenset("abcdef'")


@pytest.mark.parametrize(
    ("word", "letters"),
    [
        ("Daylight\u2019s", "daylight's"),
        ("Re\u2010Do", "re-do"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),  # decomposed, composed
        ("\ud55c", "\u1112\u1161\u11ab"),  # a Hangul syllable is three letters
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u0937"),  # a joiner is not spoken
    ],
)
def test_letters_are_in_one_plain_form(word: str, letters: str) -> None:
    assert letters_of(word) == letters


def test_case_is_kept_where_it_tells_letters_apart() -> None:
    assert not folds_case(["kitAb", "qAl", "bayt"])
    assert folds_case(["Anna", "NATO", "bayt", *["x"] * 40, "McDonald"])
    assert letters_of("kitAb", fold=False) == "kitAb"


@pytest.mark.parametrize(
    ("word", "letters", "fault"),
    [
        ("Bad-Face", "badface", ""),  # a hyphen that nobody taught is silent
        ("bad's", "", 'has "s", which no word of the lexicon has'),
        ("dad'", "dad'", ""),
        ("b2", "", 'has the digit "2"'),
        ("\u4e00", "", 'has "\u4e00", which no word of the lexicon has'),  # a numeral, but a letter
        ("\u0434\u0430", "", 'has "\u0434", which no word of the lexicon has'),
        ("'", "", "has no letters"),
        ("--", "", "has no letters"),
        ("a" * (MAX_LETTERS + 1), "", "has 61 letters, more than 60"),
    ],
)
def test_what_cannot_be_guessed_has_a_reason(word: str, letters: str, fault: str) -> None:
    assert known_letters(word, ALPHABET) == (letters, fault)
