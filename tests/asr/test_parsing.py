"""The parser: verbs in groups, options anywhere, one line with a hint for what it cannot understand."""

import re
from collections.abc import Callable

import pytest

from asr.cli import EXAMPLES, GROUPS, command_line
from asr.parsing import CommandLine

Refused = Callable[..., str]


@pytest.mark.parametrize(
    "line",
    [
        "decode exp a.wav b.wav --model m --nbest 3",
        "decode --model m exp a.wav --nbest 3 b.wav",
        "decode exp --nbest=3 a.wav --model=m b.wav",
        "decode --nbest 3 --model m exp a.wav b.wav",
        "decode --nbest 3 --model m -- exp a.wav b.wav",
    ],
)
def test_options_anywhere(line: str) -> None:
    found = command_line().parse(line.split())
    assert (found.verb, str(found.experiment), found.model, found.nbest) == ("decode", "exp", "m", 3)
    assert [str(path) for path in found.recordings] == ["a.wav", "b.wav"]


def test_optional_arguments_behind_options() -> None:
    found = command_line().parse(["align", "exp", "--format", "ctm", "a.wav", "TEXT"])
    assert (str(found.recording), found.text, found.format) == ("a.wav", "TEXT", "ctm")
    dashed = command_line().parse(["decode", "exp", "--", "-a.wav"])
    assert [str(path) for path in dashed.recordings] == ["-a.wav"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("trian folder", 'no verb "trian" (did you mean "train"?); expected one of: doctor, demo, '),
        ("xyz", 'no verb "xyz"; expected one of: doctor'),
        ("-q decode exp a.wav", '"-q" stands before the verb, expected asr VERB … -q'),
        ("", "a verb is missing, expected asr VERB …; more: asr --help"),
        (
            "decode exp a.wav --modle m",
            'decode: unknown option "--modle" (did you mean "--model"?); for example: asr decode',
        ),
        ("decode exp a.wav --zzz=3", 'decode: unknown option "--zzz"; for example'),
        ("decode exp", "decode: the following arguments are required: WAV; for example"),
        ("train folder my --out x", 'train: unexpected "my" (did you mean "--corpus my"?), expected no more'),
        ("info exp other", 'info: unexpected "other", expected no more than EXP; for example'),
        ("decode exp a.wav --format jsn", '(did you mean "json"?); for example'),
        (
            "train folder --corpus c",
            "train: the following arguments are required: --out; for example: asr train",
        ),
        ("train folder --out", "train: argument --out: expected one argument"),
        ("decode exp a.wav --nbest two", "decode: argument --nbest: invalid int value: 'two'"),
        ("completion bsh", '(did you mean "bash"?)'),
        ("info exp --quiet --verbose", "not allowed with argument"),
    ],
)
def test_refusals(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)


def test_every_verb_is_in_a_group_and_has_an_example() -> None:
    line = command_line()
    assert [verb for group in GROUPS.values() for verb in group] == list(line.parsers)
    assert set(EXAMPLES) == set(line.parsers)
    for verb, example in EXAMPLES.items():
        words = re.sub(r" >.*", "", example).split()
        assert words[:2] == ["asr", verb]
        assert line.parse(words[1:]).verb == verb


def test_help_of_a_verb_ends_with_its_example() -> None:
    for verb, parser in command_line().parsers.items():
        said = parser.format_help()
        assert said.endswith(f"example:\n\n  {EXAMPLES[verb]}\n")
        assert "--quiet" in said
        assert ("--json" in said) == (verb != "completion")
        unexplained = [action.dest for action in parser.actions if not action.help]
        assert unexplained == []


def test_verbs_that_were_put_in_no_group_are_shown(refused: Refused) -> None:
    line = CommandLine("x.", {"first": ("a",)}, {})
    for verb in ("a", "b"):
        line.verbs.add_parser(verb, help=f"do {verb}")
    line.finish()
    assert line.grouped == {"first": ["a"], "others": ["b"]}
    assert "  others\n    b  do b\n" in line.parser.format_help()
    assert "more: asr a --help" in refused("a --x", line)
