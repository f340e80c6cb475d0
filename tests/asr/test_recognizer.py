"""A trained model in use from Python."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from threadpoolctl import threadpool_info

from acoustic.emissions.emission_model import EmissionModel
from asr import AsrError, Recognizer
from asr.errors import ConfigError
from decoder import Hypothesis
from decoder.errors import DecodingError, LexiconError
from features.audio import read_audio


@dataclass(frozen=True)
class Fragile:
    """An emission model that fails at frames of a certain number."""

    whole: EmissionModel
    n_frames: int
    error: Exception

    @property
    def n_states(self) -> int:
        return self.whole.n_states

    def log_likelihoods(self, frames: np.ndarray) -> np.ndarray:
        if len(frames) == self.n_frames:
            raise self.error
        return self.whole.log_likelihoods(frames)


@dataclass(frozen=True)
class Counted:
    """An emission model that keeps the frames it was asked to score."""

    whole: EmissionModel
    asked: list[np.ndarray]

    @property
    def n_states(self) -> int:
        return self.whole.n_states

    def log_likelihoods(self, frames: np.ndarray) -> np.ndarray:
        self.asked.append(frames.copy())
        return self.whole.log_likelihoods(frames)


@pytest.fixture
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


def test_the_lexicon_of_another_model_is_named_by_its_path(trained: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(trained / "models/gmm2", tmp_path / "gmm2"))
    lexicon = place / "lexicon.txt"
    words = [line.split()[0] for line in lexicon.read_text().splitlines()]
    lexicon.write_text("".join(f"{word} OTHER\n" for word in dict.fromkeys(words)))
    with pytest.raises(
        LexiconError, match=r"expected the 7 phones of the model, got 1 others: OTHER"
    ) as caught:
        Recognizer.load(place)
    assert str(caught.value).startswith(f"{lexicon}: expected the 7 phones")
    lexicon.write_text("ELSE OTHER\n")
    with pytest.raises(AsrError, match=re.escape(str(place))):
        Recognizer.load(place)


class TestTranscribe:
    def test_path_and_samples_are_the_same(self, recognizer: Recognizer, tones: Path) -> None:
        path = tones / "speaker 3/1.wav"
        found = recognizer.transcribe(path)
        assert found.complete
        assert found.text == tuple(path.with_suffix(".txt").read_text().split())
        assert recognizer.transcribe(read_audio(path)) == found
        assert recognizer.transcribe(str(path)) == found

    def test_every_frame_is_scored_once_and_for_all_states(self, recognizer: Recognizer, tones: Path) -> None:
        """Thesis 4.3 caches scores while it searches; here a table of them is there before the search."""
        path, model = tones / "speaker 3/1.wav", recognizer.model
        counted = Counted(model.emissions, [])
        found = replace(recognizer, model=replace(model, emissions=counted)).transcribe(path)
        assert found == recognizer.transcribe(path)
        np.testing.assert_array_equal(np.concatenate(counted.asked), recognizer.frames(path)[0])

    @pytest.mark.parametrize(
        ("samples", "message"),
        [
            (np.zeros((16000, 2), np.float32), "mix the channels down"),
            (np.zeros(16000, np.int16), "divide int16 by 32768"),
            (np.full(16000, np.nan, np.float32), "expected a finite number"),
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

    @pytest.mark.parametrize("same_speaker", [False, True])
    @pytest.mark.parametrize(
        "error", [DecodingError("no path"), ZeroDivisionError("division"), MemoryError("much")]
    )
    def test_one_that_cannot_be_scored_spares_the_others(
        self, recognizer: Recognizer, tones: Path, error: Exception, same_speaker: bool
    ) -> None:
        first, bad, last = sorted(tones.glob("speaker 2/*.wav"))[:3]
        model = recognizer.model
        fragile = Fragile(model.emissions, len(recognizer.frames(bad)[0]), error)
        broken = replace(recognizer, model=replace(model, emissions=fragile))
        found = broken.transcribe_all([first, bad, last], same_speaker=same_speaker)
        assert isinstance(found[1], AsrError)
        assert str(found[1]).startswith(f"{bad}: ")
        assert str(error) in str(found[1])
        assert [found[0], found[2]] == recognizer.transcribe_all([first, last], same_speaker=same_speaker)

    def test_what_only_fails_together_is_not_hidden(
        self, recognizer: Recognizer, tones: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def transcribed(recordings: list[object], speakers: list[str], parts: object) -> list[object]:
            if len(recordings) > 1:
                raise DecodingError("together")
            return []

        monkeypatch.setattr("asr.transcribe.transcribe", transcribed)
        with pytest.raises(DecodingError, match=r"^together$"):
            recognizer.transcribe_all(sorted(tones.glob("speaker 2/*.wav")))

    def test_a_sample_far_above_full_scale(self, recognizer: Recognizer, tones: Path, tmp_path: Path) -> None:
        good = tones / "speaker 2" / "1.wav"
        samples = read_audio(good)
        samples[100] = 1e30
        soundfile.write(tmp_path / "bad.wav", samples, 16000, subtype="FLOAT")
        error, found = recognizer.transcribe_all([tmp_path / "bad.wav", good])
        assert str(error).startswith(f"{tmp_path / 'bad.wav'}: sample 100; expected numbers within")
        assert found == recognizer.transcribe(good)

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
        with pytest.raises(
            DecodingError, match=r'^no decoder option "beem" \(did you mean "beam"\?\), expected'
        ):
            recognizer.with_options(beem=3)


class TestManyThreads:
    def test_calls_that_overlap_give_the_same_bits(self, recognizer: Recognizer, tones: Path) -> None:
        paths = sorted(tones.glob("speaker */*.wav"))[:12]
        recognizer = recognizer.with_options(confidence=True)
        expected = [recognizer.transcribe(path) for path in paths]
        before = [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()]
        order = [(n + 5 * thread) % len(paths) for thread in range(8) for n in range(25)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda place: recognizer.transcribe(paths[place]), order))
        assert [found[n] == expected[place] for n, place in enumerate(order)] == [True] * len(order)
        assert [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()] == before


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
            assert found.no_speech.startswith(
                ("its sound is steady", "its loudest part", "its samples do not")
            ), name

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
