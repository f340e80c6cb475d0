"""What is said of a model, and that it is said of models of earlier versions, too."""

import json
import shutil
from pathlib import Path

import pytest

from asr import info, read_corpus
from asr.commands.model_info import format_info
from asr.errors import ExperimentError
from features.audio import audio_info


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """Return a copy of a model's own directory, without its experiment."""
    return Path(shutil.copytree(trained / "models/gmm2", tmp_path / "alone"))


def test_amounts_are_those_of_the_corpus(trained: Path, tones: Path) -> None:
    found = info(trained)
    data = found["data"]
    assert isinstance(data, dict)
    corpus = read_corpus(tones)
    for key, expected in {
        "n_utterances": len(corpus),
        "n_words": sum(len(u.words) for u in corpus),
        "n_speakers": len(corpus.speakers),
    }.items():
        assert sum(data[split][key] for split in ("train", "dev", "test")) == expected
    seconds = sum(audio_info(u.audio_path).duration_s for u in corpus)
    hours = sum(data[split]["hours"] for split in data)
    assert hours * 3600 == pytest.approx(seconds, rel=0.05)  # whole frames
    assert found["trained_on"] == ["train", "dev"]
    minutes = 60 * sum(data[split]["hours"] for split in ("train", "dev"))
    assert found["training_minutes"] == pytest.approx(minutes, abs=0.02)


def test_figures_are_those_of_the_experiment(trained: Path) -> None:
    found = info(trained)
    rows = json.loads((trained / "results.json").read_text())["results"]
    assert [(r.split, r.grammar, r.word_accuracy) for r in found["results"]] == [  # type: ignore[attr-defined]
        (row["split"], row["grammar"], row["word_accuracy"]) for row in rows
    ]
    assert found["grammars"] == ["bigram", "loop"]
    assert found["grammar"] == "bigram"
    files = (trained / "models/gmm2").iterdir()
    assert found["bytes"] == sum(path.stat().st_size for path in files)
    (stage,) = (trained / "stages").glob("test-gmm2-*/stage.json")
    cpu_s = json.loads(stage.read_text())["seconds"]["cpu"]
    seconds = 3600 * found["data"]["test"]["hours"]  # type: ignore[index]
    expected = round(cpu_s / seconds / 2, 4)  # of two grammars
    assert found["tested_cpu_s_per_s"] == (expected or None)


def test_results_with_grammars_that_the_model_lacks_are_left_out(
    trained: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Path(shutil.copytree(trained, tmp_path / "exp"))
    path = place / "results.json"
    record = json.loads(path.read_text())
    for row in record["results"]:
        if row["grammar"] == "bigram":
            row["grammar"] = "trigram"
    path.write_text(json.dumps(record))
    found = info(place)
    assert {row.grammar for row in found["results"]} == {"loop"}  # type: ignore[attr-defined]
    assert caplog.messages == [
        f"{path}: has rows of gmm2 with trigram, expected the grammars of the model (bigram, loop); "
        "they are left out: restore the file, or run asr train again"
    ]
    assert "trigram" not in format_info(found)


def test_words_for_a_person(trained: Path, tones: Path) -> None:
    wav = tones / "speaker 0/0.wav"
    found = info(trained, measure=wav)
    assert found["measured"]["duration_s"] == pytest.approx(audio_info(wav).duration_s, abs=1e-3)  # type: ignore[index]
    said = format_info(found)
    assert max(map(len, said.splitlines())) <= max(100, len(str(trained)) + 60)
    for part in (
        "84 words in 35 utterances of train and dev",
        "Gaussian mixtures (36 Gaussians); 7 phones, 18 states; ",
        "recordings at 16,000 Hz",
        "bigram, over 4 words; also --grammar loop",
        "12 words of test with the grammar loop",
        "× real time now",
    ):
        assert part in " ".join(said.split()), part
    assert f"asr evaluate '{trained}' --corpus" in said


def test_a_model_alone_and_of_an_earlier_version(model: Path) -> None:
    alone = info(model)
    assert (alone["results"], alone["synthetic"], alone["tested_cpu_s_per_s"]) == ([], None, None)
    assert "no results beside this model" in format_info(alone)
    (model / "data.json").unlink()
    earlier = info(model)
    assert (earlier["data"], earlier["recipe"]) == (None, None)
    assert "an earlier version trained it" in " ".join(format_info(earlier).split())


def test_what_looks_wrong_and_what_is_synthetic_is_said(trained: Path) -> None:
    found = info(trained)
    said = format_info({**found, "suspicious": 3, "synthetic": True})
    assert "3 utterances of it look wrong" in said
    assert f"asr validate '{trained}' --suspicious" in " ".join(said.split())
    assert "SYNTHETIC" in said
    plain = format_info(found)
    assert "look wrong" not in plain
    assert "SYNTHETIC" not in plain


def test_kinds_of_models(trained: Path) -> None:
    first = {"kind": "pairwise", "classes": 9, "pairs": 1200, "centers": 50}
    second = {"kind": "gmm", "gaussians": 36}
    sizes = {"phones": 7, "units": 40, "states": 18, "bytes": 2_000_000}
    said = format_info({**info(trained), **sizes, "kind": "combined", "first": first, "second": second})
    assert (
        "discriminants of pairs (9 classes, 1,200 pairs, 50 centres) and Gaussian mixtures "
        "(36 Gaussians); 7 phones, 40 in context, 18 states; 2.0 MB"
    ) in " ".join(said.split())


def test_every_line_of_a_synthetic_corpus_without_test(trained: Path) -> None:
    found = info(trained)
    (dev,) = [r for r in found["results"] if (r.split, r.grammar) == ("dev", "loop")]  # type: ignore[attr-defined]
    said = " ".join(format_info({**found, "results": [dev], "synthetic": True}).split())
    assert "of dev with the grammar loop dev also chose the decoder's weights" in said
    assert "SYNTHETIC speech" in said


def test_no_model(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="no trained model in it"):
        info(tmp_path)
