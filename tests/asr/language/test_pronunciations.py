"""Lexicons filled with guesses, and how good these are."""

import numpy as np
import pytest

from asr.language.pronunciations import (
    ErrorRates,
    Filled,
    error_rates,
    filled_lexicon,
    guesses_notes,
    guesses_of,
    held_out_error,
)
from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, Usage
from decoder.pronouncing.model import PronunciationModel

PHONES = {"a": "AA", "i": "IY", "o": "OW", "k": "K", "m": "M", "s": "S", "t": "T"}


def spoken(word: str) -> tuple[str, ...]:
    """Return the phones of a word: one for each letter."""
    return tuple(PHONES[letter] for letter in word.lower())


@pytest.fixture(scope="module")
def known() -> Lexicon:
    rng = np.random.default_rng(3)
    words = {"".join(rng.choice(list("kmst")) + rng.choice(list("aio")) for _ in range(4)) for _ in range(60)}
    return Lexicon({word: [spoken(word)] for word in words})


class TestFilled:
    def test_what_is_there_what_is_guessed_and_what_cannot_be(self, known: Lexicon) -> None:
        first = known.words[0]
        filled = filled_lexicon([first, first.upper(), "kimota", "zzz", "3m"], known)
        assert filled.lexicon.words == (first.upper(), first, "kimota")
        assert filled.lexicon.pronunciations(first.upper()) == (spoken(first),)
        assert filled.lexicon.pronunciations("kimota") == (spoken("kimota"),)
        assert filled.new == ("kimota",)
        assert filled.lexicon.guessed == {"kimota"}
        assert filled.faults == {
            "3m": 'has the digit "3"',
            "zzz": 'has "z", which no word of the lexicon has',
        }

    def test_nothing_is_learned_where_nothing_is_missing(self, known: Lexicon) -> None:
        filled = filled_lexicon(known.words[:3], known)
        assert filled == Filled(known.restricted_to(known.words[:3]), (), {}, None)

    def test_variants(self, known: Lexicon) -> None:
        other = Lexicon({word: [spoken(word)[:-1]] for word in known.words[::2]})
        filled = filled_lexicon(["kimota"], known.merged(other), variants=2)
        assert set(filled.lexicon.pronunciations("kimota")) == {spoken("kimota"), spoken("kimota")[:-1]}
        with pytest.raises(
            LexiconError, match="variants: expected 1 or more pronunciations for a word, got 0"
        ):
            filled_lexicon(["kimota"], known, variants=0)

    @pytest.mark.parametrize("others", [[], ["kimota"]])
    def test_usage_is_kept(self, known: Lexicon, others: list[str]) -> None:
        first, second = known.words[:2]
        given = Usage(0.5, 0.2, 1.1, 0.9)
        used = Lexicon(known.entries, usage={(first, spoken(first)): given})
        filled = filled_lexicon([first, first.upper(), second, *others], used)
        assert filled.new == tuple(others)
        assert filled.lexicon.usage == {(w, spoken(first)): given for w in (first, first.upper())}

    def test_guesses_stay_guesses(self, known: Lexicon) -> None:
        marked = Lexicon(dict(known.entries), guessed=frozenset(known.words[:2]))
        filled = filled_lexicon([known.words[0], known.words[5].upper()], marked)
        assert (filled.new, filled.lexicon.guessed) == ((), {known.words[0]})

    def test_a_lexicon_of_another_script(self, known: Lexicon) -> None:
        with pytest.raises(LexiconError, match=r'none of the 2 words .* \("да" has "д", which no word'):
            filled_lexicon(["нет", "да"], known)


class TestErrorRates:
    def test_against_the_nearest_listed_pronunciation(self, known: Lexicon) -> None:
        model = PronunciationModel.train(known)
        listed = Lexicon(
            {
                "kimo": [("K", "IY"), spoken("kimo")],  # right by the second
                "sato": [("S", "AA", "T", "IY"), ("S", "IY", "T", "IY")],  # one error of four
                "x": [("K", "S")],  # cannot be guessed: two errors of two
            }
        )
        assert error_rates(model, listed, listed) == ErrorRates(3, 2, 10, 3)

    def test_regular_spelling_is_without_error(self, known: Lexicon) -> None:
        rates = held_out_error(known)
        n_phones = sum(len(spoken(word)) for word in known)
        assert rates == ErrorRates(len(known), 0, n_phones, 0)

    def test_random_pronunciations_are_not_guessed(self) -> None:
        rng = np.random.default_rng(0)
        words = ["".join(rng.choice(list("kmstaio"), size=5)) for _ in range(60)]
        lexicon = Lexicon({word: [[str(p) for p in rng.choice(list("KMSTAIO"), size=5)]] for word in words})
        rates = held_out_error(lexicon)
        assert rates is not None
        assert rates.word_error > 90
        assert rates.phone_error > 40

    def test_four_words_are_too_few(self, known: Lexicon) -> None:
        assert held_out_error(known.restricted_to(known.words[:4])) is None

    def test_many_words_are_held_out_once(self, known: Lexicon, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("asr.language.pronunciations.MANY", 20)
        monkeypatch.setattr("asr.language.pronunciations.TESTED", 7)
        rates = held_out_error(known)
        assert rates is not None
        assert (rates.words, rates.phones) == (7, 56)


def test_report_names_what_a_person_should_know(known: Lexicon) -> None:
    filled = filled_lexicon([known.words[0], *("kimota" + "ta" * n for n in range(12)), "zz"], known)
    lines = list(guesses_notes(filled, "my.txt"))
    assert lines[0].startswith(
        "12 of 14 words are not in my.txt, guessed from it (marked # guessed): kimota, "
    )
    assert lines[0].endswith("kimota" + "ta" * 9 + " and 2 more")
    assert lines[1].startswith(
        f"of {len(known)} words of my.txt, held out as a test, 0.0 % came out wrong, 0.0 %"
    )
    assert lines[2].startswith("1 of 14 words are not in my.txt and cannot be guessed; they are left out")
    assert lines[3] == '  word "zz" has "z", which no word of the lexicon has'


def test_a_word_in_another_form_has_its_own_pronunciations() -> None:
    lexicon = Lexicon({"DON'T": [("D", "OW", "N", "T"), ("D", "OW", "N")]})
    assert guesses_of(["don’t"], lexicon, 10).shares == {
        "don’t": {("D", "OW", "N", "T"): 0.5, ("D", "OW", "N"): 0.5}
    }
