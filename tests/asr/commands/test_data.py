"""What the verbs that look at data hand over and print."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from asr.cli import main
from asr.errors import Problem
from asr.training.fit import Suspicious, write_suspicious
from decoder.grammars.ngram import NGram

Run = Callable[..., tuple[int, str, str]]
OneError = Callable[[tuple[int, str, str]], str]
Handed = Callable[[str, str], tuple[tuple[object, ...], dict[str, object]]]


@pytest.mark.parametrize(
    ("line", "function", "arguments", "options"),
    [
        ("validate c --lexicon l", "decoder.lexicon.Lexicon.read", (Path("l"),), {}),
        (
            "validate c --text en --speakers one",
            "validate",
            (Path("c"),),
            {"lexicon": None, "text": "en", "speakers": "one"},
        ),
        (
            "validate c --show-text",
            "asr.corpora.validation.transcripts_as_read",
            (Path("c"),),
            {"lexicon": None, "text": "plain"},
        ),
        (
            "lexicon c --english --variants 2",
            "asr.commands.data.make_lexicon",
            (Path("c"),),
            {"english": True, "source": None, "variants": 2},
        ),
        (
            "lexicon c --from l",
            "asr.commands.data.make_lexicon",
            (Path("c"),),
            {"english": False, "source": Path("l"), "variants": 1},
        ),
    ],
)
def test_options_reach_the_function(
    handed: Handed, line: str, function: str, arguments: tuple[object, ...], options: dict[str, object]
) -> None:
    assert handed(line, function) == (arguments, options)


@pytest.mark.parametrize("has_errors", [False, True])
def test_a_corpus_with_errors_is_bad_input(
    has_errors: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Problem("a", "one", "error" if has_errors else "warning")]
    monkeypatch.setattr("asr.corpora.validation.validate", lambda *given, **options: found)
    assert main(["validate", "c"]) == (2 if has_errors else 0)
    with_error = ["error: a: one", "c: 1 error(s), 0 warning(s)", "next: correct or remove what has errors"]
    expected = with_error if has_errors else ["warning: a: one", "c: 0 error(s), 1 warning(s)"]
    out, errors = capsys.readouterr()
    assert ([line.removesuffix(", then run this again") for line in out.splitlines()], errors) == (
        expected,
        "",
    )


def test_validate(run: Run, one_error: OneError, tones: Path, tmp_path: Path) -> None:
    code, out, _ = run("validate", tones)
    *notes, amount, wrong, advice = out.splitlines()
    assert code == 0
    assert {line.split(": ")[0] for line in notes} == {"note"}
    assert amount.startswith(f"{tones.name}: 35 seconds of 8 speaker(s), 96 words, 4 of them different")
    assert wrong == f"{tones.name}: 0 error(s), 0 warning(s): nothing wrong was found"
    assert advice.startswith(
        f"next: asr train {shlex.quote(str(tones))}; record more: below 18 minutes every"
    )
    (tmp_path / "a.wav").write_bytes(b"")
    (tmp_path / "a.txt").write_text("A\n")
    code, out, _ = run("validate", tmp_path)
    assert code == 2
    assert out.splitlines()[0].startswith(f"error: a: {tmp_path / 'a.wav'}: empty file; expected an audio")
    assert out.splitlines()[-2:] == [
        f"{tmp_path.name}: 1 error(s), 1 warning(s)",
        "next: correct or remove what has errors, then run this again; it is more than asr train leaves out "
        "by itself (1 of 1 utterance(s), at most 10 % of the corpus)",
    ]
    assert "no such directory" in one_error(run("validate", tmp_path / "x"))


def test_what_training_leaves_out_by_itself_need_not_be_mended(run: Run, tones: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(tones, corpus)
    (corpus / "speaker 0/0.wav").write_bytes(b"")
    (corpus / "speaker 1/0.txt").write_text("\n")
    (corpus / "speaker 1/0.wav").write_bytes(b"")
    code, out, _ = run("validate", corpus)
    *_, wrong, advice = out.splitlines()
    assert code == 2
    assert wrong.startswith("corpus: 3 error(s), ")
    assert advice == (
        "next: correct or remove what has errors, or not: asr train leaves it out by itself (2 of 40 "
        "utterance(s), at most 10 % of the corpus)"
    )
    (corpus / "speaker 2/0.txt").unlink()  # this stops a training
    advice = run("validate", corpus)[1].splitlines()[-1]
    assert advice == "next: correct or remove what has errors, then run this again"


class TestColour:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        (tmp_path / "a.txt").write_text("A\n")
        return tmp_path

    @pytest.mark.parametrize(
        ("variables", "is_coloured"),
        [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    )
    def test_of_problems(
        self,
        run: Run,
        broken: Path,
        monkeypatch: pytest.MonkeyPatch,
        variables: dict[str, str],
        is_coloured: bool,
    ) -> None:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        code, out, _ = run("validate", broken)
        assert code == 2
        assert out.startswith("\033[31merror\033[0m: a.txt: " if is_coloured else "error: a.txt: ")
        assert "\033" not in run("validate", broken, "--json")[1]


class TestSuspicious:
    def test_of_few_utterances_nothing_is_called_right(self, run: Run, trained: Path) -> None:
        assert run("validate", trained, "--suspicious") == (
            0,
            f"{trained}: 40 utterances are too few to tell which transcripts are wrong\n",
            "",
        )

    def test_listed_by_probability(self, run: Run, tmp_path: Path) -> None:
        rows = [
            Suspicious("u1", "A B", 0.25, ("text does not fit",), False, "C D"),
            Suspicious("u2", "A", 0.4, ("text does not fit",), False, ""),
        ]
        write_suspicious(rows, 90, tmp_path)
        _, out, _ = run("validate", tmp_path, "--suspicious")
        command = f"       asr validate {tmp_path}"
        assert out.splitlines()[1:] == [
            '0.250  u1: text does not fit: "A B", heard "C D"',
            f"{command} --leave-out u1",
            f"{command} --correct u1 'C D'",
            '0.400  u2: text does not fit: "A", heard ""',
            f"{command} --leave-out u2",
            f"{command} --correct u2 'the true words'",
            f"{tmp_path}: 2 of 90 utterances look wrong, in text or sound",
        ]
        (tmp_path / "corrections.txt").write_text("u1\nu2 A\n")
        _, out, _ = run("validate", tmp_path, "--suspicious")
        assert [line for line in out.splitlines()[1:] if "u1" in line] == []
        assert f"1 more are mended in {tmp_path / 'corrections.txt'}; run asr train again" in out
        write_suspicious([], 90, tmp_path)
        assert "none of 90 utterances looks wrong" in run("validate", tmp_path, "--suspicious")[1]

    def test_a_directory_without_a_list(self, run: Run, one_error: OneError, tones: Path) -> None:
        assert "no suspicious.json in it" in one_error(run("validate", tones, "--suspicious"))


def test_lexicon(run: Run, tones: Path) -> None:
    lines = "ASA a s a\nIMI i m i\nMAUI m a u i\nSUS s u s\n"
    assert run("lexicon", tones) == (0, lines, "")


def test_lexicon_with_guesses_marks_them_and_says_what_is_missing(
    run: Run, tones: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own.txt"
    own.write_text("MAMI M A M I\nIMAMI I M A M I\nAMI A M I\nASA A S A\nSIMSI S I M S I\n")
    code, out, errors = run("lexicon", tones, "--from", own)
    assert (code, out) == (0, "ASA A S A\nIMI I M I  # guessed\n")
    lines = [line for line in errors.splitlines() if " so far" not in line]  # of a busy machine
    assert lines[0] == f"1 of 4 words are not in {own}, guessed from it (marked # guessed): IMI"
    assert re.fullmatch(rf"of 5 words of {own}, held out as a test, [\d.]+ % came out wrong, .*", lines[1])
    assert lines[3:] == [
        '  word "MAUI" has "u", which no word of the lexicon has',
        '  word "SUS" has "u", which no word of the lexicon has',
    ]
    (tmp_path / "lexicon.txt").write_text(out)
    assert run("lexicon", tones, "--from", tmp_path / "none.txt")[0] == 2


def test_lm_says_the_sizes_and_the_perplexity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A A\nA\n")
    (tmp_path / "test.txt").write_text("A B\n")
    out = tmp_path / "m.arpa"
    options = ["--order", "1", "--out", str(out), "--test", str(tmp_path / "test.txt")]
    assert main(["lm", str(text), *options]) == 0
    # Counts 3 and 2 of 5, discounts 1.5 and 1, in three equal parts: A 1.4 / 3, </s> 1.1 / 3, <unk> 0.5 / 3.
    assert capsys.readouterr().out == (
        "text: 2 sentence(s), 3 word(s), none of them unknown\n"
        "model: 4 1-grams\n"
        "test: 1 sentence(s), 2 word(s), 1 of them (50.00 %) unknown: B (1)\n"
        f"perplexity: {(9 / 1.4 / 1.1) ** (1 / 2):.2f} without the unknown words, "
        f"{(27 / 1.4 / 1.1 / 0.5) ** (1 / 3):.2f} with them\n"
    )
    assert set(NGram.read(out).log10_probs[0]) == {("A",), ("<s>",), ("</s>",), ("<unk>",)}


def test_lm_has_something_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lm", "text.txt"]) == 2
    message = "lm: expected --out FILE.arpa to write the model, --test TEXT to test it, or both"
    assert capsys.readouterr() == ("", f"asr: {message}\n")


Taken = Callable[[str], dict[str, object]]
HelpOf = Callable[[str], str]
Refused = Callable[[str], str]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "validate c",
            {
                "lexicon": None,
                "text": "plain",
                "show_text": False,
                "suspicious": False,
                "speakers": None,
                "correct": [],
                "leave_out": [],
                "corpus": Path("c"),
            },
        ),
        ("lexicon c", {"english": False, "source": None, "variants": 1, "corpus": Path("c")}),
        (
            "lm t",
            {
                "order": 3,
                "vocabulary": None,
                "prune": 0.0,
                "test": None,
                "out": None,
                "reading": "plain",
                "text": Path("t"),
            },
        ),
    ],
)
def test_defaults(taken: Taken, line: str, expected: dict[str, object]) -> None:
    assert taken(line) == expected


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("lexicon", "--from LEXICON"),
        ("lm", "--out FILE.arpa"),
    ],
)
def test_help(help_of: HelpOf, verb: str, expected: str) -> None:
    assert expected in help_of(verb)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lm", "arguments are required: text"),
        ("lm t --prune little", "argument --prune: invalid float value: 'little'"),
    ],
)
def test_refused(refused: Refused, line: str, expected: str) -> None:
    assert expected in refused(line)
