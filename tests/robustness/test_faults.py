"""A handful of the faults of ``tests/robustness/faults.py``, and what it counts."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fault_injection import Fault, half_written, stage_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SCRIPT = Path(__file__).resolve().parents[2] / "tests/robustness/faults.py"


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("stages/.fit-8-dev-0123456789ab.partial/a", "fit-8-dev"),
        ("stages/.fit-8-0123456789ab.blocks", "fit-8"),
        ("stages/fit-8-0123456789ab", "fit-8"),
        ("models/.gmm.partial/a", "models"),
        (".results.json.partial", "results"),
    ],
)
def test_where_a_call_belongs(name: str, stage: str) -> None:
    assert stage_of(Path("exp") / name, Path("exp")) == stage


def test_what_is_half_written(tmp_path: Path) -> None:
    (tmp_path / "stages/s-0123456789ab").mkdir(parents=True)
    (tmp_path / "stages/s-0123456789ab/a").write_text("whole")
    whole = {"stages/s-0123456789ab/a": "digest"}
    assert half_written(tmp_path / "none", whole) == []
    assert half_written(tmp_path, whole) == ["stages/s-0123456789ab/a"]
    assert half_written(tmp_path, {"stages/s-0123456789ab/b": "x"}) == [
        "stages/s-0123456789ab/a",
        "stages/s-0123456789ab/b",
    ]
    (tmp_path / "used.json").write_text("{")
    assert "used.json" in half_written(tmp_path, whole)


def test_a_fault_says_what_it_is() -> None:
    assert hasattr(errno, "ENOSPC")
    assert str(Fault("refuse", 7, "task", "ENOSPC")) == "refuse ENOSPC at 7 (task) after 0.000 s"


@pytest.mark.slow
def test_trainings_end_the_same_after_each_fault(tmp_path: Path) -> None:
    numbers = {"kills": 6, "failures": 10, "changes": 3}
    options = [word for kind, n in numbers.items() for word in (f"--{kind}", str(n))]
    command = [
        sys.executable,
        SCRIPT,
        *options,
        "--models",
        "gmm",
        "--seed",
        "9",
        "--out",
        tmp_path / "x.json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["wrong"] == []
    for kind, n in numbers.items():
        counted = {found[kind][name] for name in ("faults", "same_bytes", "finished_kept", "nothing_half")}
        assert counted | {found[kind]["clean_endings"]} == {n}
