"""A sentence under way against its scores decoded at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr import Recognizer
from asr.live.stream import Sentence
from features.audio import read_audio


@pytest.fixture
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


def test_it_keeps_what_it_was_given_and_finds_the_words(recognizer: Recognizer, tones: Path) -> None:
    path = tones / "speaker 2/0.wav"
    (frames,) = recognizer.frames(read_audio(path))
    scores = recognizer.model.scores(frames)
    sentence = Sentence(recognizer.decoder, start=70)
    for first in range(0, len(frames), 9):
        sentence.take(frames[first : first + 9], scores[first : first + 9])
    np.testing.assert_array_equal(np.concatenate(sentence.frames), frames)
    np.testing.assert_array_equal(np.concatenate(sentence.scores), scores)
    assert (sentence.start, sentence.n_frames, sentence.stop) == (70, len(frames), 70 + len(frames))
    words = tuple(path.with_suffix(".txt").read_text().split())
    assert tuple(word.word for word in sentence.partial().words) == words
    assert sentence.finish() == recognizer.decoder.decode(scores)


def test_of_nothing(recognizer: Recognizer) -> None:
    sentence = Sentence(recognizer.decoder, start=0)
    assert sentence.partial().words == ()
    assert sentence.finish().words == ()
