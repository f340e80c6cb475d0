"""Which code runs: its version, and a digest that any change of its sources changes."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from foundation import version as code


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
