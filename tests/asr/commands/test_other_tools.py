"""What the verbs that exchange files with other tools hand over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.formats.outputs import EXPORT_FORMATS, EXPORTS

Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        (
            "export e --what scores --corpus c --format npz --out o --grammar g",
            "export",
            (Path("e"),),
            {
                "what": "scores",
                "out": Path("o"),
                "corpus": Path("c"),
                "format": "npz",
                "model": None,
                "grammar": "g",
            },
        ),
        (
            "import m --dictionary d --out o --config c --grammar g.slf --sample-rate 8000 "
            "--normalize speaker --lm-scale 5 --word-penalty -3",
            "import_model",
            (Path("m"),),
            {
                "dictionary": Path("d"),
                "out": Path("o"),
                "config": Path("c"),
                "grammar": Path("g.slf"),
                "sample_rate": 8000,
                "normalize": "speaker",
                "lm_scale": 5.0,
                "word_penalty": -3.0,
            },
        ),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, function) == (arguments, options)


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
