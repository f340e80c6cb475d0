"""NIST's CTM and STM: what is written is read again, and every fault has its line."""

from itertools import pairwise

import pytest

from asr.errors import CorpusError
from asr.formats.intervals import Interval, Passage
from asr.formats.nist import read_ctm, read_stm, several_channels, to_ctm, to_stm


def test_ctm_text(spoken):
    assert to_ctm("u1", spoken.words) == 'u1 1 0.100 0.200 go\nu1 1 0.300 0.200 le"ft\n'
    with_gap = [Interval(0, 0.1, ""), *spoken.words]
    expected = 'u1 A 0.100 0.200 go 0.750\nu1 A 0.300 0.200 le"ft 1.000\n'
    assert to_ctm("u1", with_gap, channel="A", confidences=[0, 0.75, 1]) == expected
    assert to_ctm("u1", []) == ""


def test_ctm_is_read_as_it_was_written(spoken):
    text = (
        to_ctm("u1", spoken.words, confidences=[0.5, 1]) + "\n" + to_ctm("Åse-2", spoken.phones, channel="2")
    )
    assert read_ctm(text, "a.ctm") == (
        [
            Passage(0.05, 0.5, 'go le"ft', "a.ctm:1", None, "u1"),
            Passage(0.0, 0.6, "sil g ow l sil", "a.ctm:4", None, "Åse-2"),
        ],
        [],
    )


def test_ctm_neighbours_touch_after_rounding():
    thirds = [Interval(i / 3 * 0.01, (i + 1) / 3 * 0.01, str(i)) for i in range(30)]
    rows = [line.split() for line in to_ctm("u", thirds).splitlines()]
    times = [(float(start), round(float(start) + float(duration), 6)) for _, _, start, duration, _ in rows]
    assert all(end == start for (_, end), (start, _) in pairwise(times))


def test_what_ctm_cannot_hold(spoken):
    with pytest.raises(CorpusError, match='CTM: expected ids and labels without white space, got "a b"'):
        to_ctm("u1", [Interval(0, 1, "a b")])
    with pytest.raises(CorpusError, match="expected 2 confidences, one per interval, got 1"):
        to_ctm("u1", spoken.words, confidences=[1])


def test_words_of_ctm_are_joined_at_pauses_for_each_recording() -> None:
    text = ";; a comment\na 1 0.5 0.5 yes 0.9\nb 1 0.0 0.5 go\na 1 1.25 0.25 no\na 1 3.0 0.5 left 1.0 lex\n"
    passages, problems = read_ctm(text, "a.ctm")
    assert [(p.recording, p.text, p.start_s, p.end_s, p.where) for p in passages] == [
        ("a", "yes no", 0.3, 1.7, "a.ctm:2"),
        ("a", "left", 2.8, 3.5, "a.ctm:5"),
        ("b", "go", 0.0, 0.5, "a.ctm:3"),
    ]
    assert problems == []


def test_problems_of_ctm() -> None:
    passages, problems = read_ctm("a 1 x 1 yes\na 1 0 1\na 1 2 -1 no\na A 0 1 go\na B 1 1 left\n", "a.ctm")
    assert [p.text for p in passages] == ["go left"]
    assert [str(p).split(",")[0] for p in problems] == [
        'a.ctm:1: "a 1 x 1 yes" is malformed',
        'a.ctm:2: "a 1 0 1" is malformed',
        "a.ctm:3: goes from 2 s to 1 s",
        'a.ctm: "a" has the channels 1 A B',
    ]


def test_stm_is_written_in_order_of_time_and_read_again() -> None:
    utterances = [
        Passage(12.0, 13.25, "GO ON", "a", "anna", "r2"),
        Passage(2.0, 11.0, "", "b", "ben", "r2"),
        Passage(0.0, 1.5, "A", "c", "ben", "r1"),
    ]
    text = to_stm(utterances)
    assert text == ("r1 1 ben 0.000 1.500 A\nr2 1 ben 2.000 11.000\nr2 1 anna 12.000 13.250 GO ON\n")
    passages, problems = read_stm(text, "x.stm")
    assert problems == []
    assert [(p.recording, p.speaker, p.start_s, p.end_s, p.text) for p in passages] == [
        ("r1", "ben", 0.0, 1.5, "A"),
        ("r2", "ben", 2.0, 11.0, ""),
        ("r2", "anna", 12.0, 13.25, "GO ON"),
    ]


def test_names_with_white_space_are_not_written_into_stm() -> None:
    with pytest.raises(CorpusError, match=r'STM: expected recordings and speakers without .* got "r 1"'):
        to_stm([Passage(0.0, 1.0, "", "a", "anna", "r 1")])


def test_utterances_of_stm() -> None:
    text = (
        ";; a comment\r\n\r\n"
        "talk 1 anna 0.5 2.25 <o,f0,female> yes <unk> no\r\n"
        "talk 1 ben 2.25 3 no {uh / um} go\n"
        "talk 1 inter_segment_gap 3 4 <o,,> ignore_time_segment_in_scoring\n"
        "talk 1 anna 4 5\n"
    )
    assert read_stm(text, "talk.stm") == (
        [
            Passage(0.5, 2.25, " yes <unk> no", "talk.stm:3", "anna", "talk"),
            Passage(2.25, 3.0, "no {uh / um} go", "talk.stm:4", "ben", "talk"),
            Passage(4.0, 5.0, "", "talk.stm:6", "anna", "talk"),
        ],
        [],
    )


def test_problems_of_stm() -> None:
    passages, problems = read_stm("a 1 x 0 one yes\na 1 x\na A x 0 1 yes\na B x 1 2 no\n", "a.stm")
    assert [p.text for p in passages] == ["yes", "no"]
    assert [str(p).split(",")[0] for p in problems] == [
        'a.stm:1: "a 1 x 0 one yes" is malformed',
        'a.stm:2: "a 1 x" is malformed',
        'a.stm: "a" has the channels A B',
    ]


def test_one_channel_a_recording_is_no_problem() -> None:
    assert several_channels([("a", "1"), ("b", "2"), ("a", "1")], "x.stm") == []
