"""Words and names with line breaks, quotes, markup and zero bytes are read back as they were, or refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.errors import CorpusError
from asr.formats.captions import read_srt, read_vtt, to_srt, to_vtt
from asr.formats.intervals import Interval, Passage
from asr.formats.mlf import from_mlf, to_mlf
from asr.formats.nist import read_ctm, read_stm, to_ctm, to_stm
from asr.formats.outputs import DECODE_FORMATS, Prefix
from asr.formats.praat_elan import read_elan, read_textgrid, to_eaf, to_textgrid
from asr.formats.transcripts import format_transcripts, parse_transcripts
from decoder.decoder import Hypothesis, HypothesisWord

HOSTILE = (
    *("New\nYork", "a\r\nb", "a\rb", "a\tb", "a\x0bb", "a\u2028b", "a\x85b", "\ufeffa"),
    *("a\ufeff", "a\0b"),
    *(
        '"',
        '""',
        "'",
        "\\",
        "\\n",
        "\\012",
        'a"b',
        "{\\an8}",
        "{a}",
        "<i>",
        "</i>",
        "<v Anna>",
        "<b",
        "<unk>",
    ),
    *(
        "-->",
        "a-->b",
        "00:00:01,000 --> 00:00:02,000",
        "00:00:01.000-->00:00:02.000",
        "&amp;",
        "&lt;i&gt;",
        "&",
    ),
    *(
        "]]>",
        "<!--",
        "<?xml?>",
        "<!DOCTYPE",
        ";;",
        ";;a",
        "#",
        "(a)",
        "()",
        "1",
        "-1.5",
        ".",
        "NOTE",
        "WEBVTT",
    ),
    *("<text>", "text", "é", "e\u0301", "\u202eabc", "\x07", "\x1b[31m", "\ud83d", "😀", "a" * 200),
)

Written = Callable[[str], list[str]]


def _spoken(text: str) -> list[str]:
    return [word for word in text.split() if word]


def _of_captions(to: Callable[..., str], read: Callable[..., tuple[list[Passage], object]]) -> Written:
    def back(word: str) -> list[str]:
        passages, problems = read(to([Interval(0.0, 1.0, "GO"), Interval(1.0, 2.0, word)]), "x")
        assert problems == []
        return _spoken(" ".join(passage.text for passage in passages))[1:]

    return back


def _of_textgrid(word: str) -> list[str]:
    text = to_textgrid({word: [Interval(0, 1, word)]}, 1.0)
    (tier,) = read_textgrid(text, "x")
    assert tier.name == word
    return _spoken(tier.passages[0].text)


def _of_eaf(word: str) -> list[str]:
    (tier,) = read_elan(to_eaf({word: [Interval(0, 1, word)]}), "x")
    assert tier.name == word
    return _spoken(" ".join(passage.text for passage in tier.passages))


def _of_ctm(word: str) -> list[str]:
    passages, problems = read_ctm(to_ctm(word, [Interval(0, 1, word)]), "x")
    assert problems == []
    assert [passage.recording for passage in passages] == [word]
    return _spoken(passages[0].text)


def _of_stm(word: str) -> list[str]:
    said = [Passage(0.0, 1.0, word, "x", "anna", "r1"), Passage(1.0, 2.0, "GO", "x", word, word)]
    passages, problems = read_stm(to_stm(said), "x")
    assert problems == []
    assert {passage.recording for passage in passages} == {"r1", word}
    assert {passage.speaker for passage in passages} == {"anna", word}
    return _spoken(next(passage.text for passage in passages if passage.recording == "r1"))


def _of_mlf(word: str) -> list[str]:
    tiers = {"phones": [Interval(0, 1, "A")], "words": [Interval(0, 1, word)]}
    found = from_mlf(to_mlf({word: tiers}))
    assert [*found] == [word]
    return _spoken(found[word]["words"][0].label)


def _of_json(word: str) -> list[str]:
    hypothesis = Hypothesis((HypothesisWord(word, 0.0, 1.0, -1.0),), 0.0, complete=True)
    text = DECODE_FORMATS["json"]([(Path(word), hypothesis)], Prefix(True, False))
    (record,) = json.loads(text.encode())
    assert record["recording"] == str(Path(word))
    return _spoken(record["words"][0]["word"])


def _of_transcripts(format: str) -> Written:
    def back(word: str) -> list[str]:
        text = format_transcripts({"u1": [word], word: ["GO"]}, format)  # type: ignore[arg-type]
        found = parse_transcripts(text, format)  # type: ignore[arg-type]
        assert [*found] == ["u1", word]
        return [*found["u1"]]

    return back


WRITTEN: dict[str, Written] = {
    "srt": _of_captions(to_srt, read_srt),
    "vtt": _of_captions(to_vtt, read_vtt),
    "textgrid": _of_textgrid,
    "eaf": _of_eaf,
    "ctm": _of_ctm,
    "stm": _of_stm,
    "mlf": _of_mlf,
    "json": _of_json,
    "kaldi": _of_transcripts("kaldi"),
    "trn": _of_transcripts("trn"),
}


@pytest.mark.parametrize("format", WRITTEN)
def test_hostile_words_are_read_back_or_refused_in_one_line(format: str) -> None:
    n_read = 0
    for word in HOSTILE:
        try:
            found = WRITTEN[format](word)
        except CorpusError as error:
            assert "\n" not in str(error).replace(word, "")  # noqa: PT017 (or it is read)
            continue
        n_read += 1
        expected = _spoken(word)
        assert found == expected or (format in ("kaldi", "trn") and found == ["é"]), repr(word)
    assert n_read >= len(HOSTILE) // 2


@pytest.mark.parametrize(("to", "read"), [(to_srt, read_srt), (to_vtt, read_vtt)])
def test_a_line_break_in_a_word_ends_no_caption(to: Callable[..., str], read: Callable[..., object]) -> None:
    text = to([Interval(0, 1, "New\n\nYork"), Interval(1, 2, "3\n00:00:05,000")])
    (passage,), problems = read(text, "x")  # type: ignore[misc]
    assert (passage.text, problems) == ("New York 3 00:00:05,000", [])


def test_paths_with_breaks_stay_in_a_line() -> None:
    hypothesis = Hypothesis((HypothesisWord("GO", 0.0, 1.0, -1.0),), 0.0, complete=True)
    text = DECODE_FORMATS["text"]([(Path("a\nb\t.wav"), hypothesis)], Prefix(True, False))
    assert text == "a\\nb\\t.wav\tGO\n"
    assert (
        DECODE_FORMATS["trn"]([(Path("take (1).wav"), hypothesis)], Prefix(True, False)) == "GO (take_[1])\n"
    )
