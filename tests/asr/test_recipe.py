"""Recipes by name and by path; a mistake in a script of the user's is one line."""

from pathlib import Path

import pytest

from asr import Recipe, read_corpus, train
from asr.errors import ExperimentError
from asr.recipe import load_recipe

GOOD = '''"""A recipe with what scripts of users have: a dataclass, a future import, two functions."""
from __future__ import annotations
from dataclasses import dataclass
import asr
from decoder.lexicon import Lexicon

@dataclass(frozen=True)
class Rule:
    prefix: str

RULE = Rule("speaker")

def prepare(corpus_dir, output_dir):
    corpus = asr.read_corpus(corpus_dir)
    test = corpus.of_speakers([s for s in corpus.speakers if s == RULE.prefix + "_0"])
    train = corpus.of_speakers(set(corpus.speakers) - set(test.speakers))
    asr.write_corpus(train, output_dir / "train")
    asr.write_corpus(test, output_dir / "test")
    Lexicon.graphemic(corpus.vocabulary).write(output_dir / "lexicon.txt")

RECIPE = asr.Recipe(prepare, models=("gmm1",))
'''


def script(tmp_path: Path, text: str, name: str = "mine.py") -> str:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path / name)


class TestLoad:
    def test_built_in(self) -> None:
        loaded = load_recipe("folder")
        assert loaded.name == "folder"
        assert isinstance(loaded.recipe, Recipe)
        assert "def prepare" in loaded.source

    def test_script(self, tmp_path: Path) -> None:
        loaded = load_recipe(script(tmp_path, GOOD))
        assert (loaded.name, loaded.source, loaded.recipe.models) == ("mine", GOOD, ("gmm1",))

    def test_a_script_called_as_a_module_does_not_hide_it(self, tmp_path: Path) -> None:
        load_recipe(script(tmp_path, GOOD, "json.py"))
        import json

        assert json.loads("1") == 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("x = 1", "no recipe in it; expected RECIPE = asr.Recipe"),
            ("RECIPE = 3", "no recipe in it"),
            ("def (", r"fails on import \(SyntaxError: "),
            ("import nonsuch", r"fails on import \(ModuleNotFoundError: No module named 'nonsuch'\)"),
            ("raise SystemExit(0)", r"fails on import \(SystemExit: 0\)"),
        ],
    )
    def test_bad_scripts(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ExperimentError, match=message):
            load_recipe(script(tmp_path, text))

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("an5", r'"an5" is not built in \(did you mean "an4"\?\); expected one of an4, '),
            ("nowhere.py", r"nowhere\.py: no such file; expected a recipe script"),
            ("", r'"" is not built in; expected'),
        ],
    )
    def test_nowhere(self, name: str, message: str) -> None:
        with pytest.raises(ExperimentError, match=message):
            load_recipe(name)


class TestTrain:
    def test_script_without_dev(self, tones: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
        recipe = script(tmp_path, GOOD)
        rows = train(recipe, corpus=tones, out=tmp_path / "exp", models="gmm1", settings=settings)
        assert [(row.split, row.grammar, row.utterances) for row in rows] == [("test", "loop", 5)]

    def test_a_changed_script_is_run_again(
        self, tones: Path, tmp_path: Path, settings: tuple[str, ...]
    ) -> None:
        for name in ("_0", "_1"):
            recipe = script(tmp_path, GOOD.replace("_0", name))
            train(recipe, corpus=tones, out=tmp_path / "exp", settings=settings)
        tasks = (tmp_path / "exp/stages").glob("task-*")
        tested = [set(read_corpus(task / "test").speakers) for task in tasks]
        assert sorted(tested, key=min) == [{"speaker_0"}, {"speaker_1"}]

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (
                "    {}['x']\n",
                r"recipe mine: prepare fails \(KeyError: 'x'\); correct the script; .*log\.txt",
            ),
            ("    pass\n", r"recipe mine: prepare wrote no train; expected it, and"),
        ],
    )
    def test_prepare_fails(self, tones: Path, tmp_path: Path, body: str, message: str) -> None:
        text = f"import asr\ndef prepare(corpus_dir, output_dir):\n{body}RECIPE = asr.Recipe(prepare)\n"
        with pytest.raises(ExperimentError, match=message):
            train(script(tmp_path, text), corpus=tones, out=tmp_path / "exp")
        if "KeyError" in message:
            assert "line 3, in prepare" in (tmp_path / "exp/log.txt").read_text()
