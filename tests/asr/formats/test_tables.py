"""Tables "id value" and transcripts: every fault with its line."""

from pathlib import Path

from asr.formats.tables import read_speakers, read_table, read_text, words_of


def test_rows_keep_their_line_numbers(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes("\ufeffb  NO  GO \r\n\na\tYES\nc\n".encode())
    table, problems = read_table(tmp_path / "text", "utterance-id WORD", may_be_bare=True)
    assert table is not None
    assert table.rows == {"b": (1, "NO  GO"), "a": (3, "YES"), "c": (4, "")}
    assert (table.where("a"), problems) == ("text:3", [])


def test_faulty_lines_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "utt2spk").write_text("a anna\nb\na ben\nc carl x\n")
    table, problems = read_speakers(tmp_path / "utt2spk")
    assert table is not None
    assert table.rows == {"a": (1, "anna"), "c": (4, "carl x")}
    assert list(map(str, problems)) == [
        'utt2spk:2: "b" stands alone, expected "utterance-id speaker"; complete the line',
        'utt2spk:3: duplicate id "a" (first in line 1), expected distinct ids; rename one',
        'utt2spk:4: speaker "carl x" has white space, expected one name; join it with "_"',
    ]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"A\nB \xe9\n")
    text, (problem,) = read_text(tmp_path / "x.txt", "d/x.txt", "the words spoken")
    assert text is None
    assert str(problem) == "d/x.txt:2: not UTF-8, expected the words spoken in UTF-8; convert it with iconv"
    table, (problem,) = read_speakers(tmp_path / "none")
    assert table is None
    assert str(problem) == (
        "none: cannot be read (No such file or directory), "
        'expected lines "utterance-id speaker"; write the file'
    )


def test_words_are_composed_and_otherwise_left_alone() -> None:
    assert words_of(" E\u0301te\u0301\tno,\nZERO ") == ("\u00c9t\u00e9", "no,", "ZERO")
