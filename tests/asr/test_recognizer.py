"""A trained model in use from Python."""

import unicodedata
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from asr import AsrError, Recognizer, align, align_corpus, decode, info
from asr.errors import ConfigError, CorpusError
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

    def test_info(self, trained: Path) -> None:
        record = info(trained)
        assert record["phones"] == 7  # A I M S U, sil, sp
        assert record["states"] == 18
        assert record["gaussians"] == 36
        assert 0.4 < float(str(record["training_minutes"])) < 0.6


class TestAlign:
    def test_tiers(self, trained: Path, tones: Path) -> None:
        aligned = align(trained, tones / "speaker 1/2.wav", (tones / "speaker 1/2.txt").read_text())
        words = aligned.tiers["words"]
        assert [i.label for i in words] == (tones / "speaker 1/2.txt").read_text().split()
        for tier in ("phones", "states"):
            intervals = aligned.tiers[tier]
            assert (intervals[0].start_s, intervals[-1].end_s) == (0, aligned.duration_s)
            assert all(a.end_s == b.start_s for a, b in pairwise(intervals))
        phones = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
        assert phones == [letter.lower() for word in words for letter in word.label]

    def test_decomposed_letters_are_composed(self, trained: Path, tones: Path) -> None:
        word = unicodedata.normalize("NFD", "É")
        with pytest.raises(CorpusError, match='word "É" is not'):
            align(trained, tones / "speaker 1/2.wav", word)

    def test_corpus_in_order(self, trained: Path, tones: Path) -> None:
        names = [name for name, _ in align_corpus(trained, tones)]
        assert names == sorted(names)
        assert len(names) == 40

    def test_words_given_one_by_one(self, recognizer: Recognizer, trained: Path, tones: Path) -> None:
        path = tones / "speaker 1/2.wav"
        words = path.with_suffix(".txt").read_text().split()
        direct = recognizer.align(path, words)
        again = recognizer.align(soundfile.read(path, dtype="float32")[0], words)
        assert_array_equal(direct.states, again.states)
        assert [i.label for i in align(trained, path, words).tiers["words"]] == words


def test_decode_gives_errors_in_their_places(trained: Path, tones: Path) -> None:
    first, second = decode(trained, ["x.wav", tones / "speaker 0/0.wav"])
    assert isinstance(first, AsrError)
    assert str(first).startswith("x.wav: ")
    assert not isinstance(second, AsrError)
    assert list(second.text) == (tones / "speaker 0/0.txt").read_text().split()
