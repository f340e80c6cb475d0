"""What the verbs that make models take, and what it is by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

from asr.recipe import built_in_recipes
from asr.systems import PRESETS, SYSTEMS

Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "plan folder",
            {
                "corpus": None,
                "out": None,
                "model": [],
                "preset": "best",
                "settings": [],
                "workers": None,
                "recipe": "folder",
            },
        ),
        (
            "train folder --out o",
            {
                "corpus": None,
                "out": Path("o"),
                "model": [],
                "preset": "best",
                "workers": None,
                "scheduler": None,
                "cluster": None,
                "settings": [],
                "recipe": "folder",
            },
        ),
        ("info e", {"model": None, "measure": None, "experiment": Path("e")}),
        (
            "report e",
            {
                "model": None,
                "out": None,
                "split": None,
                "utterances": 100,
                "audio": None,
                "experiment": Path("e"),
            },
        ),
        (
            "sweep folder --out o --set a=1",
            {
                "corpus": None,
                "out": Path("o"),
                "model": [],
                "preset": "best",
                "workers": None,
                "scheduler": None,
                "cluster": None,
                "settings": ["a=1"],
                "against": None,
                "recipe": "folder",
            },
        ),
        (
            "sparsity e",
            {"model": "npd", "recipe": None, "centers": [25, 50, 100, 200], "experiment": Path("e")},
        ),
        ("clean e", {"yes": False, "experiment": Path("e")}),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("train", f"one of {', '.join(SYSTEMS)}; may"),
        ("train", f"one of {', '.join(built_in_recipes())}, or the path of"),
        ("train", f"{{{','.join(PRESETS)}}}"),
        ("sparsity", "25, 50, 100, 200 by default"),
        ("sweep", "Exit code 2 if a point failed"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sweep folder --out x", "arguments are required: --set"),
        ("train folder --out x --workers 2 --scheduler a", "not allowed with argument --workers"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
