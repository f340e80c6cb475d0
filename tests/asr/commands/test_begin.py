"""What ``asr demo`` hands over and prints."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr import verbs
from asr.cli import main
from asr.commands.terminal import after_demo, results_table, word_times
from asr.scoring.results import read_results
from decoder.decoder import Hypothesis

Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]
Heard = Callable[[str], Hypothesis]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        ("demo", "verbs.demo", (Path("exp/demo"),), {}),
        ("demo --out x", "verbs.demo", (Path("x"),), {}),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, f"begin.{function}") == (arguments, options)


def test_the_table_and_the_new_recording(
    trained: Path,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows, hypothesis = read_results(trained), heard("speaker 0/0")
    monkeypatch.setattr(verbs, "demo", lambda out: (rows, hypothesis, "ASA IMI"))
    monkeypatch.setattr(verbs, "new_recording", lambda out: out / "new.wav")
    assert main(["demo", "--out", str(trained)]) == 0
    table, _, rest = capsys.readouterr().out.partition("\na new synthetic recording, spoken: ASA IMI\n")
    assert table == results_table(rows, trained) + "\n"
    assert rest == f"{word_times(hypothesis)}\n\n{after_demo(trained, trained / 'new.wav')}\n"
