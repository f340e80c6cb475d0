"""STM, read by our own reader of the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from asr.corpora.corpus import Utterance
from asr.corpora.layouts.stm import read_stm
from asr.errors import CorpusError
from asr.formats.stm import to_stm


def test_utterances_in_order_of_time() -> None:
    utterances = [
        Utterance("a", Path("/x/r2.wav"), ("GO", "ON"), "anna", 12.0, 13.25),
        Utterance("b", Path("/x/r2.wav"), (), "ben", 2.0, 11.0),
        Utterance("c", Path("/x/r1.wav"), ("A",), "ben"),
    ]
    text = to_stm(utterances, {"/x/r1.wav": 1.5})
    assert text == ("r1 1 ben 0.000 1.500 A\nr2 1 ben 2.000 11.000\nr2 1 anna 12.000 13.250 GO ON\n")
    stretches, problems = read_stm(text, "x.stm")
    assert problems == []
    assert [(s.recording, s.speaker, s.start_s, s.end_s, s.text) for s in stretches] == [
        ("r1", "ben", 0.0, 1.5, "A"),
        ("r2", "ben", 2.0, 11.0, ""),
        ("r2", "anna", 12.0, 13.25, "GO ON"),
    ]


def test_names_with_white_space() -> None:
    with pytest.raises(CorpusError, match=r'STM: expected recordings without white space .* got "r 1"'):
        to_stm([Utterance("a", Path("r 1.wav"), (), "anna", 0.0, 1.0)], {})
