"""The transform that follows a speaker against the one of a second pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.emissions.adaptation import fit_targets, fit_transform
from asr import Recognizer
from asr.live import stream as speaker
from asr.live.stream import SpeakerAdaptation
from asr.transcribe import heard_states
from foundation.arrays import Singles

Spoken = list[tuple[Singles, tuple[str, ...]]]


@pytest.fixture
def spoken(trained: Path, tones: Path) -> Spoken:
    """Return frames and words of three recordings."""
    recognizer = Recognizer.load(trained)
    paths = sorted(tones.glob("speaker 1/*.wav"))[:3]
    return [(recognizer.frames(p)[0], tuple(p.with_suffix(".txt").read_text().split())) for p in paths]


@pytest.fixture
def recognizer(trained: Path, spoken: Spoken) -> Recognizer:
    """Return a recogniser that adapts, towards means that lie elsewhere."""
    found = Recognizer.load(trained)
    states = [found.align_frames(frames, words).states for frames, words in spoken]
    moved = [1.2 * frames + 0.3 for frames, _ in spoken]
    is_used = np.ones(found.model.topology.n_states, dtype=bool)
    return replace(found, model=replace(found.model, adaptation=fit_targets(moved, states, is_used)))


def test_it_is_that_of_all_that_was_heard(recognizer: Recognizer, spoken: Spoken) -> None:
    adaptation = SpeakerAdaptation(recognizer.model, recognizer.lexicon)
    frames, words = zip(*spoken, strict=True)
    scores = [recognizer.model.scores(x) for x in frames]
    assert adaptation.adapted(frames[0]) is frames[0]  # nothing was heard yet
    for x, s, w in zip(frames, scores, words, strict=True):
        adaptation.update([x[:20], x[20:]], [s[:20], s[20:]], w[:1], is_over=False)  # replaced by the whole
        adaptation.update([x[:20], x[20:]], [s[:20], s[20:]], w, is_over=True)
    states = [
        heard_states(s, w, recognizer.lexicon, recognizer.model) for s, w in zip(scores, words, strict=True)
    ]
    targets = recognizer.model.adaptation
    assert targets is not None
    expected = fit_transform(np.concatenate(frames), np.concatenate(states), targets)
    assert_allclose(adaptation.adapted(frames[0]), expected.apply(frames[0]), rtol=1e-4, atol=1e-4)
    assert np.abs(adaptation.adapted(frames[0]) - frames[0]).max() > 0.1


def test_a_sentence_under_way_counts_once(recognizer: Recognizer, spoken: Spoken) -> None:
    (frames, words), *_ = spoken
    scores = recognizer.model.scores(frames)
    once, often = (SpeakerAdaptation(recognizer.model, recognizer.lexicon) for _ in range(2))
    once.update([frames], [scores], words, is_over=True)
    for _ in range(3):
        often.update([frames], [scores], words, is_over=False)
    often.update([frames], [scores], words, is_over=True)
    assert_array_equal(once.adapted(frames), often.adapted(frames), strict=True)


def test_what_is_long_past_fades(
    recognizer: Recognizer, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, words), (second, others), _ = spoken
    monkeypatch.setattr(speaker, "MEMORY_S", 0.01)
    short = SpeakerAdaptation(recognizer.model, recognizer.lexicon)
    short.update([first], [recognizer.model.scores(first)], words, is_over=True)
    short.update([second], [recognizer.model.scores(second)], others, is_over=True)
    alone = SpeakerAdaptation(recognizer.model, recognizer.lexicon)
    alone.update([second], [recognizer.model.scores(second)], others, is_over=True)
    assert_allclose(short.adapted(second), alone.adapted(second), rtol=0, atol=0.05)
    assert np.abs(short.adapted(second) - alone.adapted(second)).max() > 0


def test_without_words_or_targets_nothing_moves(
    trained: Path, recognizer: Recognizer, spoken: Spoken
) -> None:
    (frames, words), *_ = spoken
    scores = recognizer.model.scores(frames)
    plain = Recognizer.load(trained)
    for model, heard in ((recognizer.model, ()), (plain.model, words)):
        adaptation = SpeakerAdaptation(model, recognizer.lexicon)
        adaptation.update([frames], [scores], heard, is_over=True)
        assert adaptation.adapted(frames) is frames
