"""Streams against whole recordings, on the tone language."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr

from acoustic.emissions.adaptation import fit_targets
from asr import AsrError, Recognizer
from asr.live.stream import CommandStream, Partial, Stream, StreamConfig
from asr.spotting.evidence import Evidence
from asr.spotting.rejection import Rejection
from decoder.decoder import Hypothesis
from features.audio import read_audio
from features.stream import RunningFrames

ONE_SENTENCE = StreamConfig(pause_s=None)


@pytest.fixture(scope="module")
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


@pytest.fixture(scope="module")
def adaptive(recognizer: Recognizer, tones: Path) -> Recognizer:
    """Return the recogniser with targets of adaptation, learned from one speaker."""
    model = recognizer.model
    paths = sorted(tones.glob("speaker 0/*.wav"))
    frames = [np.concatenate(list(recognizer.frames(path))) for path in paths]
    texts = [path.with_suffix(".txt").read_text().split() for path in paths]
    states = [recognizer.align_frames(x, words).states for x, words in zip(frames, texts, strict=True)]
    is_used = np.ones(model.topology.n_states, dtype=bool)
    model = replace(model, adaptation=fit_targets(frames, states, is_used))
    return replace(recognizer, model=model, first_pass=recognizer.decoder)


@pytest.fixture(scope="module")
def spoken(tones: Path) -> np.ndarray:
    """Return three recordings of a speaker with a second of faint noise before, between and after them."""
    noise = np.random.default_rng(0).normal(size=16000).astype(np.float32) * 1e-3
    pieces = [noise]
    for path in sorted(tones.glob("speaker 1/*.wav"))[:3]:
        pieces += [read_audio(path), noise]
    return np.concatenate(pieces)


@pytest.fixture(scope="module")
def texts(tones: Path) -> list[tuple[str, ...]]:
    return [tuple(path.read_text().split()) for path in sorted(tones.glob("speaker 1/*.txt"))[:3]]


def all_of(stream: Stream, samples: np.ndarray, size: int) -> list[Hypothesis]:
    """Return the sentences of a recording given in pieces."""
    pieces = [samples[start : start + size] for start in range(0, len(samples), size)]
    finished = [h for piece in pieces for h in stream.accept(piece).finished]
    return [*finished, stream.finish()]


@pytest.mark.parametrize("size", [160, 1600, 16000, 7, 10**9])
@pytest.mark.parametrize("config", [ONE_SENTENCE, StreamConfig(pause_s=0.4, update_s=0.5)])
def test_all_sizes_of_pieces_give_the_same_words(
    adaptive: Recognizer, spoken: np.ndarray, size: int, config: StreamConfig
) -> None:
    samples = spoken if size > 7 else spoken[:24000]
    assert all_of(adaptive.stream(config=config), samples, size) == all_of(
        adaptive.stream(config=config), samples, 4321
    )


def test_sentences_end_where_it_is_silent(
    recognizer: Recognizer, spoken: np.ndarray, texts: list[tuple[str, ...]]
) -> None:
    found = all_of(recognizer.stream(config=StreamConfig(pause_s=0.5)), spoken, 1600)
    assert [h.text for h in found] == [*texts, ()]
    whole = recognizer.transcribe(spoken)
    assert [w.word for h in found for w in h.words] == list(whole.text)
    starts = [w.start_s for h in found for w in h.words]
    np.testing.assert_allclose(starts, [w.start_s for w in whole.words], rtol=0, atol=0.05)


def test_final_words_are_those_of_the_scores_decoded_at_once(
    recognizer: Recognizer, spoken: np.ndarray
) -> None:
    running = RunningFrames(recognizer.model.front_end)
    blocks = running.accept(spoken) + running.finish()
    scores = np.concatenate([recognizer.model.emissions.log_likelihoods(block) for block in blocks])
    stream = recognizer.stream(config=ONE_SENTENCE)
    assert stream.accept(spoken).finished == ()
    assert stream.finish() == recognizer.decoder.decode(scores)


class TestAdaptation:
    def test_what_was_heard_moves_the_frames_that_follow(
        self, adaptive: Recognizer, spoken: np.ndarray
    ) -> None:
        config = StreamConfig(pause_s=0.5)
        without = replace(config, adapts=False)
        adapted, plain = (all_of(adaptive.stream(config=c), spoken, 1600) for c in (config, without))
        assert adapted[0].log_score == plain[0].log_score  # nothing was heard before
        assert adapted[1].log_score != plain[1].log_score

    def test_it_carries_over_to_the_next_recording_until_the_speaker_is_forgotten(
        self, adaptive: Recognizer, spoken: np.ndarray
    ) -> None:
        stream = adaptive.stream(config=StreamConfig(pause_s=0.5))
        first = all_of(stream, spoken, 1600)
        second = all_of(stream, spoken, 1600)
        stream.reset()
        third = all_of(stream, spoken, 1600)
        assert first == third
        assert first[0].log_score != second[0].log_score
        assert [h.text for h in first] == [h.text for h in second]

    def test_words_of_a_long_sentence_count_before_it_is_over(
        self, adaptive: Recognizer, spoken: np.ndarray
    ) -> None:
        often, never = (StreamConfig(pause_s=None, update_s=s) for s in (0.5, 1000.0))
        assert all_of(adaptive.stream(config=often), spoken, 1600) != all_of(
            adaptive.stream(config=never), spoken, 1600
        )


class TestPartial:
    def test_words_appear_while_they_are_spoken(
        self, recognizer: Recognizer, spoken: np.ndarray, texts: list[tuple[str, ...]]
    ) -> None:
        stream = recognizer.stream(config=StreamConfig(pause_s=0.5))
        seen: list[tuple[float, Partial]] = []
        for start in range(0, len(spoken), 800):
            seen.append(((start + 800) / 16000, stream.accept(spoken[start : start + 800])))
        (first,) = [h for _, p in seen for h in p.finished][:1]
        assert first.text == texts[0]
        last = first.words[-1]
        appeared = next(at for at, p in seen if last.word in [w.word for w in p.words])
        assert appeared <= last.end_s + 0.3
        ended = next(at for at, p in seen if p.finished)
        assert last.end_s + 0.5 <= ended <= last.end_s + 0.8

    def test_times_are_those_of_the_recording(self, recognizer: Recognizer, spoken: np.ndarray) -> None:
        stream = recognizer.stream(config=StreamConfig(pause_s=0.5))
        for start in range(0, len(spoken), 800):
            partial = stream.accept(spoken[start : start + 800])
            heard_s = (min(start + 800, len(spoken))) / 16000
            assert heard_s - 0.2 <= partial.heard_s <= heard_s
            times = [t for w in partial.words for t in (w.start_s, w.end_s)]
            assert times == sorted(times)
            assert not times or times[-1] <= partial.heard_s + 1e-9
        assert partial.heard_s > 3


def test_other_rates_are_resampled(recognizer: Recognizer, spoken: np.ndarray) -> None:
    high = soxr.resample(spoken, 16000, 44100)
    found = all_of(recognizer.stream(44100, StreamConfig(pause_s=0.5)), high, 4410)
    expected = all_of(recognizer.stream(config=StreamConfig(pause_s=0.5)), spoken, 1600)
    assert [h.text for h in found] == [h.text for h in expected]


def test_streams_in_threads_do_not_disturb_each_other(adaptive: Recognizer, spoken: np.ndarray) -> None:
    def one(size: int) -> list[Hypothesis]:
        return all_of(adaptive.stream(config=StreamConfig(pause_s=0.5)), spoken, size)

    alone = one(1600)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == alone for found in pool.map(one, [400, 900, 1600, 5000] * 2))


def test_nothing_is_kept_of_long_silence_and_long_sentences_end(recognizer: Recognizer, tones: Path) -> None:
    stream = recognizer.stream(config=StreamConfig(pause_s=5.0, longest_s=2.0))
    noise = np.random.default_rng(0).normal(size=16000).astype(np.float32) * 1e-3
    for _ in range(12):
        assert stream.accept(noise).finished == ()
    assert stream._sentence.n_frames <= 520
    speech = np.concatenate([read_audio(path) for path in sorted(tones.glob("speaker 1/*.wav"))])
    lengths = [h.words[-1].end_s - h.words[0].start_s for h in all_of(stream, speech, 1600) if h.words]
    assert len(lengths) > 1
    assert max(lengths) < 3.2


def test_words_that_were_not_spoken_are_left_out(recognizer: Recognizer, spoken: np.ndarray) -> None:
    nothing = replace(recognizer, rejection=Rejection(np.inf, Evidence(margin=1.0)))
    every = replace(recognizer, rejection=Rejection(-np.inf, Evidence(margin=1.0)))
    assert [w for h in all_of(nothing.stream(), spoken, 1600) for w in h.words] == []
    found = [w for h in all_of(every.stream(), spoken, 1600) for w in h.words]
    assert [w.word for w in found] == [
        w.word for h in all_of(recognizer.stream(), spoken, 1600) for w in h.words
    ]
    assert all(w.confidence is not None and 0 <= w.confidence <= 1 for w in found)


def test_nothing_at_all(recognizer: Recognizer) -> None:
    stream = recognizer.stream()
    assert stream.accept(np.zeros(0, np.float32)) == Partial((), (), 0.0)
    assert stream.finish().words == ()


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.zeros((160, 2), np.float32), "mix the channels down"),
        (np.zeros(160, np.int16), "divide int16 by 32768"),
        (np.full(160, np.inf, np.float32), "expected a finite number"),
    ],
)
def test_wrong_samples_change_nothing(
    recognizer: Recognizer, spoken: np.ndarray, samples: np.ndarray, message: str
) -> None:
    stream = recognizer.stream()
    stream.accept(spoken[:9000])
    with pytest.raises(AsrError, match=message):
        stream.accept(samples)
    stream.accept(spoken[9000:])
    other = recognizer.stream()
    other.accept(spoken)
    assert stream.finish() == other.finish()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pause_s": 0.0}, "pause_s: expected at least 0.05"),
        ({"update_s": float("nan")}, "update_s: expected"),
    ],
)
def test_wrong_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(AsrError, match=message):
        StreamConfig(**options)


@pytest.mark.parametrize("kind", [Stream, CommandStream])
def test_a_second_thread_gets_one_error_and_the_first_its_words(
    recognizer: Recognizer,
    spoken: np.ndarray,
    under_way: Callable[..., Any],
    kind: type[Stream] | type[CommandStream],
) -> None:
    alone, stream = kind(recognizer.parts), kind(recognizer.parts)
    calls: list[Callable[[], object]] = [lambda: stream.accept(spoken[:9]), stream.finish, stream.reset]
    with under_way(stream, "_resampler", "accept", lambda: stream.accept(spoken)) as heard:
        for call in calls:
            with pytest.raises(AsrError, match="already in use by another thread, expected one thread"):
                call()
    assert heard.result() == alone.accept(spoken)
    assert stream.finish() == alone.finish()  # one thread after another is no error


def test_a_stream_is_free_after_an_error_and_so_is_a_copy(recognizer: Recognizer, spoken: np.ndarray) -> None:
    stream = recognizer.stream()
    with pytest.raises(AsrError, match=r"samples: expected an array of floats in \[-1, 1\), got a list"):
        stream.accept([0.0, 0.1])  # type: ignore[arg-type]
    with pytest.raises(AsrError, match="samples: expected floats"):
        stream.accept(np.zeros(10, dtype=np.int16))  # type: ignore[arg-type]
    stream.accept(spoken[:20000])
    other = copy.deepcopy(stream)
    assert other.accept(spoken[20000:]) == stream.accept(spoken[20000:])
    assert other.finish() == stream.finish()
