"""Colour: at terminals, and as the environment asks."""

import io

import pytest

from asr.progress import coloured, coloured_difference, wants_colour, with_severity


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "at_terminal", "in_file"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),  # no-color.org: when it is not empty
        ({"FORCE_COLOR": "1"}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "xterm"}, True, False),
    ],
)
def test_who_wants_colour(environment: dict[str, str], at_terminal: bool, in_file: bool) -> None:
    assert wants_colour(Terminal(), environment) is at_terminal
    assert wants_colour(io.StringIO(), environment) is in_file


@pytest.mark.parametrize(
    ("environment", "is_coloured"), [({}, False), ({"WT_SESSION": "1"}, True), ({"TERM": "xterm"}, True)]
)
def test_the_old_console_of_windows_has_no_colours(
    environment: dict[str, str], is_coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as on_windows:
        on_windows.setattr("os.name", "nt")
        found = wants_colour(Terminal(), environment)
    assert found is is_coloured


def test_first_words_of_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert with_severity("error: a: error: b", Terminal()) == "\033[31merror\033[0m: a: error: b"
    assert with_severity("warning: a", Terminal()) == "\033[33mwarning\033[0m: a"
    assert with_severity("note: a", Terminal()) == "note: a"
    assert with_severity("errors: a", Terminal()) == "errors: a"
    assert with_severity("error: a", io.StringIO()) == "error: a"


def test_a_difference_is_coloured_if_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = io.StringIO()
    assert coloured_difference("x", 0.1, 2.0, stream) == coloured("x", "green", stream) == "\033[32mx\033[0m"
    assert coloured_difference("x", -2.0, -0.1, stream) == coloured("x", "red", stream)
    assert coloured_difference("x", -0.1, 2.0, stream) == coloured_difference("x", 0.0, 0.0, stream) == "x"
