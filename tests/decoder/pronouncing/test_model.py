"""Guessed pronunciations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from decoder.errors import LexiconError
from decoder.lexicon import Lexicon
from decoder.pronouncing.model import (
    MAX_LETTERS,
    Guess,
    PronunciationModel,
    folds_case,
    known_letters,
    letters_of,
)

SYLLABLES = {"ka": "K AA", "shi": "SH IY", "to": "T OW", "nu": "N UW", "xe": "K S EH", "mm": "M"}


def made_up(n_words: int, seed: int = 0) -> Lexicon:
    """Return words of random syllables, whose pronunciation follows from their spelling."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list(SYLLABLES), size=rng.integers(1, 5))) for _ in range(n_words)]
    return Lexicon({word: [spoken(word)] for word in words})


def spoken(word: str) -> tuple[str, ...]:
    """Return the phones of a word of these syllables."""
    if not word:
        return ()
    syllable = next(s for s in SYLLABLES if word.startswith(s))
    return (*SYLLABLES[syllable].split(), *spoken(word[len(syllable) :]))


@pytest.fixture(scope="module")
def model() -> PronunciationModel:
    return PronunciationModel.train(made_up(200))


@pytest.mark.parametrize("word", ["kashitonuxemm", "Xexemmto", "shinunushi", "mmmm"])
def test_a_regular_spelling_is_learned(model: PronunciationModel, word: str) -> None:
    (guess,) = model.guess(word)
    assert guess.pronunciation == spoken(word.lower())
    assert 0.5 < guess.share <= 1


def test_guesses_are_sorted_distinct_and_shares_of_one() -> None:
    lexicon = made_up(100)
    other = Lexicon({w: [["AE" if p == "AA" else p for p in spoken(w)]] for w in list(lexicon)[::3]})
    model = PronunciationModel.train(lexicon.merged(other))
    guesses = model.guess("kanukaka", 1000)
    shares = [guess.share for guess in guesses]
    assert shares == sorted(shares, reverse=True)
    assert len({guess.pronunciation for guess in guesses}) == len(guesses) > 3
    assert_allclose(sum(shares), 1.0, rtol=1e-12, atol=0)
    assert model.guess("kanukaka", 3) == guesses[:3]


def test_what_a_lexicon_says_twice_is_a_matter_of_shares() -> None:
    lexicon = Lexicon({"a": ["X"], "b": ["Y", "Z"], "ab": [("X", "Y")], "ba": [("Y", "X"), ("Z", "X")]})
    first, second = PronunciationModel.train(lexicon).guess("bab"[:2] + "a", 2)
    assert {first.pronunciation, second.pronunciation} == {("Y", "X", "X"), ("Z", "X", "X")}
    assert first.share > second.share > 0.05


def test_training_twice_gives_the_same(model: PronunciationModel) -> None:
    again = PronunciationModel.train(made_up(200))
    for one, other in zip(model.ngram, again.ngram, strict=True):
        assert_array_equal(one, other)
    assert model.guess("tokaxe", 5) == again.guess("tokaxe", 5)


def test_guesses_teach_nothing() -> None:
    entries = dict(made_up(50).entries)
    marked = Lexicon({**entries, "zz": ["ZH"]}, guessed=frozenset({"zz"}))
    model = PronunciationModel.train(marked)
    assert model.fault("zz") == 'has "z", which no word of the lexicon has'
    assert "ZH" not in model.names.phones


def test_words_that_no_unit_can_cut_are_counted() -> None:
    lexicon = Lexicon({**made_up(50).entries, "w": [("D", "AH", "B", "L")], "4": ["F"]})
    assert PronunciationModel.train(lexicon).left_out == ("4", "w")


def test_what_cannot_be_guessed_is_an_error_that_says_why(model: PronunciationModel) -> None:
    with pytest.raises(
        LexiconError, match=r'word "kazoo" has "z", which no word .* write it into the lexicon'
    ):
        model.guess("kazoo")
    with pytest.raises(LexiconError, match=r'word "ka2" has the digit "2": its pronunciation cannot'):
        model.guess("ka2")


def test_a_lexicon_must_teach_something() -> None:
    with pytest.raises(LexiconError, match="no words to learn pronunciations from"):
        PronunciationModel.train(Lexicon({"4": ["F"]}))
    with pytest.raises(LexiconError, match="expected n-grams of order 1 or more, got 0"):
        PronunciationModel.train(made_up(5), order=0)


def test_silent_letters_alone_are_no_word() -> None:
    lexicon = Lexicon({"ah": ["A"], "aha": [("A", "A")], "hah": ["A"], "ahah": [("A", "A")]})
    model = PronunciationModel.train(lexicon, order=2)
    assert model.guess("aah")[0] == Guess(("A", "A"), pytest.approx(1.0, abs=1e-6))
    with pytest.raises(LexiconError, match='word "h" has only letters that are silent'):
        model.guess("h")


# The plain form of words, and what keeps a word from being guessed


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
