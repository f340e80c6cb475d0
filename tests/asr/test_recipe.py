"""Recipes by name and by path; a mistake in a script of the user's is one line."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import recipes
from asr import Recipe, read_corpus, train
from asr.errors import ExperimentError
from asr.recipe import built_in_recipes, built_in_script, installed_recipes, load_recipe
from foundation.version import code_of

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
        assert loaded.script == tmp_path / "mine.py"
        assert load_recipe("folder").script is None

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
            (
                "an5",
                r'no folder or recipe "an5" \(did you mean "an4"\?\); expected a folder .*, one of an4, ',
            ),
            ("nowhere.py", r"nowhere\.py: no such file; expected a recipe script"),
            ("", r'no folder or recipe ""; expected'),
        ],
    )
    def test_nowhere(self, name: str, message: str) -> None:
        with pytest.raises(ExperimentError, match=message):
            load_recipe(name)


class TestInstalled:
    """Recipes of other packages, under the entry point group ``asr.recipes``."""

    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        """Install a package with recipes, and return the folder of its code."""
        (tmp_path / "some_corpus.py").write_text(GOOD)
        (tmp_path / "some_ruin.py").write_text("import nonsuch")
        info = tmp_path / "some_corpus-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-corpus\nVersion: 1.2\n")
        (info / "top_level.txt").write_text("some_corpus\nsome_ruin\n")
        (info / "entry_points.txt").write_text(
            "[asr.recipes]\nsomewhere = some_corpus:RECIPE\nrule = some_corpus:RULE\n"
            "ruin = some_ruin:RECIPE\nfolder = some_corpus:RECIPE\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        yield tmp_path
        for name in ("some_corpus", "some_ruin"):
            sys.modules.pop(name, None)

    def test_by_name_and_imported_when_it_is_asked_for(self, package: Path) -> None:
        assert list(installed_recipes()) == ["ruin", "rule", "somewhere"]
        load_recipe("folder")
        assert "some_corpus" not in sys.modules
        loaded = load_recipe("somewhere")
        assert (loaded.name, loaded.recipe.models) == ("somewhere", ("gmm1",))

    def test_its_code_is_what_outputs_are_made_from(self, package: Path) -> None:
        before = load_recipe("somewhere").source
        assert before.startswith("some-corpus 1.2 ")
        (package / "some_corpus.py").write_text(GOOD + "# changed\n")
        code_of.cache_clear()
        assert load_recipe("somewhere").source != before

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("rule", r"recipe rule: some_corpus:RULE \(asr.recipes\) is a Rule, expected an asr.Recipe; ask"),
            ("ruin", r"some_ruin:RECIPE fails on import \(ModuleNotFoundError: .*install its package again"),
            (
                "somewere",
                r'no folder or recipe "somewere" \(did you mean "somewhere"\?\); expected .*, one of an4, ',
            ),
        ],
    )
    def test_mistakes(self, package: Path, name: str, message: str) -> None:
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


FOLDER = Path(recipes.__file__).parent
NAMES = ("an4", "demo", "folder", "fsdd", "iban", "librispeech", "rm1")


def test_the_scripts_that_define_a_recipe() -> None:
    assert built_in_recipes() == NAMES  # and not what they share


def test_the_script_of_a_name() -> None:
    assert built_in_script("an4") == FOLDER / "an4.py"


def test_nothing_of_them_is_imported() -> None:
    code = (
        "import sys; from asr.recipe import built_in_recipes\n"
        "print(*built_in_recipes(), *(m for m in sys.modules if m.startswith('recipes.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(NAMES)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of a package that is searched for recipes instead of ours."""
    folder = tmp_path / "some_recipes"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("asr.recipe.BUILT_IN_PACKAGE", "some_recipes")
    yield folder
    sys.modules.pop("some_recipes", None)


def test_a_script_is_a_recipe_by_a_line_that_defines_one(package: Path) -> None:
    (package / "zulu.py").write_text("raise SystemExit\nRECIPE = 3\n")
    (package / "aari.py").write_text("RECIPE: object = 3\n")
    (package / "tools.py").write_text("def f():\n    RECIPE = 3\n")
    (package / "own").mkdir()
    (package / "own" / "__init__.py").write_text("RECIPE = 3\n")
    assert built_in_recipes() == ("aari", "zulu")
