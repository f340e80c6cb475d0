"""Recipes of the package are found by what their scripts say, not by importing them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import recipes
from asr import recipe_scripts
from asr.recipe_scripts import built_in_recipes, built_in_script

FOLDER = Path(recipes.__file__).parent
NAMES = ("an4", "demo", "folder", "fsdd", "iban", "librispeech", "rm1")


def test_the_scripts_that_define_a_recipe() -> None:
    assert built_in_recipes() == NAMES  # and not what they share


def test_the_script_of_a_name() -> None:
    assert built_in_script("an4") == FOLDER / "an4.py"


def test_nothing_of_them_is_imported() -> None:
    code = (
        "import sys; from asr.recipe_scripts import built_in_recipes\n"
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
    monkeypatch.setattr(recipe_scripts, "BUILT_IN_PACKAGE", "some_recipes")
    yield folder
    sys.modules.pop("some_recipes", None)


def test_a_script_is_a_recipe_by_a_line_that_defines_one(package: Path) -> None:
    (package / "zulu.py").write_text("raise SystemExit\nRECIPE = 3\n")
    (package / "aari.py").write_text("RECIPE: object = 3\n")
    (package / "tools.py").write_text("def f():\n    RECIPE = 3\n")
    (package / "own").mkdir()
    (package / "own" / "__init__.py").write_text("RECIPE = 3\n")
    assert built_in_recipes() == ("aari", "zulu")
