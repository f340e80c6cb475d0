"""What a page knows of an utterance, from one whose words and frames are known."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from acoustic.alignment import Alignment, Segment
from asr.corpora.corpus import Utterance
from asr.reports.hearing import HeardUtterance
from asr.reports.views import line, posterior_rows, runs, said_and_heard, short, view
from decoder.decoder import Hypothesis, HypothesisWord

LABELS = np.array([0, 0, 1, 1, 1, 2, 0, 0, 0, 0], dtype=np.int32)
POSTERIORS = np.full((10, 4), 0.02)
POSTERIORS[np.arange(10), LABELS] = 0.94


def heard(*words: str, alignment: Alignment | None) -> HeardUtterance:
    spoken = Utterance("u1", Path("u1.wav"), ("go", "[noise]", "left"), "anna")
    found = tuple(
        HypothesisWord(word, 0.02 * n, 0.02 * n + 0.02, -1.0, 0.5 + 0.1 * n) for n, word in enumerate(words)
    )
    return HeardUtterance(spoken, Hypothesis(found, -5.0, True), alignment, np.log(POSTERIORS))


def aligned() -> Alignment:
    words = (Segment(0, 3, 0), Segment(3, 5, 1), Segment(5, 9, 2))
    return Alignment(LABELS, (), words, (0, 0, 0), -1.0)


def test_a_line_has_right_words_once() -> None:
    pairs = [("go", "go"), ("left", "lift"), (None, "uh"), ("up", None)]
    expected = ["go", ["left", "lift"], [None, "uh"], ["up", None]]
    assert short(pairs) == expected
    assert line("u1", "anna", pairs) == {"id": "u1", "speaker": "anna", "pairs": expected}


class TestSaidAndHeard:
    def test_each_word_knows_its_counterpart(self) -> None:
        said, found = said_and_heard(heard("go", "lift", "uh", alignment=aligned()), 0.01)
        assert [(w["word"], w["other"], w["start"], w["end"]) for w in said] == [
            ("go", "go", 0.0, 0.03),
            ("[noise]", None, 0.03, 0.05),
            ("left", "uh", 0.05, 0.09),
        ]
        assert [w.get("noise", False) for w in said] == [False, True, False]
        assert [(w["word"], w["other"], w["sure"]) for w in found] == [
            ("go", "go", 0.5),
            ("lift", None, 0.6),
            ("uh", "left", 0.7),
        ]

    def test_nothing_heard_and_nothing_aligned(self) -> None:
        said, found = said_and_heard(heard(alignment=aligned()), 0.01)
        assert [w["other"] for w in said] == [None, None, None]
        assert found == []
        assert said_and_heard(heard("go", alignment=None), 0.01)[0] == []


class TestPosteriorRows:
    def test_phones_come_in_order_of_time(self) -> None:
        assert posterior_rows(LABELS, POSTERIORS) == [0, 1, 2]
        assert posterior_rows(None, POSTERIORS[::-1]) == [0, 2, 1]

    def test_what_was_said_is_shown_even_if_improbable(self) -> None:
        said = np.array([3] * 10, dtype=np.int32)
        assert set(posterior_rows(said, POSTERIORS)) == {0, 1, 2, 3}


def test_runs_of_phones() -> None:
    found = runs(np.array([0, 0, -1, 1, 1, 0]), "ab", 0.5)
    assert found == [(0.0, 1.0, "a"), (1.5, 2.5, "b"), (2.5, 3.0, "a")]
    assert runs(None, "ab", 0.5) == []


def test_a_view_holds_all_there_is_to_see() -> None:
    samples = np.random.default_rng(0).normal(size=800).astype(np.float32)
    found = view(heard("go", alignment=aligned()), samples, 8000, "abcd", LABELS, 0.01)
    assert (found["duration"], found["topHz"]) == (pytest.approx(0.1), 4000)
    assert len(base64.b64decode(found["wave"])) == 2 * 20
    assert found["phones"] == [(0.0, 0.02, "a"), (0.02, 0.05, "b"), (0.05, 0.06, "c"), (0.06, 0.1, "a")]
    strip = found["posteriors"]
    assert (strip["names"], strip["end"]) == (["a", "b", "c"], 0.1)
    with Image.open(io.BytesIO(base64.b64decode(strip["picture"].partition(",")[2]))) as image:
        assert np.asarray(image).tolist() == np.round(255 * POSTERIORS[:, :3].T).astype(int).tolist()
