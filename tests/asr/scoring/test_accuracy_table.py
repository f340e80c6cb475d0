"""Word accuracies as text and as JSON."""

import json

from asr.scoring.results import accuracy_record, format_accuracy, format_comparison
from asr.scoring.scoring import compare, score

REFERENCE = {
    "anna-1": ["go", "to", "the", "left"],
    "anna-2": ["stop", "now"],
    "ben-1": ["open", "the", "door"],
    "ben-2": ["yes"],
}
HYPOTHESIS = {
    "anna-1": ["go", "the", "lift"],
    "anna-2": ["stop", "now"],
    "ben-1": ["open", "the", "the", "door"],
}
SPEAKERS = {"anna-1": "anna", "anna-2": "anna", "ben-1": "ben", "ben-2": "ben"}


def test_score_as_text():
    assert format_accuracy(score(REFERENCE, HYPOTHESIS, speakers=SPEAKERS), n_confusions=2).split("\n")[
        1:
    ] == [
        "4 sentences: too few to tell",
        "10 words, 1 substituted, 2 deleted, 1 inserted",
        "sentence accuracy 25.00 %, 4 utterances",
        "no hypothesis for 1 utterances, counted as deleted: ben-2",
        "",
        "speaker  accuracy  words  sub  del  ins  correct utterances",
        "anna        66.67      6    1    1    0                 1/2",
        "ben         50.00      4    0    1    1                 0/2",
        "",
        "errors  reference   recognised",
        "     1  (inserted)  the",
        "     1  left        lift",
        "(2 more kinds of error)",
    ]


def test_comparison_as_text():
    text = format_comparison(compare(REFERENCE, HYPOTHESIS, REFERENCE))
    assert text.startswith("word accuracy A 60.00 %, B 100.00 %\nB − A +40.00 points [")
    assert "fewer errors in 0 utterances with A, 3 with B, as many in 1, p = 0.25 (sign test)" in text
    assert text.endswith("no hypothesis of A for 1 utterances, counted as deleted: ben-2")


def test_score_as_json_survives_strict_json():
    reference, speakers = {**REFERENCE, "carl-1": []}, {**SPEAKERS, "carl-1": "carl"}
    result = accuracy_record(score(reference, HYPOTHESIS, speakers=speakers))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert {k: result[k] for k in ("words", "substitutions", "deletions", "insertions", "missing")} == {
        "words": 10,
        "substitutions": 1,
        "deletions": 2,
        "insertions": 1,
        "missing": ["ben-2", "carl-1"],
    }
    assert result["speakers"]["carl"]["word_accuracy"] is None
    assert result["confusions"][0] == {"reference": None, "hypothesis": "the", "count": 1}
