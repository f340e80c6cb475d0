from pathlib import Path

import pytest

from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.wording import (
    check_lexicon_belongs,
    is_all_unknown,
    named_unknown,
    unknown_test_words_note,
    unknown_words,
    unknown_words_note,
)
from asr.errors import CorpusError
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"YES": [("y", "e", "s")], "NO": [("n", "o")]})


def utterance(text: str) -> Utterance:
    return Utterance("u", Path("/u.wav"), tuple(text.split()), "s")


def test_counted_but_for_noise() -> None:
    assert unknown_words([["YES", "A", "B"], ["[noise]", "A"]], LEXICON) == {"A": 2, "B": 1}


@pytest.mark.parametrize(
    ("text", "unknown"), [("", False), ("A B", True), ("A NO", False), ("[noise]", False)]
)
def test_nothing_is_known(text: str, unknown: bool) -> None:
    assert is_all_unknown(utterance(text), LEXICON) is unknown


def test_the_most_frequent_are_named_first() -> None:
    found = unknown_words([["B", "YEA", "A", "YEA"]], LEXICON)
    assert (
        named_unknown(found, LEXICON, 2) == '"YEA" (did you mean "YES"?) 2 time(s), "A" 1 time(s) and 1 more'
    )


def test_nothing_to_report() -> None:
    assert unknown_words_note([["YES"], [], ["[noise]"]], LEXICON) == ""


def test_utterances_are_counted() -> None:
    said = unknown_words_note([["YES", "A", "A"], ["NO"], ["A", "B", "NO"]], LEXICON)
    assert said.startswith(
        "2 word(s) of 2 utterance(s) are not in lexicon.txt and are taken for any sequence"
    )
    assert '"A" 3 time(s), "B" 1 time(s); add' in said


def test_of_a_test_they_cannot_be_recognised() -> None:
    assert unknown_test_words_note([["YES"]], LEXICON) == ""
    assert unknown_test_words_note([["YES", "A"]], LEXICON) == (
        "1 word(s) of 1 utterance(s) are not in the model's lexicon and cannot be recognised: "
        '"A" 1 time(s); correct the transcripts or train with these words'
    )


def test_half_of_the_words_may_be_unknown() -> None:
    check_lexicon_belongs(Corpus((utterance("YES A"),)), LEXICON)
    with pytest.raises(
        CorpusError, match=r"^2 of 3 words of the transcripts are not in lexicon.txt, expected"
    ):
        check_lexicon_belongs(Corpus((utterance("YES A B"),)), LEXICON)
