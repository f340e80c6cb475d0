"""Corpora in memory."""

from pathlib import Path

import pytest

from asr.corpora.utterances import Corpus, Utterance
from asr.errors import CorpusError, Problem


def test_duplicate_id_in_memory() -> None:
    utterance = Utterance("a", Path("/a.wav"), (), "s")
    with pytest.raises(CorpusError, match='duplicate utterance id "a"'):
        Corpus((utterance, utterance))


def test_subsets() -> None:
    corpus = Corpus(tuple(Utterance(f"u{i}", Path("/a.wav"), (), f"s{i % 2}") for i in range(4)))
    assert corpus.subset(["u3", "u0"]).ids == ("u0", "u3")
    assert corpus.of_speakers(["s1"]).ids == ("u1", "u3")
    with pytest.raises(CorpusError, match=r'1 unknown utterance id\(s\): "u9"; expected some of the 4'):
        corpus.subset(["u9"])
    with pytest.raises(CorpusError, match=r'1 unknown speaker\(s\): "x"'):
        corpus.of_speakers(["s0", "x"])


def test_utterances_are_kept_in_the_order_of_their_ids() -> None:
    corpus = Corpus(tuple(Utterance(i, Path("/a.wav"), ("B", "A"), s) for i, s in [("b", "s1"), ("a", "s2")]))
    assert (corpus.ids, corpus.speakers, corpus.vocabulary) == (("a", "b"), ("s1", "s2"), ("A", "B"))
    assert [u.utterance_id for u in corpus] == ["a", "b"]
    assert corpus.text == {"a": ("B", "A"), "b": ("B", "A")}


@pytest.mark.parametrize(
    ("start_s", "end_s", "whole"), [(0.0, None, True), (0.0, 1.0, False), (0.5, None, False)]
)
def test_a_stretch_is_not_the_whole_file(start_s: float, end_s: float | None, whole: bool) -> None:
    assert Utterance("a", Path("/a.wav"), (), "s", start_s, end_s).is_whole_file == whole


def test_a_problem_is_one_line() -> None:
    assert str(Problem("text:17", "is wrong")) == "text:17: is wrong"
