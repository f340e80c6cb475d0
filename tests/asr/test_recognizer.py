"""A trained model in use from Python."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr import AsrError, Recognizer
from asr.errors import ConfigError
from decoder import Hypothesis
from features.audio import read_audio


@pytest.fixture
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


class TestTranscribe:
    def test_path_and_samples_are_the_same(self, recognizer: Recognizer, tones: Path) -> None:
        path = tones / "speaker 3/1.wav"
        found = recognizer.transcribe(path)
        assert found.complete
        assert found.text == tuple(path.with_suffix(".txt").read_text().split())
        assert recognizer.transcribe(read_audio(path)) == found
        assert recognizer.transcribe(str(path)) == found

    @pytest.mark.parametrize(
        ("samples", "message"),
        [
            (np.zeros((16000, 2), np.float32), "mix the channels down"),
            (np.zeros(16000, np.int16), "divide int16 by 32768"),
            (np.full(16000, np.nan, np.float32), "expected finite numbers"),
            (np.zeros(0, np.float32), "audio too short"),
        ],
    )
    def test_wrong_samples(self, recognizer: Recognizer, samples: np.ndarray, message: str) -> None:
        with pytest.raises(AsrError, match=message):
            recognizer.transcribe(samples)

    def test_many(self, recognizer: Recognizer, tones: Path) -> None:
        paths = [*sorted(tones.glob("speaker 2/*.wav")), tones / "none.wav"]
        *found, error = recognizer.transcribe_all(paths)
        assert isinstance(error, AsrError)
        assert str(error).startswith(f"{paths[-1]}: no such file")
        assert found == [recognizer.transcribe(path) for path in paths[:-1]]

    def test_nothing_and_nothing_usable(self, recognizer: Recognizer) -> None:
        assert recognizer.transcribe_all([]) == []
        (error,) = recognizer.transcribe_all(["nowhere.wav"], same_speaker=True)
        assert isinstance(error, AsrError)

    def test_one_speaker_is_normalised_as_one(self, recognizer: Recognizer, tones: Path) -> None:
        paths = sorted(tones.glob("speaker 0/*.wav"))
        each, together = (recognizer.transcribe_all(paths, same_speaker=same) for same in (False, True))
        assert [h.log_score for h in each] != [h.log_score for h in together]  # type: ignore[union-attr]

    def test_options(self, recognizer: Recognizer, tones: Path) -> None:
        sure = recognizer.with_options(confidence=True).transcribe(tones / "speaker 0/0.wav")
        assert all(word.confidence is not None and 0 <= word.confidence <= 1 for word in sure.words)
        assert recognizer.decoder.config.confidence is False


class TestNoSpeech:
    @pytest.fixture
    def sounds(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        return {
            "constant": np.full(16000, 0.1, np.float32),
            "vanishing": (1e-6 * rng.normal(size=16000)).astype(np.float32),
            "hiss": (0.1 * rng.normal(size=16000)).astype(np.float32),
            "hum": (0.1 * np.sin(np.arange(16000) / 50)).astype(np.float32),
        }

    def test_no_words_and_why(self, recognizer: Recognizer, sounds: dict[str, np.ndarray]) -> None:
        for name, samples in sounds.items():
            found = recognizer.transcribe(samples)
            assert found.words == (), name
            assert found.no_speech.startswith(("its sound is steady", "its loudest part")), name

    def test_the_others_are_decoded_as_before(
        self,
        recognizer: Recognizer,
        sounds: dict[str, np.ndarray],
        tones: Path,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        hiss = tmp_path / "hiss.wav"
        soundfile.write(hiss, sounds["hiss"], 16000)
        speech = [tones / "speaker 2/0.wav", tones / "speaker 2/1.wav"]
        found = recognizer.transcribe_all([speech[0], hiss, speech[1]], same_speaker=True)
        assert found[0::2] == recognizer.transcribe_all(speech, same_speaker=True)
        assert isinstance(found[1], Hypothesis)
        assert found[1].text == ()
        assert f"{hiss}: no speech in it, so no words: its sound is steady" in caplog.text


class TestLoad:
    def test_default_grammar_is_the_last_of_the_recipe(self, trained: Path) -> None:
        assert Recognizer.load(trained).grammar == "bigram"
        assert Recognizer.load(str(trained), model="gmm2", grammar="loop").grammar == "loop"

    def test_unknown_names(self, trained: Path) -> None:
        with pytest.raises(
            ConfigError, match=r'no model "gmm3" \(did you mean "gmm2"\?\); expected one of: gmm2'
        ):
            Recognizer.load(trained, model="gmm3")
        with pytest.raises(ConfigError, match=r'no grammar "word-pair"; expected one of: bigram, loop'):
            Recognizer.load(trained, grammar="word-pair")
