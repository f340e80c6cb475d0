"""Keywords in a file beside a model."""

import json

import pytest

from asr.errors import ExperimentError
from asr.spotting.evidence import Evidence
from asr.spotting.rejection import KEYWORDS, REJECTION, Keywords, Rejection, read_keywords

RULE = {"threshold": 1.5, "weights": {"margin": 2.0}, "offset": 0.5, "of_words": {"A": -1.0}}
RECORD = {"words": ["A", "B"], "filler_cost": 10.0, "rejection": RULE, "curve": []}


def test_they_are_read(tmp_path):
    (tmp_path / KEYWORDS).write_text(json.dumps(RECORD))
    rule = Rejection(1.5, Evidence(margin=2.0), 0.5, {"A": -1.0})
    assert read_keywords(tmp_path) == Keywords(("A", "B"), 10.0, rule)


def test_a_model_without_any(tmp_path):
    assert read_keywords(tmp_path) is None
    assert read_keywords(tmp_path, REJECTION) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"words": None}, "words: expected a list, got null"),
        ({"words": "AB"}, 'words: expected a list, got "AB"'),
        ({"words": ["A", 1]}, r"words\[1\]: expected a text, got 1"),
        ({"filler_cost": float("nan")}, "filler_cost: expected a number, got nan"),
        ({"rejection": {**RULE, "weights": {"odd": 1.0}}}, "unknown key odd"),
        ({"rejection": {**RULE, "weights": {"margin": "2"}}}, 'weights.margin: expected a number, got "2"'),
        ({"rejection": {**RULE, "of_words": {"A": None}}}, "expected a number, got null"),
        ({"rejection": {**RULE, "of_words": [1]}}, "not as asr keywords writes it"),
        ({"rejection": {}}, "not as asr keywords writes it"),
    ],
)
def test_a_broken_file(tmp_path, change, problem):
    (tmp_path / KEYWORDS).write_text(json.dumps({**RECORD, **change}))
    cure = "run asr keywords again"
    with pytest.raises(
        ExperimentError, match=rf"^[^\n]*keywords\.json: [^\n]*{problem}[^\n]*; {cure}[^\n]*$"
    ):
        read_keywords(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_file_that_is_no_object(tmp_path, content):
    (tmp_path / REJECTION).write_text(content)
    with pytest.raises(ExperimentError, match=r"rejection\.json: [^\n]*; run asr keywords again$"):
        read_keywords(tmp_path, REJECTION)
