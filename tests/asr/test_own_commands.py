"""The verbs about the program: exit codes and what they print."""

import json
from collections.abc import Iterator

import pytest

from asr import doctor
from asr.cli import main
from asr.completion import SCRIPTS, SHELLS
from asr.doctor import Finding


@pytest.mark.parametrize(("severity", "code"), [("ok", 0), ("warning", 0), ("error", 2)])
def test_doctor(
    severity: doctor.Severity, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check() -> Iterator[Finding]:
        yield Finding(severity, "x", "do y")

    monkeypatch.setattr(doctor, "CHECKS", (check,))
    assert main(["doctor", "--brief"]) == code
    counts = f"{int(severity == 'error')} error(s), {int(severity == 'warning')} warning(s)"
    assert capsys.readouterr().out == f"{severity}: x; do y\n{counts}\n"
    assert main(["doctor", "--brief", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["findings"][0]["severity"] == severity


def test_completion_knows_every_shell_of_the_parser(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(SCRIPTS) == set(SHELLS)
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        assert f"made by: asr completion {shell}\n" in capsys.readouterr().out
