"""Cepstra of a corpus: all that is wrong at once, what is left out by name, the same after a round trip."""

import logging
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_array_equal

from asr.corpora.corpus import Corpus, Utterance, read_corpus
from asr.corpora.problems import ADVICE
from asr.corpora.speech_data import compute_cepstra, load_cepstra, save_cepstra, usable_cepstra
from asr.errors import CorpusError
from features.audio import warn_of_low_rates
from features.errors import FeatureError
from features.frontend import FrontEndConfig
from features.mfcc import MfccConfig
from foundation.blocks import checkpoints

CONFIG = FrontEndConfig()


@pytest.fixture
def corpus(tones: Path, tmp_path: Path) -> Corpus:
    """Return five good utterances and two bad ones."""
    soundfile.write(tmp_path / "short.wav", np.full(100, 0.1), 16000)
    (tmp_path / "noise.wav").write_bytes(b"not a sound")
    bad = [Utterance(f"z-{n}", tmp_path / f"{n}.wav", ("ASA",), "z") for n in ("short", "noise")]
    return Corpus((*read_corpus(tones / "speaker 0"), *bad))


class TestCompute:
    def test_all_that_is_wrong_at_once(self, corpus: Corpus) -> None:
        with pytest.raises(CorpusError, match="2 of 7 recordings cannot be used") as caught:
            compute_cepstra(corpus, CONFIG)
        head, noise, short = str(caught.value).splitlines()
        assert head == f"2 of 7 recordings cannot be used; {ADVICE}"
        assert noise.startswith("z-noise: ")
        assert short.startswith("z-short: audio too short")

    def test_left_out_by_name(self, corpus: Corpus, caplog: pytest.LogCaptureFixture) -> None:
        data = compute_cepstra(corpus, CONFIG, most_left_out=1.0)
        assert data.corpus.ids == ("0", "1", "2", "3", "4")
        (message,) = caplog.messages
        assert message.startswith("left out: 2 of 7 recordings cannot be used: z-noise: ")
        assert "; z-short: audio too short" in message

    def test_a_share_may_be_left_out_and_no_more(self, corpus: Corpus) -> None:
        assert len(compute_cepstra(corpus, CONFIG, most_left_out=2 / 7).corpus) == 5
        with pytest.raises(
            CorpusError, match=r"2 of 7 recordings cannot be used \(at most 28 % of the corpus are left out"
        ):
            compute_cepstra(corpus, CONFIG, most_left_out=0.28)
        assert len(compute_cepstra(corpus, CONFIG, most_left_out=0.28, n_all=8).corpus) == 5

    def test_nothing_left(self, corpus: Corpus) -> None:
        with pytest.raises(CorpusError, match="2 of 2 recordings"):
            compute_cepstra(corpus.of_speakers(["z"]), CONFIG, most_left_out=1.0)

    def test_usable_and_not(self, corpus: Corpus) -> None:
        data, errors = usable_cepstra(corpus, CONFIG)
        assert (len(data.cepstra), sorted(errors)) == (5, ["z-noise", "z-short"])

    def test_wrong_configuration_is_one_error(self, corpus: Corpus) -> None:
        with pytest.raises(FeatureError, match=r"^n_channels: expected at least 1, got 0"):
            compute_cepstra(corpus, FrontEndConfig(MfccConfig(n_channels=0)))


class TestSilences:
    """What has a transcript and no speech is used, and named where that is asked for."""

    @pytest.fixture
    def silent(self, corpus: Corpus, tmp_path: Path) -> Corpus:
        """Return a good utterance, a constant one, and one of noise that has no words."""
        soundfile.write(tmp_path / "constant.wav", np.full(16000, 0.1), 16000)
        paths = [corpus.utterances[0].audio_path, *[tmp_path / "constant.wav"] * 2]
        words = [("ASA",), ("ASA",), ("[noise]",)]
        named = zip("abc", paths, words, strict=True)
        return Corpus(tuple(Utterance(name, path, spoken, "s") for name, path, spoken in named))

    def test_is_named_and_used(
        self, silent: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert compute_cepstra(silent, CONFIG).corpus.ids == ("a", "b", "c")
        assert caplog.messages == [
            f"b: {tmp_path / 'constant.wav'}: no speech in it, expected the word of its transcript; its "
            "samples do not change; listen to it, record it again or remove it"
        ]

    def test_is_not_named_again(self, silent: Corpus, caplog: pytest.LogCaptureFixture) -> None:
        compute_cepstra(silent, CONFIG, tells_silences=False)
        usable_cepstra(silent, CONFIG)
        assert caplog.messages == []

    def test_what_an_earlier_run_read_is_named(
        self,
        silent: Corpus,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("foundation.blocks.LOSS_S", -1.0)  # every block leaves a file
        with checkpoints(tmp_path / "blocks"):
            compute_cepstra(silent, CONFIG)
        caplog.clear()
        (tmp_path / "constant.wav").unlink()
        with checkpoints(tmp_path / "blocks"):
            compute_cepstra(silent, CONFIG)
        assert [message.partition(":")[0] for message in caplog.messages] == ["b"]


class TestKept:
    def test_round_trip(self, corpus: Corpus, tmp_path: Path) -> None:
        data = compute_cepstra(corpus, CONFIG, most_left_out=1.0)
        save_cepstra(data, tmp_path, "x")
        again = load_cepstra(corpus, tmp_path, "x")
        assert again.corpus == data.corpus
        for one, other in zip(again.cepstra, data.cepstra, strict=True):
            assert_array_equal(one, other)

    @pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux says which files are mapped")
    def test_the_file_is_not_mapped(self, corpus: Corpus, tmp_path: Path) -> None:
        save_cepstra(compute_cepstra(corpus, CONFIG, most_left_out=1.0), tmp_path, "x")
        again = load_cepstra(corpus, tmp_path, "x")
        assert len(again.cepstra[0]) > 0
        assert str(tmp_path) not in Path("/proc/self/maps").read_text()

    def test_sum_is_in_order_of_ids(self, corpus: Corpus) -> None:
        data = compute_cepstra(corpus, CONFIG, most_left_out=1.0)
        odd, even = data.without(["0", "2", "4"]), data.without(["1", "3"])
        total = even + odd
        assert total.corpus == data.corpus
        assert all(one is other for one, other in zip(total.cepstra, data.cepstra, strict=True))


class TestLowRates:
    def test_named_with_the_cure(self, tones: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        soundfile.write(tmp_path / "low.wav", np.zeros(8000), 8000)
        low, gone = tmp_path / "low.wav", tmp_path / "gone.wav"
        others = [u.audio_path for u in read_corpus(tones / "speaker 0")]
        warn_of_low_rates([low, gone, *others], 16000)
        (message,) = caplog.messages
        assert caplog.records[0].levelno == logging.WARNING
        assert message.startswith("1 of 7 recordings have fewer samples a second")
        assert "low.wav (8000 Hz)" in message
        assert message.endswith("train with --set sample_rate=8000")

    def test_no_word_where_nothing_is_lost(self, tones: Path, caplog: pytest.LogCaptureFixture) -> None:
        paths = [u.audio_path for u in read_corpus(tones)]
        warn_of_low_rates(paths, 8000)
        warn_of_low_rates(paths, 16000)
        assert caplog.messages == []
