"""Kaldi text and NIST trn; a transcript given as itself or as a file."""

from pathlib import Path

import pytest

from asr.errors import ConfigError, CorpusError
from asr.formats.transcripts import (
    format_transcripts,
    parse_transcripts,
    read_transcripts,
    text_or_file,
    write_transcripts,
)

TRANSCRIPTS = {"b-2": ("ÅSE", "går", "日本"), "a-1": (), "c": ("it's", "(laughs)", "x")}


@pytest.mark.parametrize("format", ["kaldi", "trn"])
@pytest.mark.parametrize("stated", [True, False])
def test_round_trip_keeps_words_and_order(tmp_path, format, stated):
    path = tmp_path / "text"
    write_transcripts(path, TRANSCRIPTS, format)
    read = read_transcripts(path, format if stated else None)
    assert list(read.items()) == list(TRANSCRIPTS.items())


def test_written_text():
    assert format_transcripts(TRANSCRIPTS) == "b-2 ÅSE går 日本\na-1\nc it's (laughs) x\n"
    assert format_transcripts(TRANSCRIPTS, "trn") == "ÅSE går 日本 (b-2)\n(a-1)\nit's (laughs) x (c)\n"


@pytest.mark.parametrize("format", ["kaldi", None])
def test_byte_order_mark_line_ends_and_white_space_are_tolerated(tmp_path, format):
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfu1  go\tleft \r\n\r\n  u2 stop")
    assert read_transcripts(path, format) == {"u1": ("go", "left"), "u2": ("stop",)}


def test_only_newlines_end_a_line():
    assert parse_transcripts("u1 a\u2028b\x0bc\n") == {"u1": ("a", "b", "c")}


def test_letters_are_composed():
    assert parse_transcripts("u1 A\u030ase\n") == {"u1": ("Åse",)}


def test_empty_text_has_no_utterances():
    assert parse_transcripts("\n \n") == {}
    assert format_transcripts({}) == ""


def test_words_are_left_as_they_are():
    assert parse_transcripts("u1 THE(2) (2) A(B) READ(12)\n") == {"u1": ("THE(2)", "(2)", "A(B)", "READ(12)")}


def test_a_last_word_in_parentheses_is_no_id_when_kaldi_is_stated():
    assert parse_transcripts("u1 (laughs)\n", "kaldi") == {"u1": ("(laughs)",)}


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("u1 a\nu2 b\nu1 c\n", None, 'text:3: utterance id "u1" is on line 1 already; give each'),
        ("u a\nu a\nu a\nu a\n", None, "text:2: .*; 2 more repeated ids, on lines 3, 4; "),
        ("a (u1)\n(u1)\n", None, 'text:2: utterance id "u1" is on line 1 already'),
        ("a (u1)\nb\n", None, "text:2: expected an utterance id in parentheses .* got 1 of 2 lines"),
        ("a (u1)\nb\n", "trn", r'text:2: expected "words \(utterance-id\)", got "b"'),
        ("a (u 1)\n", "trn", "text:1: expected"),
        ("a\n", "stm", 'expected the transcript format "kaldi" or "trn", got "stm"'),
    ],
)
def test_bad_text(text, format, message):
    with pytest.raises(CorpusError, match=message):
        parse_transcripts(text, format, name="text")


def test_bad_file(tmp_path):
    with pytest.raises(CorpusError, match="nowhere: cannot be read: No such file"):
        read_transcripts(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match="cannot be read: Is a directory"):
        read_transcripts(tmp_path)
    (tmp_path / "latin").write_bytes("u1 a\nu2 Åse\n".encode("latin-1"))
    with pytest.raises(CorpusError, match="latin:2: expected UTF-8"):
        read_transcripts(tmp_path / "latin")
    with pytest.raises(CorpusError, match="cannot be written: No such file"):
        write_transcripts(tmp_path / "no" / "text", TRANSCRIPTS)


@pytest.mark.parametrize(
    ("transcripts", "format", "message"),
    [
        ({"u 1": []}, "kaldi", 'utterance id without white space or parentheses, got "u 1"'),
        ({"": []}, "kaldi", 'got ""'),
        ({"u(1)": []}, "trn", r'got "u\(1\)"'),
        ({"u1": ["a b"]}, "kaldi", 'utterance "u1": expected words without white space, got "a b"'),
        ({"u1": [""]}, "trn", 'utterance "u1": expected words without white space, got ""'),
    ],
)
def test_what_cannot_be_written(transcripts, format, message):
    with pytest.raises(CorpusError, match=message):
        format_transcripts(transcripts, format)


class TestTextOrFile:
    def test_itself(self) -> None:
        for text in ("YES NO", "", "a.b", "v1.0 IS NOT A.TXTFILE", "x." * 3000):
            assert text_or_file(text) == text

    def test_file(self, tmp_path: Path) -> None:
        (tmp_path / "x.txt").write_bytes("\ufeffÉTÉ\n".encode())
        assert text_or_file(str(tmp_path / "x.txt")) == "ÉTÉ\n"

    @pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"\xe9", "not UTF-8")])
    def test_bad_file(self, tmp_path: Path, content: bytes | None, message: str) -> None:
        if content is not None:
            (tmp_path / "x.lab").write_bytes(content)
        with pytest.raises(ConfigError, match=rf"x\.lab: {message}.*expected a transcript"):
            text_or_file(str(tmp_path / "x.lab"))
