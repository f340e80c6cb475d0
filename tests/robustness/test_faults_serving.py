"""A handful of the faults of ``tests/robustness/faults_serving.py``, and that it tells what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

from fault_injection import Fault
from faults_serving import DEEDS, NAMES, Trial, check_left, meet, trial_of

SCRIPT = Path(__file__).resolve().parents[2] / "tests/robustness/faults_serving.py"
TAKE = next(deed for deed in DEEDS if deed.name == "take")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return trial_of(TAKE, tmp_path_factory.mktemp("trial"))


def test_the_sound_of_a_take_comes_before_the_text_that_makes_it(trial: Trial) -> None:
    renamed = [label.removeprefix("os.rename ") for label in trial.labels if label.startswith("os.rename")]
    assert renamed == [".light_on-003.wav.partial", ".light_on-003.asr-take"]
    assert len(trial.states[1][1]) == len(trial.states[0][1]) + 1


def test_a_server_killed_between_sound_and_text_loses_nothing(trial: Trial) -> None:
    at = trial.labels.index("os.rename .light_on-003.asr-take")
    wrong, reached = meet(trial, Fault("kill", at, "take", "SIGKILL"), is_killed_again=True)
    assert (wrong, reached) == ({}, True)


@pytest.mark.parametrize(
    ("spoil", "wrong"),
    [
        (lambda folder: (folder / "off-001.wav").unlink(), "whole"),
        (lambda folder: (folder / "light_on-001.txt").rename(folder / "x.txt"), "whole"),
        (lambda folder: (folder / "off-001.txt").write_text("on\n"), "before_or_after"),
        (lambda folder: (folder / ".mine.partial").write_text("x"), "nothing_left"),
        (lambda folder: (folder / "notes.md").write_text("x"), "same_files"),
    ],
)
def test_what_a_server_must_not_leave_is_told(
    trial: Trial, tmp_path: Path, spoil: Callable[[Path], object], wrong: str
) -> None:
    home, found = trial.home.copied(tmp_path / "spoilt"), dict[str, str]()
    spoil(home.folder)
    check_left(trial, home, 0, found)
    assert wrong in found


@pytest.mark.slow
def test_servers_leave_the_same_after_each_fault(tmp_path: Path) -> None:
    command = [sys.executable, SCRIPT, "--every", "5", "--rounds", "20", "--out", tmp_path / "x.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["wrong"] == []
    for kind in ("kills", "failures"):
        counted = {found[kind][name] for name in NAMES if name != "reached"}
        assert counted == {sum(found[kind]["deeds"].values())}
        assert len(found[kind]["deeds"]) == len(DEEDS)
