"""The checks for authors of recipes: each fault is named, and none where there is none."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from asr import Recipe, read_corpus, testing, write_corpus
from asr.testing import ConformanceError, check_recipe
from decoder import Lexicon

Prepare = Callable[[Path, Path], None]


def sound(corpus_dir: Path, output_dir: Path) -> None:
    """Write the first speaker as dev, the second as test, the others as train."""
    corpus = read_corpus(corpus_dir)
    dev, test, *train = corpus.speakers
    for name, speakers in (("dev", [dev]), ("test", [test]), ("train", train)):
        write_corpus(corpus.of_speakers(speakers), output_dir / name)
    Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")


def and_then(change: Callable[[Path], object]) -> Prepare:
    """Return a recipe's function that spoils what it has written."""

    def prepare(corpus_dir: Path, output_dir: Path) -> None:
        sound(corpus_dir, output_dir)
        change(output_dir)

    return prepare


def shares_dev(out: Path) -> None:
    shutil.rmtree(out / "test")
    shutil.copytree(out / "dev", out / "test")


def one_word(out: Path) -> None:
    Lexicon({"OTHER": [("O",)]}).write(out / "lexicon.txt")


def misspells(out: Path) -> None:
    (out / "word_pairs.txt").write_text("<s>: ASO\nASO: </s>\n")


def writes_into_the_corpus(corpus_dir: Path, output_dir: Path) -> None:
    sound(corpus_dir, output_dir)
    (corpus_dir / "done.txt").write_text("done")


def nothing(corpus_dir: Path, output_dir: Path) -> None:
    return


def fails(corpus_dir: Path, output_dir: Path) -> None:
    raise IndexError("no speaker")


BROKEN: dict[str, tuple[Prepare, str]] = {
    "fails": (fails, "prepare raises IndexError: no speaker; expected train, dev and test below"),
    "nothing": (nothing, "prepare wrote no train; expected it"),
    "no dev": (
        and_then(lambda out: shutil.rmtree(out / "dev")),
        "prepare wrote no dev; expected one",
    ),
    "test is dev": (
        and_then(shares_dev),
        r"5 recording\(s\) are in test and in dev, such as .*wav",
    ),
    "text": (and_then(lambda out: os.remove(out / "train/text")), "train: .*expected"),
    "lexicon": (and_then(lambda out: (out / "lexicon.txt").write_text("ASA\n")), r"lexicon\.txt: .*expected"),
    "another lexicon": (and_then(one_word), r"lexicon\.txt: .* not in"),
    "word pairs": (and_then(misspells), r"word_pairs\.txt: WordPairGrammar: .*\n.*not in the lexicon: ASO"),
    "random": (
        and_then(lambda out: (out / "seed").write_text(str(random.random()))),
        "prepare writes other files the second time: seed; expected the same bytes",
    ),
    "corpus": (writes_into_the_corpus, "prepare changes the corpus; expected it to stay"),
}


@pytest.fixture
def corpus(tones: Path, tmp_path: Path) -> Path:
    """Return a corpus that may be changed."""
    return Path(shutil.copytree(tones, tmp_path / "corpus"))


def test_a_sound_recipe(tones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes, and what a check that was killed has left goes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "asr-check-dead0123" / "1").mkdir(parents=True)
    (tmp_path / "asr-check-dead0123" / ".held").touch()
    check_recipe(Recipe(sound), tones)
    check_recipe("folder", tones)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recipe(name: str, corpus: Path) -> None:
    prepare, message = BROKEN[name]
    with pytest.raises(ConformanceError, match=message):
        check_recipe(Recipe(prepare), corpus)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (sound, "got a function, expected an asr.Recipe"),
        (Recipe(sound, models="gmm"), "models is 'gmm', expected one name or more"),  # type: ignore[arg-type]
        (Recipe(sound, models=("gnn",)), 'models: model "gnn" is not known; expected one of: gmm, '),
        (Recipe(sound, config={"seed": 1}), "config is a dict, expected an asr.ExperimentConfig"),  # type: ignore[arg-type]
    ],
)
def test_a_recipe_with_wrong_fields(recipe: Recipe, message: str, tones: Path) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_recipe(recipe, tones)


def test_a_recipe_without_its_corpus() -> None:
    with pytest.raises(ConformanceError, match="folder: 1 thing is wrong:\n  it needs a corpus, got none"):
        check_recipe("folder")


def test_one_door_for_all_checks() -> None:
    assert {name for name in testing.__all__ if name.startswith("check_")} == {
        "check_emission_model",
        "check_grammar",
        "check_recipe",
    }
