"""Rows of tables, also of such as no program should have written."""

from pathlib import Path

import pytest

from asr.formats.tables import first_rows, read_rows


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
