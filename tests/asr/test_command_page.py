"""The page of commands is that of the parser, and says of every verb what it prints."""

from pathlib import Path

from asr.cli import WITHOUT_JSON, command_line
from asr.command_page import SHAPES, command_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"


def test_the_page_in_docs_is_up_to_date() -> None:
    message = "python -m asr.command_page > docs/commands.md"
    assert PAGE.read_text(encoding="utf-8") == command_page(), message


def test_every_verb_with_json_has_a_shape() -> None:
    verbs = [verb for verb in command_line().parsers if verb not in WITHOUT_JSON]
    assert {shape.partition(" ")[0] for shape in SHAPES} == set(verbs)


def test_every_argument_is_on_the_page() -> None:
    page = command_page()
    for verb, parser in command_line().parsers.items():
        section = page.partition(f"### asr {verb}\n")[2].partition("### asr ")[0]
        assert parser.example in section
        for action in parser.actions:
            place = action.dest if action.choices else str(action.metavar or action.dest.upper())
            names = action.option_strings or [place]
            own = action.dest not in ("help", "json", "quiet", "verbose")
            assert (f"\n| `{names[0]}" in section) == own, (verb, names)
