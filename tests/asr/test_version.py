"""The version is that of the installed package."""

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from asr import version
from asr.version import DISTRIBUTION, package_version

ROOT = Path(__file__).resolve().parents[2]


def test_name_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION


def test_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "version", {DISTRIBUTION: "1.2.3"}.__getitem__)
    assert package_version() == "1.2.3"


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(version, "version", missing)
    assert package_version() == "unknown"
