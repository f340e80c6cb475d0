"""What the verbs that hear speech while it is spoken hand over and print."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import main
from asr.serving.limits import Limits

Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


def test_options_of_serve_reach_the_function(handed: Handed) -> None:
    line = "serve e --model m --grammar g --keywords --host h --port 7 --folder f --streams 3"
    arguments, options = handed(line, "live.serve")
    assert callable(options.pop("when_ready"))
    assert arguments == (Path("e"),)
    assert options == {
        "model": "m",
        "grammar": "g",
        "reject": False,
        "keywords": True,
        "host": "h",
        "port": 7,
        "folder": Path("f"),
        "limits": Limits(streams=3),
    }


def test_options_of_listen_reach_the_function(handed: Handed) -> None:
    line = "listen e --reject --input - --rate 8000 --device 2"
    assert handed(line, "live.listen") == (
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

    monkeypatch.setattr("asr.commands.live.serve", serve)
    assert main(["serve", "e"]) == 0
    out, errors = capsys.readouterr()
    assert out == "http://127.0.0.1:7/\n"
    hint = [] if has_model else ["there is no model yet: record commands on the page, and train there"]
    assert errors.splitlines() == [*hint, "stop with Ctrl-C", "stopped"]
    assert main(["serve", "e", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"address": "http://127.0.0.1:7/", "ready": has_model}
