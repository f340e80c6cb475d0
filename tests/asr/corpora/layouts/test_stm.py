"""NIST's STM."""

from asr.corpora.layouts.scan import Stretch
from asr.corpora.layouts.stm import read_stm, several_channels


def test_utterances() -> None:
    text = (
        ";; a comment\r\n\r\n"
        "talk 1 anna 0.5 2.25 <o,f0,female> yes <unk> no\r\n"
        "talk 1 ben 2.25 3 no {uh / um} go\n"
        "talk 1 inter_segment_gap 3 4 <o,,> ignore_time_segment_in_scoring\n"
        "talk 1 anna 4 5\n"
    )
    assert read_stm(text, "talk.stm") == (
        [
            Stretch(0.5, 2.25, " yes <unk> no", "talk.stm:3", "anna", "talk"),
            Stretch(2.25, 3.0, "no {uh / um} go", "talk.stm:4", "ben", "talk"),
            Stretch(4.0, 5.0, "", "talk.stm:6", "anna", "talk"),
        ],
        [],
    )


def test_problems() -> None:
    stretches, problems = read_stm("a 1 x 0 one yes\na 1 x\na A x 0 1 yes\na B x 1 2 no\n", "a.stm")
    assert [s.text for s in stretches] == ["yes", "no"]
    assert [str(p).split(",")[0] for p in problems] == [
        'a.stm:1: "a 1 x 0 one yes" is malformed',
        'a.stm:2: "a 1 x" is malformed',
        'a.stm: "a" has the channels A B',
    ]


def test_one_channel_a_recording_is_no_problem() -> None:
    assert several_channels([("a", "1"), ("b", "2"), ("a", "1")], "x.stm") == []
