"""Hybrids from recordings to words on the tone language."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from asr import Recognizer, align, sparsity, train
from asr.cli import main
from asr.errors import ConfigError
from asr.results import read_results
from asr.sparsity import config_of
from asr.stages import as_plain

SMALL = ("hybrid.n_centers=20", "hybrid.min_frames=5", "tying.min_frames=60", "tying.min_gain=20")
CHECKED = "speaker 1/2.wav"


@pytest.fixture(scope="module")
def hybrids(tones: Path, trained: Path, settings: tuple[str, ...], tmp_path_factory) -> Path:
    """Return an experiment with three hybrids of phones in context."""
    out = tmp_path_factory.mktemp("hybrids") / "exp"
    shutil.copytree(trained, out)
    options = (*settings, *SMALL, "hybrid.units=context", "hybrid.warps=0.95,1.05")
    models = ["npd", "krls", "sklearn:discriminant_analysis.LinearDiscriminantAnalysis"]
    train("folder", corpus=tones, out=out, models=models, settings=options)
    return out


def test_tones_are_recognised(hybrids: Path) -> None:
    rows = read_results(hybrids)
    assert {row.model for row in rows} == {
        "npd",
        "krls",
        "sklearn-discriminant_analysis.LinearDiscriminantAnalysis",
    }
    assert all(row.word_accuracy >= 90 for row in rows)


def test_a_second_run_changes_nothing(hybrids: Path, tones: Path, settings: tuple[str, ...]) -> None:
    before = {p: p.stat().st_mtime_ns for p in (hybrids / "stages").rglob("*") if p.is_file()}
    options = (*settings, *SMALL, "hybrid.units=context", "hybrid.warps=0.95,1.05")
    train("folder", corpus=tones, out=hybrids, models=["npd"], settings=options)
    assert {p: p.stat().st_mtime_ns for p in (hybrids / "stages").rglob("*") if p.is_file()} == before


def test_decoded_and_aligned_like_any_other(hybrids: Path, tones: Path) -> None:
    recognizer = Recognizer.load(hybrids, "npd")
    assert recognizer.model.topology.is_contextual
    text = (tones / CHECKED).with_suffix(".txt").read_text().split()
    assert list(recognizer.transcribe(tones / CHECKED).text) == text
    aligned = align(hybrids, tones / CHECKED, text, model="npd")
    spoken = [i.label for i in aligned.tiers["phones"] if i.label not in ("sil", "sp")]
    assert spoken == list("".join(text).lower())


def test_a_silent_file_and_one_of_three_frames(hybrids: Path) -> None:
    recognizer = Recognizer.load(hybrids, "npd")
    noise = np.random.default_rng(0).normal(size=3 * 160 + 400).astype(np.float32) * 1e-4
    assert np.isfinite(recognizer.transcribe(noise).log_score)
    frames = recognizer.model.front_end.transform([recognizer.model.front_end.cepstra(noise)])[0]
    assert np.isfinite(recognizer.model.emissions.log_likelihoods(frames)).all()


def test_sparsity_trains_every_size_and_goes_on(
    hybrids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "exp"
    shutil.copytree(hybrids, out)
    rows = sparsity(out, sizes=[2, 10])
    assert [row.n_centers for row in rows] == [2, 2, 10, 10]
    assert rows[0].distinct_centers < rows[2].distinct_centers
    assert rows[2].word_accuracy >= 90
    assert json.loads((out / "sparsity.json").read_text())["rows"][0]["grammar"] == "loop"
    stages = {p.name for p in (out / "stages").iterdir()}
    assert main(["sparsity", str(out), "--centers", "2", "10"]) == 0
    assert {p.name for p in (out / "stages").iterdir()} == stages
    assert "centres  distinct       loop" in capsys.readouterr().out
    assert main(["sparsity", str(out), "--model", "gmm2"]) == 2
    assert "expected npd or orols" in capsys.readouterr().err


def test_config_comes_back_from_its_json(hybrids: Path) -> None:
    record = json.loads((hybrids / "config.json").read_text())
    assert as_plain(config_of(record)) == record["config"]


@pytest.mark.parametrize("model", ["npd", "orols", "svm", "krls"])
def test_thesis_preset(
    model: str, tones: Path, trained: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "exp"
    train("folder", corpus=tones, out=out, models=[model], preset="thesis", settings=(*settings, *SMALL))
    assert all(row.word_accuracy >= 80 for row in read_results(out))
    recognizer = Recognizer.load(out)
    assert recognizer.model.front_end.projection is None
    assert recognizer.model.front_end.config.normalize == "global"


def test_unknown_classifier(tones: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'npdd.*did you mean "npd"'):
        train("folder", corpus=tones, out=tmp_path / "exp", models=["npdd"])
