"""Keywords of the tone language: chosen, kept, found among other sounds; and the rule for its grammar."""

import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr import Recognizer, decode, keywords, train
from asr.cli import main
from asr.corpora.tones import RATE, WORDS, speak, write_tones
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.spotting.rejection import KEYWORDS, REJECTION, USUAL_REJECTION
from decoder import LexiconError

CHOSEN = ("ASA", "MAUI")


@pytest.fixture(scope="module")
def experiment(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the experiment, for keywords are kept in it."""
    return Path(shutil.copytree(trained, tmp_path_factory.mktemp("keywords") / "exp"))


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return recordings of ten speakers."""
    return write_tones(tmp_path_factory.mktemp("dev") / "corpus", n_speakers=10, n_each=8)


@pytest.fixture(scope="module")
def noises(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return noise that swells, in folders of their own."""
    folder, rng = tmp_path_factory.mktemp("noises"), np.random.default_rng(0)
    swell = 0.1 * np.sin(2 * np.pi * 3 * np.arange(4 * RATE) / RATE) ** 2
    for n in range(6):
        (folder / str(n)).mkdir()
        soundfile.write(folder / str(n) / "x.wav", swell * rng.normal(size=4 * RATE), RATE)
    return folder


class TestKeywords:
    def test_they_are_found_and_nothing_else(self, experiment: Path, dev: Path, noises: Path) -> None:
        found = keywords(experiment, CHOSEN, corpus=dev, other=[noises])
        texts = [path.read_text().split() for path in sorted(dev.glob("*/*.txt"))]
        assert found.n_spoken == sum(word in CHOSEN for text in texts for word in text)
        assert found.point.detection > 90
        assert found.point.false_alarms_per_hour <= 1
        assert found.hours * 3600 > 24  # noise alone
        spotter = Recognizer.load(experiment).spotting()
        heard = spotter.transcribe(speak(("SUS", "ASA", "IMI"), 1.0, np.random.default_rng(5)))
        assert heard.text == ("ASA",)
        assert heard.words[0].confidence is not None
        assert 0.5 < heard.words[0].confidence <= 1
        assert spotter.transcribe(speak(("SUS", "IMI"), 1.0, np.random.default_rng(6))).text == ()

    def test_they_are_found_while_they_are_spoken(self, experiment: Path, dev: Path, noises: Path) -> None:
        keywords(experiment, CHOSEN, corpus=dev, other=[noises])
        spotter = Recognizer.load(experiment).spotting()
        samples = speak(("SUS", "ASA", "IMI"), 1.0, np.random.default_rng(5))
        stream, shown = spotter.stream(), set()
        for start in range(0, len(samples), RATE // 20):
            shown |= {word.word for word in stream.accept(samples[start : start + RATE // 20]).words}
        assert shown <= set(CHOSEN)
        assert stream.finish().text == ("ASA",)
        other = spotter.stream()
        other.accept(speak(("SUS", "IMI"), 1.0, np.random.default_rng(6)))
        assert other.finish().text == ()

    def test_training_again_keeps_them_as_long_as_the_model_is_the_same(
        self,
        trained: Path,
        dev: Path,
        noises: Path,
        tones: Path,
        settings: tuple[str, ...],
        tmp_path: Path,
    ) -> None:
        experiment = Path(shutil.copytree(trained, tmp_path / "exp"))
        keywords(experiment, CHOSEN, corpus=dev, other=[noises])
        path = experiment / "models/gmm2" / KEYWORDS
        chosen, rows = path.read_bytes(), json.loads((experiment / "results.json").read_text())["keywords"]
        train("folder", corpus=tones, out=experiment, models=["gmm2"], settings=settings)
        assert path.read_bytes() == chosen
        assert json.loads((experiment / "results.json").read_text())["keywords"] == rows
        other = [s for s in settings if "iterations" not in s] + ["gmm.iterations=2,2"]
        train("folder", corpus=tones, out=experiment, models=["gmm2"], settings=other)
        assert not path.exists()
        assert "keywords" not in json.loads((experiment / "results.json").read_text())

    def test_what_is_kept(self, experiment: Path, dev: Path) -> None:
        found = keywords(experiment, CHOSEN, corpus=dev)
        record = json.loads((experiment / "models" / "gmm2" / KEYWORDS).read_text())
        assert record["words"] == list(CHOSEN)
        assert record["threshold"] == record["rejection"]["threshold"] == found.point.threshold
        assert [p["detected"] for p in record["curve"]] == sorted(p["detected"] for p in record["curve"])
        assert Recognizer.load(experiment).keywords == found.keywords
        results = json.loads((experiment / "results.json").read_text())
        assert results["keywords"][-1]["detected"] == found.point.detected
        assert results["results"]

    def test_a_wanted_detection(self, experiment: Path, dev: Path) -> None:
        half = keywords(experiment, CHOSEN, corpus=dev, detection=50.0)
        assert 50 <= half.point.detection < 80  # several words may have the same odds
        assert half.point.false_alarms == 0

    def test_the_command_line(
        self, experiment: Path, dev: Path, noises: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        line = ["keywords", str(experiment), "--words", *CHOSEN, "--corpus", str(dev), "--other", str(noises)]
        assert main([*line, "--json", "--quiet"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert main([*line, "--quiet"]) == 0
        table = capsys.readouterr().out
        assert table.startswith(f"gmm2: ASA, MAUI: {record['spoken']} in ")
        (chosen,) = [row for row in table.splitlines() if row.endswith("<- chosen")]
        assert chosen.split()[1] == str(record["detected"])
        wav = dev / "speaker 0" / "0.wav"
        assert main(["decode", str(experiment), str(wav), "--keywords", "--quiet"]) == 0
        said = wav.with_suffix(".txt").read_text().split()
        assert capsys.readouterr().out.split() == [word for word in said if word in CHOSEN]

    def test_too_little_to_tell(self, experiment: Path, dev: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            keywords(experiment, CHOSEN, corpus=dev, false_alarms=0.5)
        assert "cannot tell 0.5 false alarms an hour" in caplog.text
        assert "it takes 6.0 hours" in caplog.text

    def test_speech_that_trained_the_model(
        self, experiment: Path, tones: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            keywords(experiment, CHOSEN, corpus=tones)
        assert "trained this model (by their ids)" in caplog.text

    def test_what_cannot_be(self, experiment: Path, dev: Path, noises: Path, tmp_path: Path) -> None:
        with pytest.raises(LexiconError, match=r'word "AXA" \(did you mean "ASA"\?\) is not in the lexicon'):
            keywords(experiment, ["AXA"], corpus=dev)
        with pytest.raises(CorpusError, match="nowhere: no such file or directory"):
            keywords(experiment, CHOSEN, corpus=dev, other=[tmp_path / "nowhere"])
        with pytest.raises(CorpusError, match="no recordings in it"):
            keywords(experiment, CHOSEN, corpus=dev, other=[tmp_path])
        soundfile.write(tmp_path / "a.wav", speak(("SUS",), 1.0, np.random.default_rng(0)), RATE)
        (tmp_path / "a.txt").write_text("SUS\n")
        with pytest.raises(CorpusError, match="none of these words is in its transcripts"):
            keywords(experiment, CHOSEN, corpus=tmp_path)
        with pytest.raises(ConfigError, match="got --nbest with --reject or --keywords"):
            decode(experiment, [tmp_path / "a.wav"], n_best=2, keywords=True)

    def test_what_is_damaged_is_replaced(self, experiment: Path, dev: Path) -> None:
        path = experiment / "models" / "gmm2" / KEYWORDS
        path.write_text("{")
        with pytest.raises(ExperimentError, match=r"keywords\.json: .*; run asr keywords again"):
            Recognizer.load(experiment)
        found = keywords(experiment, CHOSEN, corpus=dev)
        assert Recognizer.load(experiment).keywords == found.keywords

    def test_none_are_chosen(self, trained: Path) -> None:
        with pytest.raises(ExperimentError, match="no keywords are chosen, expected some; run asr keywords"):
            Recognizer.load(trained).spotting()


class TestRule:
    def test_words_of_other_sounds_are_rejected(self, experiment: Path, dev: Path, noises: Path) -> None:
        found = keywords(experiment, corpus=dev, other=[noises])
        assert found.keywords.words == ()
        assert found.point.detection >= 99.0
        assert found.keywords.rejection.threshold <= 0.0
        assert (experiment / "models" / "gmm2" / REJECTION).is_file()
        plain = Recognizer.load(experiment)
        rejecting = plain.with_rejection()
        assert rejecting.rejection == found.keywords.rejection
        said = speak(WORDS, 1.0, np.random.default_rng(3))
        assert rejecting.transcribe(said).text == WORDS
        rng = np.random.default_rng(9)
        others = [sum(speak(WORDS, scale, rng)[8000:16000] for scale in (0.6, 1.4)) for _ in range(5)]
        n_plain, n_kept = (sum(len(r.transcribe(x).words) for x in others) for r in (plain, rejecting))
        assert n_plain >= 5
        assert n_kept < 0.3 * n_plain

    def test_too_little_speech_leaves_the_rule_of_training(self, trained: Path, tmp_path: Path) -> None:
        experiment = Path(shutil.copytree(trained, tmp_path / "exp"))
        few = write_tones(tmp_path / "few", n_speakers=1, n_each=3)
        with pytest.raises(CorpusError, match="too little to learn from, expected 10 words recognised right"):
            keywords(experiment, corpus=few)
        assert not (experiment / "models" / "gmm2" / REJECTION).exists()

    def test_before_it_the_rule_of_training_and_before_that_a_rough_one(
        self, trained: Path, tmp_path: Path
    ) -> None:
        model = Path(shutil.copytree(trained, tmp_path / "exp")) / "models" / "gmm2"
        of_training = Recognizer.load(model)
        assert of_training.rejection is None
        assert of_training.rule is not None
        assert of_training.with_rejection().rejection == of_training.rule
        (model / USUAL_REJECTION).unlink()
        rough = Recognizer.load(model)
        assert rough.rule is None
        weights = rough.with_rejection().rejection.weights  # type: ignore[union-attr]
        assert weights.best_margin > 0
        assert sum(weights) == weights.best_margin
