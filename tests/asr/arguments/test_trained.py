"""What verbs take that use a trained model."""

import argparse
from pathlib import Path

import pytest

from asr.arguments.trained import add_experiment, add_judging, add_model, add_model_and_grammar


def test_where_the_model_is_and_which_it_is() -> None:
    parser = argparse.ArgumentParser()
    add_experiment(parser)
    add_model(parser)
    assert vars(parser.parse_args(["e"])) == {"experiment": Path("e"), "model": None}
    assert parser.parse_args(["e", "--model", "npd"]).model == "npd"


def test_the_grammar_comes_with_the_model() -> None:
    parser = argparse.ArgumentParser()
    add_model_and_grammar(parser)
    assert vars(parser.parse_args([])) == {"model": None, "grammar": None}
    given = parser.parse_args(["--model", "npd", "--grammar", "loop"])
    assert vars(given) == {"model": "npd", "grammar": "loop"}


def test_words_are_judged_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_judging(parser)
    assert vars(parser.parse_args(["--reject"])) == {"reject": True, "keywords": False}
    assert vars(parser.parse_args(["--keywords"])) == {"reject": False, "keywords": True}
    with pytest.raises(SystemExit, match="2"):
        parser.parse_args(["--reject", "--keywords"])
    assert "argument --keywords: not allowed with argument --reject" in capsys.readouterr().err
