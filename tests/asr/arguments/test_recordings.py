"""What the verbs that use a model on recordings take, and what it is by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.formats.outputs import ALIGN_FORMATS, DECODE_FORMATS

Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "decode e a",
            {
                "model": None,
                "grammar": None,
                "format": "text",
                "out": None,
                "nbest": 1,
                "same_speaker": False,
                "reject": False,
                "keywords": False,
                "experiment": Path("e"),
                "recordings": [Path("a")],
            },
        ),
        (
            "keywords e --corpus c",
            {
                "words": [],
                "corpus": Path("c"),
                "other": [],
                "false_alarms": None,
                "detection": None,
                "model": None,
                "experiment": Path("e"),
            },
        ),
        (
            "align e",
            {
                "corpus": None,
                "model": None,
                "format": "textgrid",
                "rows": None,
                "out": None,
                "experiment": Path("e"),
                "recording": None,
                "text": None,
            },
        ),
        (
            "evaluate e --corpus c",
            {
                "corpus": Path("c"),
                "model": None,
                "grammar": None,
                "reject": False,
                "hypotheses": None,
                "experiment": Path("e"),
            },
        ),
        (
            "score r h",
            {
                "format": None,
                "against": None,
                "utt2spk": None,
                "ignore_case": False,
                "plain": False,
                "reference": Path("r"),
                "hypothesis": Path("h"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("decode", f"{{{','.join(DECODE_FORMATS)}}}"),
        ("align", f"{{{','.join(ALIGN_FORMATS)}}}"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("decode", "arguments are required: EXP, WAV"),
        ("decode e a --reject --keywords", "not allowed with argument --reject"),
        ("keywords e --corpus c --false-alarms 1 --detection 90", "not allowed with argument --false-alarms"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
