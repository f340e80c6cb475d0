"""Long recordings decoded in stretches."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from asr import Recognizer
from asr.decoding import stretches
from asr.decoding.passes import scored_speech
from asr.decoding.stretches import speech_in_stretches
from features import recording as recordings
from features.audio import read_audio
from features.recording import Recording


@pytest.fixture
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


def test_short_recordings_have_the_bits_of_whole_ones(recognizer: Recognizer, tones: Path) -> None:
    model, config = recognizer.model, recognizer.model.front_end.config.mfcc
    samples = [read_audio(path) for path in sorted(tones.glob("speaker 0/*.wav"))]
    speakers = ["s", "t", "s", "t", "s"]
    whole = scored_speech([model.front_end.cepstra(s) for s in samples], speakers, model)
    found = speech_in_stretches([Recording.of(s, config) for s in samples], speakers, model)
    assert [s.recording for s in found.stretches] == [0, 1, 2, 3, 4]
    assert list(found.scored.speakers) == speakers
    for n in range(5):
        assert_array_equal(found.scored.frames[n], whole.frames[n], strict=True)
        assert_array_equal(found.scored.scores[n], whole.scores[n], strict=True)
    assert recognizer.decode(found.scored) == recognizer.decode(whole)


class TestLong:
    @pytest.fixture
    def paths(self, tones: Path) -> list[Path]:
        return sorted(tones.glob("speaker 3/*.wav"))

    @pytest.fixture
    def long(self, paths: list[Path]) -> np.ndarray:
        return np.concatenate([read_audio(path) for path in paths])

    @pytest.fixture(autouse=True)
    def of_a_second(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cut into stretches of seconds, where otherwise half minutes are needed."""
        monkeypatch.setattr(recordings, "UNCUT_S", 1.2)
        monkeypatch.setattr(recordings, "STRETCH_S", (0.5, 1.1))
        monkeypatch.setattr(recordings, "PAUSE_S", 0.06)

    def test_frames_are_those_of_the_whole(self, recognizer: Recognizer, long: np.ndarray) -> None:
        front_end = recognizer.model.front_end
        found = speech_in_stretches([Recording.of(long, front_end.config.mfcc)], [""], recognizer.model)
        assert len(found.stretches) > 2
        (whole,) = front_end.transform([front_end.cepstra(long)])
        assert_allclose(np.concatenate(found.scored.frames), whole, rtol=1e-5, atol=1e-5)

    def test_words_and_times_are_those_spoken(
        self, recognizer: Recognizer, long: np.ndarray, paths: list[Path]
    ) -> None:
        found = recognizer.with_options(confidence=True).transcribe(long)
        spoken = [word for path in paths for word in path.with_suffix(".txt").read_text().split()]
        assert list(found.text) == spoken
        assert found.complete
        times = [(w.start_s, w.end_s) for w in found.words]
        assert np.all(np.diff(np.ravel(times)) >= 0)
        starts_s = np.cumsum([0, *(len(read_audio(path)) / 16000 for path in paths)])
        places = np.searchsorted(starts_s, [start for start, _ in times], side="right") - 1
        assert [sum(places == n) for n in range(len(paths))] == [
            len(path.with_suffix(".txt").read_text().split()) for path in paths
        ]

    def test_hypotheses_belong_to_their_recordings(
        self, recognizer: Recognizer, long: np.ndarray, paths: list[Path]
    ) -> None:
        config = recognizer.model.front_end.config.mfcc
        several = [Recording.of(s, config) for s in (read_audio(paths[0]), long, read_audio(paths[1]))]
        speech = speech_in_stretches(several, ["a", "b", "c"], recognizer.model)
        found = speech.joined(recognizer.decode(speech.scored), 0.01, 1)
        assert [h.text for h in found] == [
            recognizer.transcribe(samples).text for samples in (paths[0], long, paths[1])
        ]
        assert stretches.speech_in_stretches([], [], recognizer.model).joined([], 0.01, 1) == []
