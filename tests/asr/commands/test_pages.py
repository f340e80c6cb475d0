"""The pages that are made from the code are up to date, and say all of it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from asr.cli import GROUPS, command_line
from asr.commands.pages import PAGES, command_page, option_page
from asr.config import ExperimentConfig, known_keys

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_in_docs_is_up_to_date(name: str) -> None:
    said = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert said == PAGES[name](), f"python -m asr.commands.pages {name} > docs/{name}.md"


def test_every_verb_says_what_it_prints() -> None:
    silent = [name for verbs in GROUPS.values() for name, verb in verbs.items() if not verb.prints]
    assert silent == ["completion"]


def test_every_argument_is_on_the_page() -> None:
    page = command_page()
    for verb, parser in command_line().parsers.items():
        section = page.partition(f"### asr {verb}\n")[2].partition("### asr ")[0]
        assert parser.example in section
        for action in parser.actions:
            place = action.dest if action.choices else str(action.metavar or action.dest.upper())
            names = action.option_strings or [place]
            own = action.dest not in ("help", "json", "quiet", "verbose")
            assert (f"\n| `{names[0]}" in section) == own, (verb, names)


def test_every_option_is_explained() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \|[^|]*\|[^|]*\| ([^|]*) \|", option_page(), flags=re.M))
    assert list(rows) == list(known_keys(ExperimentConfig()))
    assert all(len(meaning) > 10 for meaning in rows.values()), rows


def test_there_are_no_more_options_than_a_person_can_read() -> None:
    numbers = Counter(key.rpartition(".")[0].partition(".")[0] for key in known_keys(ExperimentConfig()))
    assert numbers == {
        "": 8,
        "front_end": 9,
        "gmm": 4,
        "tying": 3,
        "hybrid": 13,
        "pools": 5,
        "forward": 3,
        "svm": 1,
        "krls": 1,
        "decoder": 1,
        "tuning": 3,
    }
    assert numbers.total() <= 51
