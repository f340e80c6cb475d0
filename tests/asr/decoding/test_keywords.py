"""Keywords in a file beside a model."""

import json

import pytest

from asr.decoding.evidence import Evidence
from asr.decoding.keywords import KEYWORDS, REJECTION, Keywords, read_keywords
from asr.decoding.rejection import Rejection
from asr.errors import ExperimentError

RULE = {"threshold": 1.5, "weights": {"margin": 2.0}, "offset": 0.5, "of_words": {"A": -1.0}}
RECORD = {"words": ["A", "B"], "filler_cost": 10.0, "rejection": RULE, "curve": []}


def test_they_are_read(tmp_path):
    (tmp_path / KEYWORDS).write_text(json.dumps(RECORD))
    rule = Rejection(1.5, Evidence(margin=2.0), 0.5, {"A": -1.0})
    assert read_keywords(tmp_path) == Keywords(("A", "B"), 10.0, rule)


def test_a_model_without_any(tmp_path):
    assert read_keywords(tmp_path) is None
    assert read_keywords(tmp_path, REJECTION) is None


@pytest.mark.parametrize("change", [{"words": None}, {"rejection": {**RULE, "weights": {"odd": 1.0}}}])
def test_a_broken_file(tmp_path, change):
    (tmp_path / KEYWORDS).write_text(json.dumps({**RECORD, **change}))
    with pytest.raises(ExperimentError, match=r"keywords\.json: not as asr train writes it"):
        read_keywords(tmp_path)
