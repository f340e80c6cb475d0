"""Results as JSON: each verb prints what the page of commands says, and nothing else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import GROUPS, main
from asr.commands.data import lexicon_record, problems_record
from asr.commands.printing import to_json
from asr.errors import Problem
from asr.training.fit import Suspicious, write_suspicious
from decoder.lexicon import Lexicon

Printed = Callable[..., object]
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}
SHAPES = {name: verb.prints for name, verb in VERBS.items()} | {
    f"{name} {option}": keys for name, verb in VERBS.items() for option, keys in verb.also_prints.items()
}


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Return a function that gives what a verb prints with ``--json``, parsed strictly."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    def of(*arguments: str | Path) -> object:
        capsys.readouterr()
        assert main([*map(str, arguments), "--json", "--quiet"]) == 0
        out, errors = capsys.readouterr()
        assert errors == ""
        return json.loads(out, parse_constant=refuse)

    return of


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder of small files."""
    (tmp_path / "ref").write_text("u1 A B C\nu2 D\n")
    (tmp_path / "hyp").write_text("u1 A X C\nu2 D\n")
    (tmp_path / "text").mkdir()
    (tmp_path / "text/t.txt").write_text("A B\nB A\n")
    write_suspicious([Suspicious("u1", "A B", None, ("it clips",), False)], 9, tmp_path)
    return tmp_path


def lines(trained: Path, tones: Path, files: Path, wav: Path) -> dict[str, list[str | Path]]:
    """Return a command line for each shape but those of verbs that take long."""
    text = wav.with_suffix(".txt")
    (task,) = (trained / "stages").glob("task-*")
    shutil.copytree(task, files / "exp" / "stages" / task.name)
    shutil.copytree(trained / "models/gmm2", files / "other")
    first = (task / "train" / "text").read_text().split()[0]
    return {
        "decode": ["decode", trained, wav, wav.with_name("1.wav"), "--nbest", "2"],
        "align": ["align", trained, wav, text],
        "score": ["score", files / "ref", files / "hyp"],
        "score --against": ["score", files / "ref", files / "hyp", "--against", files / "ref"],
        "evaluate": ["evaluate", trained, "--corpus", tones / "speaker 0"],
        "evaluate EXP EXP2": ["evaluate", trained, files / "other", "--corpus", tones / "speaker 0"],
        "validate": ["validate", tones],
        "validate --suspicious": ["validate", files, "--suspicious"],
        "validate --correct": ["validate", files / "exp", "--correct", first, "ASA"],
        "validate --show-text": ["validate", tones, "--show-text"],
        "lexicon": ["lexicon", tones],
        "lm": ["lm", files / "text/t.txt", "--test", files / "text/t.txt"],
        "export": ["export", trained, "--what", "scores", "--corpus", wav.parent, "--out", files / "s"],
        "info": ["info", trained, "--measure", wav],
        "clean": ["clean", trained],
        "doctor": ["doctor", "--brief"],
    }


def test_each_shape_is_as_the_page_says(printed: Printed, trained: Path, tones: Path, files: Path) -> None:
    wav = tones / "speaker 0/0.wav"
    for shape, arguments in lines(trained, tones, files, wav).items():
        record = printed(*arguments)
        if VERBS[shape.split()[0]].each.startswith("a list"):
            assert isinstance(record, list)
            record = {key: value for each in record for key, value in each.items()}
        assert isinstance(record, dict)
        expected = set(SHAPES[shape]) | (set(SHAPES["score"]) if shape == "evaluate" else set())
        optional = {"(keys of score)", "alternatives"}
        assert expected - optional <= set(record), shape
        assert set(record) <= expected or shape == "info", shape


def test_train_and_sweep_print_their_results(
    printed: Printed, trained: Path, train_arguments: list[str], tmp_path: Path
) -> None:
    record = printed(*train_arguments, "--out", trained)
    assert [cost["model"] for cost in record.pop("models")] == ["gmm2"]
    assert record == json.loads((trained / "results.json").read_text())
    assert set(SHAPES["train"]) == {"results", "inputs", "synthetic", "models"}
    out = tmp_path / "exp"
    shutil.copytree(trained / "stages", out / "stages")
    arguments = ["sweep", *train_arguments[1:], "--out", out, "--set", "grammars=loop;bigram"]
    swept = printed(*arguments)
    assert isinstance(swept, dict)
    assert list(swept) == list(SHAPES["sweep"])
    assert swept["rows"] == json.loads((out / "sweep.json").read_text())["rows"]


def test_values(printed: Printed, trained: Path, tones: Path, files: Path) -> None:
    wav = tones / "speaker 0/0.wav"
    words = wav.with_suffix(".txt").read_text().split()
    (aligned,) = printed("align", trained, wav, " ".join(words))  # type: ignore[misc, attr-defined]
    assert [word["word"] for word in aligned["words"]] == words
    assert (
        "".join(phone["phone"] for phone in aligned["phones"] if len(phone["phone"]) == 1)
        == "".join(words).lower()
    )
    assert printed("decode", trained, wav) == printed("decode", trained, wav, "--format", "json")
    both = printed("score", files / "ref", files / "hyp", "--against", files / "ref")
    assert isinstance(both, dict)
    assert both["comparison"]["difference"] == both["b"]["word_accuracy"] - both["a"]["word_accuracy"] == 25
    model = printed("lm", files / "text/t.txt", "--out", files / "m.arpa", "--order", "1")
    assert isinstance(model, dict)
    assert (model["ngrams"], model["test"]) == ([5], None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("decode e w --json --format ctm", "decode: got --json and --format ctm; expected one of them"),
        ("align e w t --json --format mlf", "align: got --json and --format mlf; expected one of them"),
        ("align e w t --json --out x", "align: --json prints what is found; expected no --out with it"),
    ],
)
def test_contradictions(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr() == ("", f"asr: {message}\n")


def test_json_is_printed_where_nothing_was_found(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(trained), "nowhere.wav", "--json"]) == 2
    out, errors = capsys.readouterr()
    assert json.loads(out) == []
    assert errors.startswith("asr: nowhere.wav: no such file")


def test_problems_are_counted(tmp_path: Path) -> None:
    found = [Problem("a", "bad"), Problem("b", "odd", "warning"), Problem(".", "so", "note")]
    record = json.loads(to_json(problems_record(found, tmp_path)))
    assert (record["errors"], record["warnings"], record["corpus"]) == (1, 1, str(tmp_path))
    assert record["problems"][1] == {"where": "b", "what": "odd", "severity": "warning"}


def test_a_lexicon_says_what_is_guessed() -> None:
    record = lexicon_record(Lexicon({"A": [("a",), ("e",)], "B": [("b",)]}, guessed=frozenset({"B"})))
    assert record["words"][0] == {"word": "A", "pronunciations": (("a",), ("e",)), "guessed": False}
    assert record["words"][1]["guessed"] is True
