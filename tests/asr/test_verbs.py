"""The verbs as functions: what they return, and what they refuse before they begin."""

import logging
import shutil
from pathlib import Path

import pytest

import asr
from asr import AsrError, ExperimentConfig, align, align_corpus, decode, evaluate, info, train
from asr.errors import ConfigError, CorpusError
from asr.scoring.results import read_results
from asr.verbs import make_lexicon, with_preset


@pytest.fixture
def wav(tones: Path) -> Path:
    return tones / "speaker 0" / "0.wav"


@pytest.fixture
def words(wav: Path) -> list[str]:
    return wav.with_suffix(".txt").read_text().split()


class TestTrain:
    def test_a_model_may_be_given_by_its_name(
        self, tones: Path, trained: Path, settings: tuple[str, ...]
    ) -> None:
        rows = train("folder", corpus=str(tones), out=str(trained), models="gmm2", settings=settings)
        assert rows == read_results(trained)
        assert {row.model for row in rows} == {"gmm2"}

    def test_refused(self, tones: Path, tmp_path: Path) -> None:
        out = tmp_path / "exp"
        with pytest.raises(ConfigError, match='recipe "folder" needs a corpus; expected --corpus DIR'):
            train("folder", out=out)
        with pytest.raises(ConfigError, match=r"nowhere: no such directory; expected the corpus; check"):
            train("folder", corpus="nowhere", out=out)
        with pytest.raises(ConfigError, match=r"lies in the corpus .*; expected a place outside"):
            train("folder", corpus=tones, out=tones / ".." / tones.name / "exp")
        assert not out.exists()


class TestPresets:
    def test_best_is_the_configuration_itself(self) -> None:
        config = ExperimentConfig(grammars=("bigram",))
        assert with_preset(config, "best") is config

    def test_thesis_standardises_over_the_corpus_and_keeps_the_rest(self) -> None:
        config = ExperimentConfig(grammars=("bigram",))
        thesis = with_preset(config, "thesis")
        assert (thesis.front_end.normalize, thesis.grammars) == ("global", ("bigram",))
        assert thesis.hybrid != config.hybrid
        assert (thesis.gmm, thesis.decoder, thesis.tuning) == (config.gmm, config.decoder, config.tuning)

    def test_unknown(self, tones: Path, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match='"tesis" is not known; expected one of: best, thesis'):
            train("folder", corpus=tones, out=tmp_path / "exp", preset="tesis")
        assert not (tmp_path / "exp").exists()


class TestDecode:
    def test_words_or_the_error_of_each_recording(self, trained: Path, wav: Path, words: list[str]) -> None:
        good, bad = decode(trained, [wav, wav.with_suffix(".txt")])
        assert not isinstance(good, AsrError)
        assert list(good.text) == words
        assert all(word.confidence is not None for word in good.words)
        assert isinstance(bad, AsrError)
        assert "0.txt: not audio that libsndfile can read" in str(bad)


class TestAlign:
    def test_transcript_as_text_or_words(self, trained: Path, wav: Path, words: list[str]) -> None:
        by_words = align(trained, wav, words)
        assert by_words == align(str(trained), str(wav), f" {' '.join(words)}\n")
        assert by_words.utterance_id == "0"
        assert [interval.label for interval in by_words.tiers["words"]] == words

    def test_ids_have_no_white_space(
        self, trained: Path, wav: Path, words: list[str], tmp_path: Path
    ) -> None:
        copy = Path(shutil.copy(wav, tmp_path / "my first  recording.wav"))
        assert align(trained, copy, words).utterance_id == "my_first_recording"

    def test_nothing_is_spoken(self, trained: Path, wav: Path) -> None:
        with pytest.raises(CorpusError, match="empty transcript, expected the words spoken; give them"):
            align(trained, wav, [])

    def test_corpus_is_aligned_as_its_recordings(self, trained: Path, tones: Path, tmp_path: Path) -> None:
        shutil.copytree(tones / "speaker 0", tmp_path / "corpus")
        (tmp_path / "corpus/4.txt").write_text("ASA NEW\n")
        found = dict(align_corpus(trained, tmp_path / "corpus"))
        assert list(found) == ["0", "1", "2", "3", "4"]
        assert str(found.pop("4")).startswith('4: word "NEW" is not in the model')
        for name, aligned in found.items():
            assert not isinstance(aligned, AsrError)
            spoken = (tmp_path / f"corpus/{name}.txt").read_text().split()
            assert [interval.label for interval in aligned.tiers["words"]] == spoken
            ends = [interval.end_s for interval in aligned.tiers["phones"]]
            starts = [interval.start_s for interval in aligned.tiers["phones"]]
            assert [*starts[1:], aligned.duration_s] == ends  # no gap


class TestEvaluate:
    def test_score_is_of_the_words_returned(
        self, trained: Path, tones: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING, "asr.verbs"):
            score, decoded = evaluate(trained, tones)
        texts = {
            f"{path.parent.name}-{path.stem}".replace(" ", "_"): path.read_text().split()
            for path in tones.rglob("*.txt")
        }
        assert score.words == sum(map(len, texts.values()))
        assert {name: list(found.text) for name, found in decoded.items()} == texts
        assert (score.word_accuracy, len(score.utterances)) == (100.0, 40)
        assert "35 of these 40 utterances trained this model (by their ids)" in caplog.text


class TestLexicon:
    def test_letters_of_a_folder_and_of_all_splits(self, tones: Path, tmp_path: Path) -> None:
        corpus = asr.read_corpus(tones)
        assert set(make_lexicon(tones).words) == set(corpus.vocabulary) == {"ASA", "IMI", "MAUI", "SUS"}
        for split, utterances in {"train": corpus.utterances[:1], "test": corpus.utterances[1:]}.items():
            asr.write_corpus(asr.Corpus(utterances), tmp_path / split)
        assert make_lexicon(tmp_path).format() == make_lexicon(tones).format()


class TestInfo:
    def test_of_mixtures(self, trained: Path) -> None:
        found = info(trained)
        assert (found["model"], found["grammar"]) == ("gmm2", "bigram")
        assert (found["words"], found["phones"], found["states"]) == (4, 7, 18)  # 5 letters, sil and sp
        assert (found["kind"], found["gaussians"], found["features"]) == ("gmm", 36, 39)
        assert found["adapts_to_speakers"] is False
