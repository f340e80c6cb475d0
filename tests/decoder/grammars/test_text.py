"""The text of grammars' files; their errors are tested with each kind of grammar."""

from pathlib import Path

from decoder.grammars.grammar import grammar_lines, grammar_text


def test_line_ends_marks_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("\ufeffone\r\n\r\n # two\rthree \n".encode())
    assert grammar_text(path) == "one\n\n # two\nthree \n"
    assert list(grammar_lines(path)) == [(1, "one"), (4, "three")]
