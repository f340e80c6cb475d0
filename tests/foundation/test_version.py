"""Which code runs: its version, and a digest that any change of its sources changes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest

from foundation import version as code
from foundation.version import how_to_install


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the directory of a package of no distribution that can be imported."""
    directory = tmp_path / "some_classifier"
    (directory / "sub").mkdir(parents=True)
    (directory / "__init__.py").write_text("A = 1\n")
    (directory / "sub/part.py").write_text("B = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    code.code_of.cache_clear()
    yield directory
    code.code_of.cache_clear()


def described(module: str) -> str:
    code.code_of.cache_clear()
    return code.code_of(module)


def test_version_is_that_of_the_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    assert code.package_version() == version("asr-sparse-kernel")

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(code, "version", absent)
    assert code.package_version() == "unknown"


def test_own_code_is_name_version_and_a_digest_of_every_package(monkeypatch: pytest.MonkeyPatch) -> None:
    name, number, digest = code.own_code().split()
    assert (name, number) == ("asr-sparse-kernel", code.package_version())
    for left_out in code.PACKAGES:
        fewer = tuple(package for package in code.PACKAGES if package != left_out)
        monkeypatch.setattr(code, "PACKAGES", fewer)
        assert code.own_code.__wrapped__().split()[2] != digest
        monkeypatch.undo()
    assert code.own_code.__wrapped__().split()[2] == digest


def test_packages_are_those_of_the_wheel() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    built = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(built) == sorted(code.PACKAGES)


def test_without_sources_the_version_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    assert code.own_code.__wrapped__() == f"asr-sparse-kernel {code.package_version()}"


def test_code_of_a_distribution() -> None:
    name, number, digest = code.code_of("sklearn.linear_model._logistic").split()
    assert (name, number) == ("scikit-learn", version("scikit-learn"))
    assert code.code_of("sklearn").split()[2] == digest


@pytest.mark.parametrize("change", ["edit", "add", "rename"])
def test_code_of_a_package_without_distribution(package: Path, change: str) -> None:
    before = described("some_classifier.sub.part")
    assert before.startswith("some_classifier ")
    (package / "notes.txt").write_text("no code")
    assert described("some_classifier") == before
    if change == "edit":
        (package / "sub/part.py").write_text("B = 2\n")
    elif change == "add":
        (package / "sub/more.py").touch()
    else:
        (package / "sub/part.py").rename(package / "sub/other.py")
    assert described("some_classifier") != before


def test_code_of_a_single_file(package: Path) -> None:
    file = package.with_name("one_file.py")
    file.write_text("C = 1\n")
    before = described("one_file")
    package.with_name("beside.py").write_text("D = 1\n")
    assert described("one_file") == before
    file.write_text("C = 2\n")
    assert described("one_file") != before


@pytest.mark.parametrize("module", ["builtins", "__main__", "no_such_module"])
def test_code_without_sources_is_its_name(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if module == "__main__":
        monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert described(module) == module


class TestCodeBehind:
    """Which of our modules a module runs, found in its import statements."""

    @pytest.fixture
    def script(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
        """Return a function that makes a module of a text and returns its name."""

        def make(text: str) -> str:
            path = tmp_path / "some_recipe.py"
            path.write_text(text)
            module = ModuleType("some_recipe")
            module.__file__ = str(path)
            monkeypatch.setitem(sys.modules, "some_recipe", module)
            return "some_recipe"

        return make

    @staticmethod
    def changed(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> bool:
        """Return whether a change of one of our modules changes what is behind a module."""
        before, digest = code.code_behind(name), code._source_digest
        with monkeypatch.context() as patch:
            patch.setattr(code, "_source_digest", lambda m: "changed" if m == module else digest(m))
            return code.code_behind(name) != before

    def test_it_follows_imports_at_any_depth(self) -> None:
        behind = code.modules_behind("asr.training.gmm")
        assert {"asr.training.gmm", "acoustic.hmm.training", "foundation.blocks", "features.mfcc"} <= behind
        assert code.code_behind("asr.training.gmm").startswith("asr.training.gmm ")
        assert code.modules_behind("foundation.errors") == {"foundation.errors"}

    def test_types_alone_do_not_count(self) -> None:
        assert "asr.recipe" not in code.modules_behind("asr.training.task")  # it is imported for types

    @pytest.mark.parametrize(
        "text",
        [
            "import asr\nasr.read_corpus('x')\n",
            "from asr import read_corpus\n",
            "def prepare(corpus, out):\n    from asr.corpora.corpus import read_corpus\n",
            "try:\n    from asr.corpora import corpus\nexcept ImportError:\n    corpus = None\n",
        ],
    )
    def test_a_script_counts_with_what_it_uses_of_ours(
        self, script: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        name = script(text)
        assert self.changed(name, "asr.corpora.corpus", monkeypatch)
        assert not self.changed(name, "asr.serving.serve", monkeypatch)

    def test_a_script_counts_itself(self, script: Callable[[str], str]) -> None:
        first = code.code_behind(script("A = 1\n"))
        assert code.code_behind(script("A = 2\n")) != first
        assert code.code_behind(script("A = 1\n")) == first

    def test_where_no_source_is_known_all_counts(self) -> None:
        assert code.code_behind("nowhere") == f"nowhere {code.own_code()}"


class _Installed:
    def __init__(self, record: str | None) -> None:
        self.record = record

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.record


def test_how_to_install_says_where_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is on no index, so that its name alone finds nothing."""
    wheel = tmp_path / "a b" / "asr.whl"
    wheel.parent.mkdir()
    wheel.touch()
    folder, file = wheel.parent.as_uri(), wheel.as_uri()
    git = '{"url": "https://x.org/asr.git", "vcs_info": {"vcs": "git", "commit_id": "1"}}'
    unknown = 'pip install ".[report]" in the directory of its source'
    for record, expected in {
        f'{{"url": "{folder}", "dir_info": {{}}}}': f'pip install "{wheel.parent}[report]"',
        f'{{"url": "{file}", "archive_info": {{}}}}': f'pip install "{wheel}[report]"',
        git: 'pip install "asr-sparse-kernel[report] @ git+https://x.org/asr.git"',
        f'{{"url": "{folder}/gone", "dir_info": {{}}}}': unknown,
        None: unknown,
        "[": unknown,
    }.items():
        monkeypatch.setattr("foundation.version.distribution", lambda name, record=record: _Installed(record))
        assert how_to_install("report") == expected
    monkeypatch.chdir(wheel.parent)
    here = _Installed(f'{{"url": "{folder}", "dir_info": {{}}}}')
    monkeypatch.setattr("foundation.version.distribution", lambda name: here)
    assert how_to_install("report") == 'pip install ".[report]"'
    assert how_to_install() == 'pip install "."'


CHANGED_WHILE_IT_RUNS = """
import importlib, os, sys
from pathlib import Path

from foundation.errors import AsrError
from foundation.version import code_behind, one_version

root, what = Path(sys.argv[1]), sys.argv[2]
with one_version():
    import asr.scoring.edit_distance
    source = root / "asr/scoring/scoring.py"
    if what == "changed":
        source.write_text(source.read_text() + "\\n")
    elif what == "replaced":  # with the same size and time, as an unpacked wheel
        before = source.stat()
        Path(f"{source}.new").write_bytes(source.read_bytes().replace(b"return", b"yield ", 1))
        os.replace(f"{source}.new", source)
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif what == "the same again":  # installed or checked out once more
        Path(f"{source}.new").write_bytes(source.read_bytes())
        os.replace(f"{source}.new", source)
    elif what == "gone":
        source.unlink()
    elif what == "added":
        (root / "asr/scoring/scoring").mkdir()
        (root / "asr/scoring/scoring/__init__.py").touch()
    import asr.formats.nist  # others are as they were
    name = "asr.scoring.scoring"
    for action in (importlib.import_module, code_behind):
        try:
            action(name)
            print("taken")
        except AsrError as error:
            print(error)
"""


@pytest.mark.parametrize("what", ["nothing", "changed", "replaced", "the same again", "gone", "added"])
def test_a_run_takes_no_parts_of_two_versions(tmp_path: Path, what: str) -> None:
    root = Path(code.__file__).resolve().parents[1]
    for package in code.PACKAGES:
        shutil.copytree(root / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", CHANGED_WHILE_IT_RUNS, tmp_path, what],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    name = "scoring/scoring/__init__.py" if what == "added" else "asr/scoring/scoring.py"
    said = (
        f"{name}: changed while the program ran, expected one version from the beginning to the end; run the "
        "same command again, training goes on where it was"
    )
    expected = {
        "nothing": ["taken"] * 2,
        "the same again": ["taken"] * 2,
        "added": [said, "taken"],
        "gone": [said],
    }
    found = done.stdout.splitlines()
    assert found[: len(expected.get(what, "  "))] == expected.get(what, [said, said])
