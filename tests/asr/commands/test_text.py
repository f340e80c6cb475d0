"""What verbs print for people."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.commands.begin import after_demo, word_times
from asr.commands.data import language_model_text, problem_lines
from asr.commands.models import results_table
from asr.commands.recordings import accuracy_of_files, evaluation
from asr.corpora.validation import validate
from asr.errors import CorpusError, Problem, ScoringError
from asr.language.language_model import Fit, LanguageModel, Usage
from asr.scoring.results import Result, write_results
from asr.scoring.scoring import score
from decoder.decoder import Hypothesis, HypothesisWord
from decoder.grammars.ngram import NGram

Run = Callable[..., tuple[int, str, str]]
WORDS = (HypothesisWord("YES", 0.0, 0.25, -1.0, 0.5), HypothesisWord("NO", 0.3, 0.62, -2.0))
FOUND = Hypothesis(WORDS, -3.0, True, (Hypothesis(WORDS[:1], -4.5, True, ()),))
PARTIAL = Hypothesis((), -9.0, False, ())
ROW = Result("gmm", "best", "test", "loop", 91.5, 1, 2, 3, 40, (88.0, 94.04), 70.0, 12, 0)


class TestWordTimes:
    def test_times_as_a_table(self) -> None:
        head, yes, no = word_times(FOUND).splitlines()
        assert head.split() == ["start", "s", "end", "s", "confidence", "word"]
        assert (yes.split(), no.split()) == (["0.00", "0.25", "0.50", "YES"], ["0.30", "0.62", "NO"])


class TestResultsTable:
    def test_synthetic_speech_is_said_and_the_place(self, tmp_path: Path) -> None:
        write_results([ROW], tmp_path, synthetic=True)
        assert "SYNTHETIC speech" in results_table([ROW], tmp_path)
        write_results([ROW], tmp_path, synthetic=False)
        table = results_table([ROW], tmp_path)
        assert "SYNTHETIC" not in table
        assert table.endswith(f"\n\n{tmp_path / 'results.json'}")


class TestEvaluation:
    RESULT = score({"u1": ["YES", "NO"], "u2": ["NO"]}, {"u1": ["YES", "NO"], "u2": []})

    def test_what_is_incomplete_is_counted_and_named(self) -> None:
        text = evaluation(self.RESULT, {"u1": FOUND, "u2": PARTIAL}, as_json=False)
        assert text.startswith("word accuracy 66.67 %")
        what = "1 ended without a complete sentence, the best partial words were scored"
        assert text.endswith(f"\n\n{what}: u2")
        assert "complete" not in evaluation(self.RESULT, {"u1": FOUND}, as_json=False)

    def test_what_failed_is_in_json_with_its_words(self) -> None:
        result = replace(self.RESULT, not_decoded={"u0": 4})
        found = {"u0": CorpusError("u0: empty"), "u1": FOUND, "u2": PARTIAL}
        record = json.loads(evaluation(result, found, as_json=True))
        assert record["failed"] == [{"utterance": "u0", "words": 4, "error": "u0: empty"}]
        assert record["incomplete"] == ["u2"]
        text = evaluation(result, found, as_json=False)
        assert "\nnot decoded, in no count: 1 utterance with 4 words: u0\n" in text

    def test_json(self) -> None:
        record = json.loads(evaluation(self.RESULT, {"u1": FOUND, "u2": PARTIAL}, as_json=True))
        assert (record["words"], record["deletions"], record["incomplete"]) == (3, 1, ["u2"])


class TestAccuracyOfFiles:
    def text(self, tmp_path: Path, **changes: object) -> str:
        (tmp_path / "ref").write_text("u1 YES NO\nu2 NO\n")
        (tmp_path / "hyp").write_text("u1 YES no\nu2 NO\n")
        (tmp_path / "all").write_text("u1 YES NO\nu2 NO\n")
        (tmp_path / "utt2spk").write_text("u1 anna\nu2 ben\n")
        options: dict[str, object] = {
            "against": None,
            "rule": "nist",
            "file_format": None,
            "utt2spk": None,
            "ignore_case": False,
            "in_plain_form": False,
            "as_json": False,
        }
        return accuracy_of_files(tmp_path / "ref", tmp_path / "hyp", **(options | changes))  # type: ignore[arg-type]

    def test_case_counts_unless_it_is_ignored(self, tmp_path: Path) -> None:
        assert self.text(tmp_path).startswith("word accuracy 66.67 %")
        assert self.text(tmp_path, ignore_case=True).startswith("word accuracy 100.00 %")

    def test_punctuation_counts_unless_both_are_in_plain_form(self, tmp_path: Path) -> None:
        (tmp_path / "ref").write_text("u1 Yes, no! [coughs]\nu2 NO\n")
        (tmp_path / "hyp").write_text("u1 YES no\nu2 no\n")
        files = {"against": None, "rule": "nist", "file_format": None, "utt2spk": None}
        files |= {"ignore_case": True, "as_json": False}
        said = [
            accuracy_of_files(tmp_path / "ref", tmp_path / "hyp", in_plain_form=plain, **files)  # type: ignore[arg-type]
            for plain in (False, True)
        ]
        assert [text.split()[2] for text in said] == ["25.00", "100.00"]

    def test_what_holds_no_hypotheses_is_refused(self, run: Run, tmp_path: Path) -> None:
        """An empty file is no recogniser that hears nothing, a master label file no text of Kaldi's."""
        reference, empty, labels = (tmp_path / name for name in ("ref", "empty", "labels.mlf"))
        reference.write_text("u1 ONE TWO\n")
        empty.write_text("\n")
        labels.write_text('#!MLF!#\n"*/u1.lab"\nONE\nTWO\n.\n')
        assert run("score", reference, empty) == (
            2,
            "",
            f"asr: {empty}: no utterance in it, expected those of {reference}; check the file\n",
        )
        assert f"{empty}: no utterance in it" in run("score", reference, reference, "--against", empty)[2]
        code, out, errors = run("score", reference, labels)
        assert (code, out) == (2, "")
        assert errors.startswith(
            f"asr: {labels}: a master label file of HTK, expected a line for each utterance"
        )

    def test_the_counts_of_hresults(self, tmp_path: Path) -> None:
        (tmp_path / "r").write_text("u1 a b c\nu2 x y\n")
        (tmp_path / "h").write_text("u1 c d e\nu2 x y\n")
        files = {"against": None, "file_format": None, "utt2spk": None, "ignore_case": False}
        files |= {"in_plain_form": False, "as_json": False}
        nist, htk = (
            accuracy_of_files(tmp_path / "r", tmp_path / "h", rule=rule, **files)  # type: ignore[arg-type]
            for rule in ("nist", "htk")
        )
        assert "5 words, 3 substituted, 0 deleted, 0 inserted" in nist
        assert htk.splitlines()[-2:] == [
            "SENT: %Correct=50.00 [H=1, S=1, N=2]",
            "WORD: %Corr=60.00, Acc=20.00 [H=3, D=2, S=0, I=2, N=5]",
        ]

    def test_speakers(self, tmp_path: Path) -> None:
        lines = self.text(tmp_path, utt2spk=tmp_path / "utt2spk").splitlines()
        assert [line.split()[:2] for line in lines if line.startswith(("anna", "ben"))] == [
            ["anna", "50.00"],
            ["ben", "100.00"],
        ]
        (tmp_path / "bad").write_text("u1 anna x\nu2 ben\n")
        with pytest.raises(ScoringError, match=r'bad: "u1" has no single speaker, expected lines'):
            self.text(tmp_path, utt2spk=tmp_path / "bad")

    def test_against_another(self, tmp_path: Path) -> None:
        text = self.text(tmp_path, against=tmp_path / "all")
        assert "word accuracy A 66.67 %, B 100.00 %" in text
        both = json.loads(self.text(tmp_path, against=tmp_path / "all", as_json=True))
        assert sorted(both) == ["a", "b", "comparison"]
        assert (both["a"]["substitutions"], both["b"]["substitutions"]) == (1, 0)
        assert both["comparison"]["n_better_b"] == 1


