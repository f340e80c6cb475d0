"""What the verbs that hear speech while it is spoken hand over and print."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import main
from asr.commands.live import heard_json, heard_text
from asr.serving.limits import Limits
from decoder.decoder import HypothesisWord
from decoder.stream import PartialWord

Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


def test_options_of_serve_reach_the_function(handed: Handed) -> None:
    line = "serve e --model m --grammar g --keywords --host h --port 7 --folder f --streams 3"
    arguments, options = handed(line, "serve")
    assert callable(options.pop("when_ready"))
    assert arguments == (Path("e"),)
    assert options == {
        "model": "m",
        "grammar": "g",
        "reject": None,
        "keywords": True,
        "host": "h",
        "port": 7,
        "folder": Path("f"),
        "limits": Limits(streams=3),
    }


def test_options_of_listen_reach_the_function(handed: Handed) -> None:
    line = "listen e --reject --input - --rate 8000 --device 2"
    assert handed(line, "listen") == (
        (Path("e"),),
        {
            "source": "-",
            "sample_rate": 8000,
            "device": "2",
            "model": None,
            "grammar": None,
            "reject": True,
            "keywords": False,
        },
    )


@pytest.mark.parametrize("has_model", [False, True])
def test_serve_says_its_address_in_a_line_when_it_is_ready(
    has_model: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def serve(*given: object, when_ready: Callable[[str, bool], None], **named: object) -> None:
        when_ready("http://127.0.0.1:7/", has_model)

    monkeypatch.setattr("asr.serving.serve.serve", serve)
    assert main(["serve", "e"]) == 0
    out, errors = capsys.readouterr()
    assert out == "http://127.0.0.1:7/\n"
    hint = [] if has_model else ["there is no model yet: record commands on the page, and train there"]
    assert errors.splitlines() == [*hint, "stop with Ctrl-C", "stopped"]
    assert main(["serve", "e", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"address": "http://127.0.0.1:7/", "ready": has_model}


Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "serve",
            {
                "model": None,
                "grammar": None,
                "reject": None,
                "keywords": False,
                "host": "127.0.0.1",
                "port": 8000,
                "folder": Path("my_commands"),
                "streams": 8,
                "experiment": None,
            },
        ),
        (
            "listen e",
            {
                "model": None,
                "grammar": None,
                "reject": None,
                "keywords": False,
                "input": "microphone",
                "rate": None,
                "device": None,
                "experiment": Path("e"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("serve", "--port PORT port to listen at, 0 for any (8000)"),
        ("listen", "the microphone by default"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("listen", "arguments are required: EXP"),
        ("serve --port http", "argument --port: invalid int value: 'http'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)


OPEN = (PartialWord("light", 0.1, 0.5), PartialWord("on", 0.5, 0.7, True))
DONE = (HypothesisWord("light", 0.12345, 0.5, -1.0, 0.98765),)


def test_json_is_one_line() -> None:
    line = heard_json("final", DONE, 1.23456)
    assert (line.count("\n"), line[-1]) == (1, "\n")
    word = {"word": "light", "start_s": 0.123, "end_s": 0.5, "confidence": 0.9877}
    assert json.loads(line) == {"type": "final", "text": "light", "words": [word], "heard_s": 1.235}
    assert json.loads(heard_json("partial", OPEN, 1.0))["words"][1]["confidence"] is None


def test_a_file_gets_finished_sentences_alone() -> None:
    assert heard_text("partial", OPEN, None) == ""
    assert heard_text("final", DONE, None) == "light\n"


def test_a_terminal_shows_the_sentence_under_way_on_one_line() -> None:
    assert heard_text("partial", OPEN, 80) == "\r\x1b[Klight on"
    assert heard_text("final", DONE, 80) == "\r\x1b[Klight\n"
    shown = heard_text("partial", OPEN, 7).removeprefix("\r\x1b[K")
    assert shown == "…t on"
    assert len(shown) < 7
