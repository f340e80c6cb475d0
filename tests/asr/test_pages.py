"""What the pages tell a reader to type runs, word for word, on recordings of a device's four commands.

``<!-- run -->`` stands before a block of shell or Python that is run, ``<!-- file: PATH -->`` before one that
is the content of a file. A page starts in a directory with ``my_recordings``, ``new_recordings`` and, unless
it trains ``exp/mine`` itself, the finished experiment of that name. Entry points that its ``pyproject.toml``
declares are there, as if the package were installed.
"""

from __future__ import annotations

import contextlib
import glob
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from acoustic.emissions.kinds import find_kind
from asr import train
from asr.cli import main
from foundation.version import code_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKED = re.compile(
    r"^<!-- (run|file: (\S+)) -->\n+```(\w*)[^\n]*\n(.*?)^```", flags=re.DOTALL | re.MULTILINE
)
PAGES = sorted(
    p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md") if MARKED.search(p.read_text("utf-8"))
)
PLUGINS = "plugins.md"
SAID = {"ASA": "on", "IMI": "light", "SUS": "off", "MAUI": "door"}


@pytest.fixture(scope="session")
def commands(tones: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of recordings by eight people, of whom the first is Anna; not to be changed."""
    folder = tmp_path_factory.mktemp("commands") / "my_recordings"
    shutil.copytree(tones, folder)
    names = ("anna", "ben", "cleo", "dan", "eve", "fay", "gus", "hal")
    for old, new in zip(sorted(folder.iterdir()), names, strict=True):
        old = old.rename(folder / new)
        for path in sorted(old.iterdir()):
            if path.suffix == ".txt":
                path.write_text(" ".join(SAID[w] for w in path.read_text().split()).capitalize() + ".\n")
            path.rename(old / f"u{int(path.stem) + 1:02d}{path.suffix}")
    return folder


@pytest.fixture(scope="session")
def experiment(commands: Path, settings: tuple[str, ...]) -> Path:
    """Return a small finished experiment on them; not to be changed."""
    out = commands.parent / "exp" / "mine"
    train("folder", corpus=commands, out=out, models=["gmm2"], settings=settings)
    return out


def shell_lines(block: str) -> list[str]:
    """Return the commands of a block, continued lines joined, without comments."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def run_asr(line: str) -> None:
    """Run ``asr …`` in this process; patterns are expanded, and ``> FILE`` takes what it prints."""
    words = [p for w in shlex.split(line, comments=True)[1:] for p in (sorted(glob.glob(w)) or [w])]
    target = None
    if ">" in words:
        words, target = words[: words.index(">")], words[words.index(">") + 1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed) if target else contextlib.nullcontext():
        code = main(words)
    if target:
        Path(target).write_text(printed.getvalue(), encoding="utf-8")
    assert code == 0, line


def run_block(language: str, block: str, page: str) -> None:
    """Run a block of shell or Python as a reader would."""
    if language == "python":
        exec(compile(block, page, "exec"), {"__name__": "__main__"})
        return
    for line in shell_lines(block):
        if line.startswith("asr "):
            run_asr(line)
        else:
            subprocess.run(["bash", "-euc", line], check=True)


def install(pyproject: str, folder: Path) -> None:
    """Declare the entry points of a package in a folder, as pip does."""
    project = tomllib.loads(pyproject)["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))


def test_pages_with_commands_are_found() -> None:
    assert {"tutorial.md", "plugins.md", "howto/phonetics.md", "howto/recipe.md"} <= set(PAGES)


Follow = Callable[[str], None]


@pytest.fixture
def follow(
    commands: Path,
    experiment: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Follow:
    """Return a function that does what a page says, in a directory of its own."""

    def done(page: str) -> None:
        text = (DOCS / page).read_text(encoding="utf-8")
        shutil.copytree(commands, tmp_path / "my_recordings")
        shutil.copytree(commands, tmp_path / "new_recordings")
        if not any("--out exp/mine" in block for _, _, _, block in MARKED.findall(text)):
            shutil.copytree(experiment, tmp_path / "exp" / "mine")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        before = set(sys.modules)
        try:
            for marker, path, language, block in MARKED.findall(text):
                if marker == "run":
                    run_block(language, block, page)
                    continue
                target = tmp_path / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block, encoding="utf-8")
                if path == "pyproject.toml":
                    install(block, tmp_path)
        finally:
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
                    del sys.modules[name]
            find_kind.cache_clear()
            code_of.cache_clear()

    return done


@pytest.mark.parametrize("page", [page for page in PAGES if page != PLUGINS])
def test_what_a_page_says_runs(page: str, follow: Follow, capsys: pytest.CaptureFixture[str]) -> None:
    follow(page)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out or captured.err


@pytest.mark.slow
def test_plugins_train_decode_and_evaluate_with_default_options(
    follow: Follow, capsys: pytest.CaptureFixture[str]
) -> None:
    follow(PLUGINS)
    printed = capsys.readouterr().out
    assert "\non light\n" in printed  # anna's first recording, decoded
    assert printed.count("96 words, 0 substituted, 0 deleted, 0 inserted") == 2  # evaluated, of each preset
    results = {
        name: json.loads(Path("exp", name, "results.json").read_text(encoding="utf-8"))["results"]
        for name in ("laplace", "laplace_thesis", "switches")
    }
    said = {
        name: {(row["model"], row["preset"], row["grammar"]) for row in rows}
        for name, rows in results.items()
    }
    assert said["laplace"] == {("laplace", "best", "loop"), ("laplace", "best", "bigram")}
    assert said["laplace_thesis"] == {("laplace", "thesis", g) for g in ("word-pair", "loop", "bigram")}
    assert said["switches"] == {("gmm1", "best", "loop")}
    assert {row["word_accuracy"] for name in ("laplace", "laplace_thesis") for row in results[name]} == {100}


@pytest.mark.slow
def test_the_notebook_runs(commands: Path, experiment: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="nbclient is in the extra docs")
    nbformat = pytest.importorskip("nbformat")
    shutil.copytree(commands, tmp_path / "my_recordings")
    shutil.copytree(experiment, tmp_path / "exp" / "mine")
    notebook = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = "".join(output.get("text", "") for output in outputs)
    assert re.search(r"NPDClassifier: 9\d\.\d % right with 30 ", printed)
    assert "words [(" in printed
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) == 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
