"""Tables "id value" and transcripts: every fault with its line."""

from pathlib import Path

import pytest

from asr.formats.tables import first_rows, read_rows, read_speakers, read_table, read_text, words_of


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
    assert table.rows == {"a": (1, "anna"), "c": (4, "carl_x")}
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


def fields_of(path: Path) -> list[dict[str, str]]:
    return [dict(row.fields) for row in read_rows(path)[0]]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_of_csv(tmp_path: Path, delimiter: str) -> None:
    path = write(tmp_path / "a.csv", f"File{delimiter}TEXT\nx.wav{delimiter}yes\n")
    assert fields_of(path) == [{"file": "x.wav", "text": "yes"}]


def test_quotes_line_ends_and_mark_of_csv(tmp_path: Path) -> None:
    text = '\ufefffile,text\r\nx.wav,"yes, ""no"""\r\n"y.wav","two\r\nlines"\r\n\r\nz.wav, go \r\n'
    path = write(tmp_path / "a.csv", text)
    assert fields_of(path) == [
        {"file": "x.wav", "text": 'yes, "no"'},
        {"file": "y.wav", "text": "two\nlines"},
        {"file": "z.wav", "text": "go"},
    ]
    assert [row.where for row in read_rows(path)[0]] == ["a.csv:2", "a.csv:3", "a.csv:6"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "a.tsv", "file\ttext\nx.wav\tnaïve é\n".encode(encoding))
    assert fields_of(path) == [{"file": "x.wav", "text": "naïve é"}]


def test_another_encoding_is_a_problem(tmp_path: Path) -> None:
    rows, problems = read_rows(write(tmp_path / "a.tsv", "file\ttext\nx.wav\té\n".encode("latin-1")))
    assert rows == []
    assert [str(p) for p in problems] == [
        "a.tsv:2: not UTF-8, expected a table in UTF-8; convert it with iconv"
    ]


def test_a_quote_that_is_not_closed_is_a_problem(tmp_path: Path) -> None:
    rows, problems = read_rows(write(tmp_path / "a.csv", 'file,text\nx,yes\ny,"no\nz,go\n'))
    assert [row.fields["text"] for row in rows] == ["yes"]
    assert str(problems[0]).startswith("a.csv:3: the row that starts here cannot be read (")


def test_rows_of_another_length(tmp_path: Path) -> None:
    rows, problems = read_rows(write(tmp_path / "a.csv", "file,text\nx,yes, sir\ny\nz,go\n"))
    assert [dict(row.fields) for row in rows] == [{"file": "y"}, {"file": "z", "text": "go"}]
    assert [str(p) for p in problems] == [
        "a.csv:2: 3 fields, expected 2 as in the header; put the text in quotes"
    ]


def test_jsonl(tmp_path: Path) -> None:
    text = '{"file_name": "x.wav", "text": "yes", "n": 3, "speaker": null}\n\n[1]\n{"a"\n' + "[" * 100000
    rows, problems = read_rows(write(tmp_path / "a.jsonl", text))
    assert [dict(row.fields) for row in rows] == [
        {"file_name": "x.wav", "text": "yes", "n": "3", "speaker": ""}
    ]
    assert [p.where for p in problems] == ["a.jsonl:3", "a.jsonl:4", "a.jsonl:5"]
    assert problems[0].what == "no JSON object, expected one a line; correct the line"


def test_the_head_of_a_long_table_is_enough(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "file\ttext\n" + "x.wav\té é é\n" * 10000)
    assert [row.where for row in first_rows(path)] == [f"a.tsv:{n}" for n in range(2, 22)]
    assert first_rows(write(tmp_path / "b.tsv", b"\xff\xff\xff")) == []
    assert first_rows(tmp_path / "none.tsv") == []
