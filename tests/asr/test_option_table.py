"""The page of options is that of the code, and says what every option is."""

import re
from collections import Counter
from pathlib import Path

from asr.config import ExperimentConfig, known_keys
from asr.option_table import option_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"


def test_the_page_in_docs_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == option_page(), "python -m asr.option_table > docs/options.md"


def test_every_option_is_explained() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \|[^|]*\|[^|]*\| ([^|]*) \|", option_page(), flags=re.M))
    assert list(rows) == list(known_keys(ExperimentConfig()))
    assert all(len(meaning) > 10 for meaning in rows.values()), rows


def test_there_are_no_more_options_than_a_person_can_read() -> None:
    numbers = Counter(key.rpartition(".")[0].partition(".")[0] for key in known_keys(ExperimentConfig()))
    assert numbers == {
        "": 5,
        "front_end": 9,
        "gmm": 4,
        "tying": 3,
        "hybrid": 13,
        "pools": 4,
        "forward": 3,
        "svm": 1,
        "krls": 1,
        "decoder": 1,
        "tuning": 3,
    }
    assert numbers.total() <= 47
