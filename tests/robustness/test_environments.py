"""What the harness of environments tells apart, and a few of its runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from environments import COMMANDS, ENVIRONMENTS, Ending, Environment, wrong

SCRIPT = Path(__file__).with_name("environments.py")
USUAL = Ending(0, b"YES\nin 3.2 s\n", "", {"a": "1"})


def test_every_environment_runs_commands_that_there_are() -> None:
    for environment in ENVIRONMENTS.values():
        assert set(environment.commands or COMMANDS) <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (USUAL, "same"),
        (Ending(0, b"YES\nin 9.9 s\n", "", {"a": "1"}), "same"),
        (Ending(0, b"NO\nin 3.2 s\n", "", {"a": "1"}), "wrong"),
        (Ending(0, b"YES\nin 3.2 s\n", "", {"a": "2"}), "wrong"),
        (Ending(0, b"YES\nin 3.2 s\n", "Traceback (most recent call last)", {"a": "1"}), "wrong"),
        (Ending(2, b"", "asr: full; make room\n", {}), "refused"),
        (Ending(2, b"", "asr: full\nasr: full\n", {}), "wrong"),
        (Ending(1, b"", "asr: full; make room\n", {}), "wrong"),
        (Ending(-6, b"", "", {}), "wrong"),
    ],
)
def test_what_is_wrong(found: Ending, expected: str) -> None:
    assert wrong(USUAL, found, Environment("", refuses=True), "decode")[0] == expected


def test_a_refusal_is_wrong_where_nothing_is_missing() -> None:
    refused = Ending(2, b"", "asr: full; make room\n", {})
    assert wrong(USUAL, refused, Environment(""), "decode")[0] == "wrong"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
def test_some_of_its_runs(tmp_path: Path) -> None:
    out = tmp_path / "environments.json"
    only = ["--only", "all closed", "output full", "hash seed", "--commands", "decode", "info"]
    subprocess.run([sys.executable, SCRIPT, *only, "--out", out], check=True, timeout=900)
    report = json.loads(out.read_text())
    assert report["wrong"] == []
    assert {name: row["runs"] for name, row in report["environments"].items()} == {
        "all closed": 2,
        "output full": 2,
        "hash seed": 1,
    }
