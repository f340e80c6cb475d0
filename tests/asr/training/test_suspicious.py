"""What is suspicious, why, and that training leaves out what is far off."""

from pathlib import Path

import numpy as np
import pytest

from acoustic.alignment import Alignment, FitCurve, Margins, Segment
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData
from asr.errors import ExperimentError
from asr.formats.model_directories import FitCurves
from asr.training.fit import Heard, Suspicious, find_suspicious, read_suspicious, write_suspicious

CURVES = FitCurves(FitCurve(2.0, 6.0), FitCurve(2.0, 6.0))  # one half at -3 nats
NO_CURVES = FitCurves(None, None)


def heard(words: str, *of_words: float, n_frames: int = 10) -> Heard:
    """Return words of two phones that take some frames each."""
    spoken, half = tuple(words.split()), n_frames // 2
    starts = [n_frames * k for k in range(len(spoken))]
    alignment = Alignment(
        states=np.zeros(n_frames * len(spoken), np.int32),
        phones=tuple(Segment(a, a + half, 0) for s in starts for a in (s, s + half)),
        words=tuple(Segment(s, s + n_frames, k) for k, s in enumerate(starts)),
        variants=(0,) * len(spoken),
        log_likelihood=0.0,
    )
    return Heard(spoken, alignment, Margins(np.array(of_words)), ())


def found(
    *all_heard: Heard, curves: FitCurves = CURVES, faults: dict[str, str] | None = None
) -> list[Suspicious]:
    utterances = tuple(Utterance(f"u{k:03}", Path("/a.wav"), h.words, "s") for k, h in enumerate(all_heard))
    data = SpeechData(Corpus(utterances), tuple(np.zeros((9, 3), np.float32) for _ in utterances))
    return find_suspicious(data, all_heard, curves, faults or {}, 0.01)


def test_the_worst_first_with_reasons() -> None:
    rows = found(
        heard("A B C", 0.0, -0.5, -1.0),
        heard("A B C", -0.1, -0.2, -12.0),
        heard("A B", -9.0, -9.0),
        Heard(("A",), None, None, ()),
        heard("A", 0.0),
        faults={"u004": "clipped: 12 % of samples at the limit"},
    )
    assert [(s.utterance_id, s.reasons, s.is_far_off) for s in rows] == [
        ("u002", ("text does not fit",), True),
        ("u001", ("text does not fit at C",), False),
        ("u004", ("clipped: 12 % of samples at the limit",), False),
        ("u003", ("text cannot be aligned",), False),
    ]
    assert [s.probability for s in rows] == [
        pytest.approx(1 / (1 + np.exp(12)), abs=1e-6),
        pytest.approx(1 / (1 + np.exp(2.2)), abs=1e-6),
        pytest.approx(1 / (1 + np.exp(-6)), abs=1e-6),
        None,
    ]
    assert str(rows[1]) == '0.100  u001: text does not fit at C: "A B C"'
    assert str(rows[3]) == '  ?    u003: text cannot be aligned: "A"'


@pytest.mark.parametrize(("n_others", "is_far_off"), [(4, False), (54, True), (400, False)])
def test_of_few_and_in_a_large_corpus_one_in_a_hundred_is_not_far_off(
    n_others: int, is_far_off: bool
) -> None:
    (row,) = found(heard("A", -5.65), *[heard("A", 0.0)] * n_others)  # probability 0.005
    assert (row.probability, row.is_far_off) == (pytest.approx(0.005, abs=1e-4), is_far_off)


def test_without_curves_texts_are_not_doubted() -> None:
    assert found(heard("A B", -90.0, -90.0), curves=NO_CURVES) == []


def test_a_word_of_many_seconds() -> None:
    usual = [heard("A B", 0.0, 0.0, n_frames=n) for n in (8, 10, 12, 14) * 5]
    (row,) = found(*usual, heard("LONG", 0.0, n_frames=410))
    assert row.reasons == ("word LONG lasts 4.1 s",)
    assert found(*usual, heard("SLOW", 0.0, n_frames=60)) == []  # less than a second


def test_a_file_of_them(tmp_path: Path) -> None:
    rows = found(heard("A B", -9.0, -9.0), Heard(("A",), None, None, ()))
    write_suspicious(rows, 7, tmp_path)
    assert read_suspicious(tmp_path) == (rows, 7)
    with pytest.raises(
        ExperimentError, match=r"nowhere: no suspicious\.json in it, expected a directory that"
    ):
        read_suspicious(tmp_path / "nowhere")
