"""What the verbs that exchange files with other tools hand over."""

from collections.abc import Callable
from pathlib import Path

import pytest

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
    assert handed(line, f"other_tools.{function}") == (arguments, options)
