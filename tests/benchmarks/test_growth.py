"""Parts of a corpus, and the slopes and tables of what they cost."""

import sys
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("memory is read from /proc", allow_module_level=True)

from growth import Task, cut, draw, part_of, slope, slopes, tables

from asr.corpora.corpus import SPLITS, Corpus, Utterance, read_corpus, write_corpus
from asr.recipe import LoadedRecipe, Recipe


def corpus_of(n_utterances: int, folder: Path = Path("/")) -> Corpus:
    names = [f"s{n % 4}-{n:03d}" for n in range(n_utterances)]
    return Corpus(tuple(Utterance(name, folder / f"{name}.wav", ("yes",), name[:2]) for name in names))


def row(size: float, model: str = "gmm") -> dict[str, Any]:
    """Return a row whose time is linear in the hours and whose memory is constant."""
    result = {"grammar": "trigram", "word_accuracy": 50 + 10 * size, "interval": (45.0, 75.0)}
    costs = {"gmm-1": (100 * size**2, 250.0), "tuning": (0.0, 200.0)}
    return {
        "corpus": "iban",
        "size": size,
        "model": model,
        "hours": 8 * size,
        "words": 1000,
        "different_words": 10,
        "states": 99,
        "pairs": None,
        "cpu_s": 300 * size,
        "peak_mb": 250.0,
        "stages": {name: {"cpu_s": cpu, "peak_mb": peak} for name, (cpu, peak) in costs.items()},
        "results": [{"split": "dev", **result}, {"split": "test", **result}],
    }


class TestPart:
    def test_every_eighth_is_among_every_fourth(self) -> None:
        corpus = corpus_of(99)
        ids = {share: part_of(corpus, share).ids for share in (0.125, 0.25, 0.5, 1.0)}
        assert [len(part) for part in ids.values()] == [12, 24, 49, 99]
        assert set(ids[0.125]) < set(ids[0.25]) < set(ids[0.5]) < set(ids[1.0])
        assert ids[0.125][:2] == (corpus.ids[7], corpus.ids[15])

    def test_all_speakers_stay(self) -> None:
        assert part_of(corpus_of(99), 0.125).speakers == corpus_of(99).speakers

    def test_a_recipe_cut(self, tmp_path: Path) -> None:
        def prepare(corpus_dir: Path, output_dir: Path) -> None:
            for utterance in corpus_of(40, corpus_dir):
                utterance.audio_path.touch()
            for split in SPLITS:
                write_corpus(corpus_of(40, corpus_dir), output_dir / split)

        loaded = LoadedRecipe("whole", Recipe(prepare), "source")
        part = cut(loaded, 0.25, 0.5, 1.0)
        part.recipe.prepare(tmp_path, tmp_path)
        assert [len(read_corpus(tmp_path / split)) for split in SPLITS] == [10, 20, 40]
        assert part.source != cut(loaded, 0.25, 1.0, 1.0).source != loaded.source


class TestSlopes:
    def test_powers_of_the_hours(self) -> None:
        assert slope([1.0, 2.0, 4.0], [3.0, 6.0, 12.0]) == 1.0
        assert slope([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]) == 2.0
        assert slope([1.0, 1.0], [3.0, 3.0]) is None
        assert slope([1.0, 2.0], [0.0, 3.0]) is None

    def test_of_all_and_of_each_stage(self) -> None:
        assert slopes([row(0.25), row(0.5), row(0.25, "npd")]) == [
            {"model": "gmm", "stage": "all", "cpu_s": 1.0, "peak_mb": 0.0},
            {"model": "gmm", "stage": "gmm-1", "cpu_s": 2.0, "peak_mb": 0.0},
            {"model": "gmm", "stage": "tuning", "cpu_s": None, "peak_mb": 0.0},
            {"model": "npd", "stage": "all", "cpu_s": None, "peak_mb": None},
            {"model": "npd", "stage": "gmm-1", "cpu_s": None, "peak_mb": None},
            {"model": "npd", "stage": "tuning", "cpu_s": None, "peak_mb": None},
        ]


class TestReport:
    def test_tables(self) -> None:
        rows = [row(0.25), row(0.5)]
        sizes, stages, powers = tables(rows, slopes(rows)).split("\n\n")
        assert sizes.splitlines()[2] == (
            "| iban | 0.25 | 2 | 1,000 (10) | gmm | 99 | – | 75 | 250 | 52.5 (45.0–75.0) |"
        )
        assert stages.splitlines()[2] == "| iban | 0.25 | gmm | gmm-1 | 6.2 | 250 |"
        assert powers.splitlines()[2:] == ["| gmm | all | 1 | 0 |", "| gmm | gmm-1 | 2 | 0 |"]
        assert len(tables(rows[:1], slopes(rows[:1])).split("\n\n")) == 2

    def test_figure(self, tmp_path: Path) -> None:
        draw([row(0.25), row(0.5), row(1.0, "npd")], tmp_path / "figures/growth.png")
        assert (tmp_path / "figures/growth.png").read_bytes()[:4] == b"\x89PNG"

    def test_places(self, tmp_path: Path) -> None:
        task = Task("iban", tmp_path, 0.125, 0.25, 0.25, "npd", (), tmp_path / "work")
        assert task.record == tmp_path / "work/iban-0.125/growth-npd.json"
