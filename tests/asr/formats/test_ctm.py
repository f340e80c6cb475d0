"""CTM lines: words, times and confidences survive, neighbours still touch."""

from itertools import pairwise

import pytest

from asr.errors import CorpusError
from asr.formats.ctm import CtmEntry, from_ctm, to_ctm
from asr.formats.intervals import Interval


def test_ctm_text(spoken):
    assert to_ctm("u1", spoken.words) == 'u1 1 0.100 0.200 go\nu1 1 0.300 0.200 le"ft\n'
    with_gap = [Interval(0, 0.1, ""), *spoken.words]
    expected = 'u1 A 0.100 0.200 go 0.750\nu1 A 0.300 0.200 le"ft 1.000\n'
    assert to_ctm("u1", with_gap, channel="A", confidences=[0, 0.75, 1]) == expected
    assert to_ctm("u1", []) == ""


def test_ctm_round_trip(spoken):
    text = (
        ";; comment\n"
        + to_ctm("u1", spoken.words, confidences=[0.5, 1])
        + "\n"
        + to_ctm("Åse-2", spoken.phones, channel="2")
    )
    first, second, *others = from_ctm(text)
    assert (first, second) == (
        CtmEntry("u1", "1", spoken.words[0], 0.5),
        CtmEntry("u1", "1", spoken.words[1], 1.0),
    )
    assert tuple(entry.interval for entry in others) == spoken.phones
    assert {(e.utterance_id, e.channel, e.confidence) for e in others} == {("Åse-2", "2", None)}


def test_ctm_neighbours_touch_after_rounding():
    thirds = [Interval(i / 3 * 0.01, (i + 1) / 3 * 0.01, str(i)) for i in range(30)]
    read = [entry.interval for entry in from_ctm(to_ctm("u", thirds))]
    assert all(a.end_s == b.start_s for a, b in pairwise(read))


def test_bad_ctm(spoken):
    with pytest.raises(CorpusError, match='CTM: expected ids and labels without white space, got "a b"'):
        to_ctm("u1", [Interval(0, 1, "a b")])
    with pytest.raises(CorpusError, match="expected 2 confidences, one per interval, got 1"):
        to_ctm("u1", spoken.words, confidences=[1])
    for line in ("u1 1 0.1 go", "u1 1 0.1 x go", "u1 1 0.1 0.2 go 1 2", "u1 1 0.1 0.2 go yes"):
        with pytest.raises(CorpusError, match=r'CTM:2: expected "utterance channel start'):
            from_ctm(f"u1 1 0.1 0.2 go\n{line}\n")
