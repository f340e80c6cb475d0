"""Which tiers hold the words, and whose they are."""

import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Passage
from asr.formats.praat_elan import Tier, content_and_speaker, holds_words, text_of_tiers


def tier(name: str, *labels: str, start_s: float = 0.0, participant: str | None = None) -> Tier:
    """Return a tier of labels of 20 seconds each, from a start on."""
    passages = tuple(
        Passage(start_s + 20 * i, start_s + 20 * i + 20, label, f"{name} {i}")
        for i, label in enumerate(labels)
    )
    return Tier(name, passages, participant, end_s=100.0)


def said(*tiers: Tier, wanted: tuple[str, ...] = ()) -> list[tuple[str, str | None, float]]:
    return [(s.text, s.speaker, s.start_s) for s in text_of_tiers(tiers, wanted).passages]


@pytest.mark.parametrize("name", ["Utterances", "sentence", "transcript", "TEXT", "transcription"])
def test_utterances_come_before_words_and_phones(name: str) -> None:
    tiers = (tier("words", "go", "left"), tier("phones", "g", "oh"), tier(name, "go left", ""))
    assert said(*tiers) == [("go left", None, 0.0)]


def test_words_are_joined_at_pauses() -> None:
    assert said(tier("phones", "g", "oh"), tier("word", "go", "left", "sil", "stop", "<eps>")) == [
        ("go left", None, 0.0),
        ("stop", None, 59.8),
    ]


def test_tiers_called_after_speaker_and_content() -> None:
    tiers = (
        tier("anna - words", "go", "", "left"),
        tier("anna - phones", "g", "", "l"),
        tier("ben - words", "yes", start_s=20),
        tier("ben - phones", "j", start_s=20),
    )
    assert said(*tiers) == [("go", "anna", 0.0), ("yes", "ben", 19.8), ("left", "anna", 39.8)]


def test_a_single_tier_whatever_its_name() -> None:
    found = text_of_tiers([tier("anna", "go", "left"), tier("phones", "g", "oh"), tier("notes", "", "")])
    assert [s.text for s in found.passages] == ["go", "left"]
    assert found.only_tier == "anna"
    assert text_of_tiers([tier("x", "go", participant="anna")]).only_tier is None
    assert said(tier("x", "go", participant="anna")) == [("go", "anna", 0.0)]


def test_speakers_who_take_turns() -> None:
    tiers = (tier("anna", "go", "", "left"), tier("ben", "", "where"))
    assert said(*tiers) == [("go", "anna", 0.0), ("where", "ben", 20.0), ("left", "anna", 40.0)]


def test_participants_may_speak_at_once() -> None:
    tiers = (tier("a", "go", participant="anna"), tier("b", "no", participant="ben"))
    assert said(*tiers) == [("go", "anna", 0.0), ("no", "ben", 0.0)]


def test_tiers_above_each_other_ask() -> None:
    tiers = (tier("orth", "go"), tier("gloss", "aller"))
    with pytest.raises(
        CorpusError, match=r'tiers "orth", "gloss": cannot tell which hold the words, expected'
    ):
        text_of_tiers(tiers)
    assert said(*tiers, wanted=("orth",)) == [("go", None, 0.0)]
    assert said(*tiers, wanted=("gloss", "orth")) == [("go", "orth", 0.0), ("aller", "gloss", 0.0)]


def test_tiers_of_phones_alone_ask() -> None:
    with pytest.raises(CorpusError, match='tiers "phones", "MAU": cannot tell which hold the words'):
        text_of_tiers([tier("phones", "g"), tier("MAU", "g")])


def test_silence_is_nothing() -> None:
    assert said(tier("words", "", " sil", "<P:>", "SP"), tier("anna", "")) == []


def test_names_of_tiers() -> None:
    assert content_and_speaker("anna b - words") == ("words", "anna b")
    assert content_and_speaker("TX@ben") == ("tx", "ben")
    assert [holds_words(name) for name in ("Words", "text@ben", "gloss")] == [True, True, False]
