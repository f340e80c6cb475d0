"""What ``asr demo`` hands over and prints."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asr.cli import main
from asr.commands import doctor
from asr.commands.begin import after_demo, word_times
from asr.commands.completion import SCRIPTS, SHELLS
from asr.commands.doctor import Finding
from asr.commands.models import results_table
from asr.scoring.results import read_results
from decoder.decoder import Hypothesis

Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]
Heard = Callable[[str], Hypothesis]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        ("demo", "demo", (Path("exp/demo"),), {}),
        ("demo --out x", "demo", (Path("x"),), {}),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, function) == (arguments, options)


def test_the_table_and_the_new_recording(
    trained: Path,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, hypothesis = read_results(trained), heard("speaker 0/0")
    monkeypatch.setattr("asr.commands.begin.demo", lambda out: (rows, hypothesis, "ASA IMI"))
    monkeypatch.setattr("asr.commands.begin.new_recording", lambda out: out / "new.wav")
    assert main(["demo", "--out", str(trained)]) == 0
    table, _, rest = capsys.readouterr().out.partition("\na new synthetic recording, spoken: ASA IMI\n")
    assert table == results_table(rows, trained) + "\n"
    assert rest == f"{word_times(hypothesis)}\n\n{after_demo(trained, trained / 'new.wav')}\n"


Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("doctor", {"brief": False}),
        ("demo", {"out": Path("exp/demo")}),
        ("completion zsh", {"shell": "zsh"}),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("completion", "{bash,zsh,fish}"),
        ("demo", "experiment directory (exp/demo)"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("completion", "arguments are required: shell"),
        ("completion tcsh", "argument shell: invalid choice: 'tcsh'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)


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