class TestProblems:
    def test_a_line_each_and_their_number(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("YES")
        lines = problem_lines(validate(tmp_path), tmp_path)
        assert lines[0].startswith("error: a.txt: no recording, expected one of the same name beside it")
        assert lines[-2] == f"{tmp_path.name}: 1 error(s), 0 warning(s)"

    def test_errors_come_first_and_what_is_of_all_has_the_name_of_the_corpus(self) -> None:
        found = [
            Problem(".", "so", "note"),
            Problem("u1", "odd", "warning"),
            Problem("train", "1 minute", "summary"),
            Problem("test", "2 seconds", "summary"),
            Problem(".", "bad"),
            Problem("train", "next: record more", "summary"),
        ]
        lines = problem_lines(found, Path("/corpora/mine"))
        assert lines == [
            "error: mine: bad",
            "warning: u1: odd",
            "note: mine: so",
            "train: 1 minute; test: 2 seconds",
            "mine: 1 error(s), 1 warning(s)",
            "next: correct or remove what has errors, then run this again",
        ]
        assert problem_lines([p for p in found if p.severity != "error"], Path("/my corpora/mine"))[-1] == (
            "next: asr train '/my corpora/mine'; record more"
        )


def test_changed_transcripts_are_shown_as_they_stand_and_as_they_are_read(run: Run, tmp_path: Path) -> None:
    def shown(texts: dict[str, str]) -> str:
        for name, text in texts.items():
            soundfile.write(tmp_path / f"{name}.wav", np.full(800, 0.1), 8000)
            (tmp_path / f"{name}.txt").write_text(text)
        code, out, errors = run("validate", tmp_path, "--show-text")
        assert (code, errors) == (0, "")
        return out

    nothing = "no transcript is read as other words\n"
    assert shown({"b": "yes", "c": "no"}) == nothing
    others = "1 transcript(s) differ from what is read in case and punctuation alone\n"
    assert shown({"a1": "Yes, no!"}) == nothing + others
    assert shown({"a2": "Yes-no. [laughs]"}) == f"a2: Yes-no. [laughs]\n  > yes no [noise]\n{others}"
    record = json.loads(run("validate", tmp_path, "--show-text", "--json")[1])
    changed = [{"utterance": "a2", "written": "Yes-no. [laughs]", "read": "yes no [noise]"}]
    assert record == {"changed": changed, "case_and_punctuation": 1}


def test_after_the_demo_come_commands_that_a_shell_understands() -> None:
    said = after_demo(Path("my exp"), Path("my exp/new.wav")).splitlines()
    assert said[0] == "next:"
    words = [shlex.split(line, comments=True) for line in said[1:]]
    assert words == [
        ["asr", "info", "my exp"],
        ["asr", "decode", "my exp", "my exp/new.wav"],
        ["asr", "train", "MY_RECORDINGS", "--out", "exp/mine"],
    ]


class TestLanguageModel:
    NGRAM = NGram.estimate([("A", "B")], 2)

    def test_unknown_words_are_counted_and_the_most_frequent_named(self) -> None:
        text = Usage(1200, 4000, {f"w{n:02}": 20 - n for n in range(12)})
        said = language_model_text(LanguageModel(self.NGRAM, text)).splitlines()
        assert said[0].startswith(
            "text: 1,200 sentence(s), 4,000 word(s), 174 of them (4.35 %) unknown: w00 (20)"
        )
        assert said[0].endswith("w09 (11) and 2 more")
        assert said[1:] == ["model: 4 1-grams, 3 2-grams"]

    def test_perplexities(self) -> None:
        model = LanguageModel(self.NGRAM, Usage(1, 2, {}), Fit(1, 2, {}, 2.5, 3.75))
        assert language_model_text(model).splitlines()[2:] == [
            "test: 1 sentence(s), 2 word(s), none of them unknown",
            "perplexity: 2.50 without the unknown words, 3.75 with them",
        ]
