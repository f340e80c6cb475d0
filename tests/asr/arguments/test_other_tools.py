"""What the verbs that exchange files with other tools take, and what it is by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.formats.outputs import EXPORT_FORMATS, EXPORTS

Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "export e --what scores --out o",
            {
                "what": "scores",
                "corpus": None,
                "format": None,
                "out": Path("o"),
                "model": None,
                "grammar": None,
                "experiment": Path("e"),
            },
        ),
        (
            "import m --dictionary d --out o",
            {
                "dictionary": Path("d"),
                "out": Path("o"),
                "config": None,
                "grammar": None,
                "sample_rate": 16000,
                "normalize": "none",
                "lm_scale": 1.0,
                "word_penalty": 0.0,
                "mmf": Path("m"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("export", f"{{{','.join(EXPORTS)}}}"),
        ("export", f"{{{','.join(EXPORT_FORMATS)}}}"),
        ("import", "{none,utterance,speaker}"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("export e --out o", "arguments are required: --what"),
        ("import m --out o", "arguments are required: --dictionary"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
