"""What is said of utterances with a transcript and without speech."""

import logging
from pathlib import Path

import pytest

from asr.corpora.silences import no_speech, warn_of_silences
from asr.corpora.utterances import Utterance


def utterance(name: str, *words: str) -> Utterance:
    return Utterance(name, Path(f"/c/{name}.wav"), words, "s")


@pytest.mark.parametrize(
    ("words", "expected"), [(("A", "[noise]"), "the word"), (("A", "[noise]", "B"), "the 2 words")]
)
def test_spoken_words_are_counted(words: tuple[str, ...], expected: str) -> None:
    assert no_speech(utterance("u", *words), "it hums") == (
        f"/c/u.wav: no speech in it, expected {expected} of its transcript; it hums; "
        "listen to it, record it again or remove it"
    )


def test_of_many_the_first_are_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    warn_of_silences([(utterance(f"u{n:02d}", "A"), "it hums") for n in range(12)])
    levels = [record.levelno for record in caplog.records]
    assert levels == [logging.WARNING] * 10 + [logging.INFO] * 2 + [logging.WARNING]
    assert [message.partition(":")[0] for message in caplog.messages[:12]] == [f"u{n:02d}" for n in range(12)]
    assert caplog.messages[-1] == "no speech in 2 more utterances with a transcript; asr validate lists all"


def test_what_has_no_words_need_not_be_speech(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_silences([(utterance("u"), "it hums"), (utterance("v", "[noise]"), "it hums")])
    assert caplog.messages == []
