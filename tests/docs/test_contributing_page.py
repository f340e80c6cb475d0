"""CONTRIBUTING.md points to files and folders that exist, and the release has one version everywhere."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
TOP = ("asr", "acoustic", "decoder", "features", "foundation", "recipes", "tests", "benchmarks", "docs")


def test_paths_are_there() -> None:
    paths = re.findall(r"`((?:\.ci|\.github|" + "|".join(TOP) + r")/[\w./]*)`", TEXT)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_folder_of_the_top_is_said() -> None:
    assert [folder for folder in TOP if f"| `{folder}/` |" not in TEXT] == []


def test_links(dead_links: Callable[[Path], list[str]]) -> None:
    assert dead_links(PAGE) == []


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation
    assert project["version"] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_ci_runs_is_there() -> None:
    for script in ("run", "lint", "supply", "lowest"):
        text = (ROOT / ".ci" / script).read_text(encoding="utf-8")
        named = re.findall(r"(?<![\w/$.])((?:tests|benchmarks|\.ci)/[\w./]+)", text)
        assert [path for path in named if not (ROOT / path).exists()] == [], script
