"""The parser: verbs in groups, options anywhere, one line with a hint for what it cannot understand."""

import argparse
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import GROUPS, command_line
from asr.commands.parsing import (
    CommandLine,
    Verb,
    add_experiment,
    add_judging,
    add_model,
    add_model_and_grammar,
)

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


def test_without_a_verb_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        command_line().parse([])
    nothing = capsys.readouterr()
    with pytest.raises(SystemExit, match=r"^0$"):
        command_line().parse(["--help"])
    assert nothing == capsys.readouterr()
    assert nothing.out.startswith("usage: asr VERB …")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("trian folder", 'no verb "trian" (did you mean "train"?); expected one of: doctor, demo, '),
        ("xyz", 'no verb "xyz"; expected one of: doctor'),
        ("-q decode exp a.wav", '"-q" stands before the verb, expected asr VERB … -q'),
        ("''", "no verb \"''\"; expected one of: doctor"),
        (
            "decode exp a.wav --modle m",
            'decode: unknown option "--modle" (did you mean "--model"?); for example: asr decode',
        ),
        ("decode exp a.wav --zzz=3", 'decode: unknown option "--zzz"; for example'),
        ("decode exp", "decode: the following arguments are required: WAV; for example"),
        ("train folder my --out x", 'train: unexpected "my" (did you mean "--corpus my"?), expected no more'),
        ("info exp other", 'info: unexpected "other", expected no more than EXP; for example'),
        ("decode exp a.wav --format jsn", '(did you mean "json"?); for example'),
        ("train folder --out", "train: argument --out: expected one argument"),
        ("decode exp a.wav --nbest two", "decode: argument --nbest: invalid int value: 'two'"),
        ("completion bsh", '(did you mean "bash"?)'),
        ("info exp --quiet --verbose", "not allowed with argument"),
    ],
)
def test_refusals(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)


def test_every_verb_has_an_example() -> None:
    line = command_line()
    assert [verb for verbs in GROUPS.values() for verb in verbs] == list(line.parsers)
    for name, verb in line.verbs.items():
        words = re.sub(r" >.*", "", verb.example).split()
        assert words[:2] == ["asr", name]
        assert line.parse(words[1:]).verb == name


def test_help_of_a_verb_ends_with_its_example() -> None:
    line = command_line()
    for name, parser in line.parsers.items():
        said = parser.format_help()
        assert said.endswith(f"example:\n\n  {line.verbs[name].example}\n")
        assert "--quiet" in said
        assert ("--json" in said) == (name != "completion")
        unexplained = [action.dest for action in parser.actions if not action.help]
        assert unexplained == []


def test_verbs_are_shown_in_groups(refused: Refused) -> None:
    first, second = (
        Verb(f"do {name}", lambda parser: None, lambda options: 0, f"asr {name}") for name in "ab"
    )
    line = CommandLine("x.", {"first": {"a": first}, "second": {"b": second}})
    assert "  first\n    a  do a\n\n  second\n    b  do b\n" in line.parser.format_help()
    assert "more: asr a --help" in refused("a --x", line)


def test_where_the_model_is_and_which_it_is() -> None:
    parser = argparse.ArgumentParser()
    add_experiment(parser)
    add_model(parser)
    assert vars(parser.parse_args(["e"])) == {"experiment": Path("e"), "model": None}
    assert parser.parse_args(["e", "--model", "pools"]).model == "pools"


def test_the_grammar_comes_with_the_model() -> None:
    parser = argparse.ArgumentParser()
    add_model_and_grammar(parser)
    assert vars(parser.parse_args([])) == {"model": None, "grammar": None}
    given = parser.parse_args(["--model", "pools", "--grammar", "loop"])
    assert vars(given) == {"model": "pools", "grammar": "loop"}


def test_words_are_judged_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_judging(parser)
    assert vars(parser.parse_args(["--reject"])) == {"reject": True, "keywords": False}
    assert vars(parser.parse_args(["--keywords"])) == {"reject": None, "keywords": True}
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--reject", "--keywords"])
    assert "argument --keywords: not allowed with argument --reject" in capsys.readouterr().err
    said = " ".join(parser.format_help().split())
    assert "not spoken (the default where the model has a list of commands)" in said
