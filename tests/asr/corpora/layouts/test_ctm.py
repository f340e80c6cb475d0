"""NIST's CTM."""

from asr.corpora.layouts.ctm import read_ctm


def test_words_are_joined_at_pauses_for_each_recording() -> None:
    text = ";; a comment\na 1 0.5 0.5 yes 0.9\nb 1 0.0 0.5 go\na 1 1.25 0.25 no\na 1 3.0 0.5 left 1.0 lex\n"
    stretches, problems = read_ctm(text, "a.ctm")
    assert [(s.recording, s.text, s.start_s, s.end_s, s.where) for s in stretches] == [
        ("a", "yes no", 0.3, 1.7, "a.ctm:2"),
        ("a", "left", 2.8, 3.5, "a.ctm:5"),
        ("b", "go", 0.0, 0.5, "a.ctm:3"),
    ]
    assert problems == []


def test_problems() -> None:
    stretches, problems = read_ctm("a 1 x 1 yes\na 1 0 1\na 1 2 -1 no\na A 0 1 go\na B 1 1 left\n", "a.ctm")
    assert [s.text for s in stretches] == ["go left"]
    assert [str(p).split(",")[0] for p in problems] == [
        'a.ctm:1: "a 1 x 1 yes" is malformed',
        'a.ctm:2: "a 1 0 1" is malformed',
        "a.ctm:3: goes from 2 s to 1 s",
        'a.ctm: "a" has the channels 1 A B',
    ]
