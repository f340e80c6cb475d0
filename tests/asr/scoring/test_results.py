"""``results.json`` and the table a person reads."""

import json
from dataclasses import replace
from pathlib import Path

from asr.scoring.results import Result, best_model, format_results, read_results, write_results

ROW = Result("gmm", "best", "test", "loop", 91.5, 1, 2, 3, 40, (88.0, 94.04), 70.0, 12, 0)


class TestResults:
    def test_round_trip(self, tmp_path: Path) -> None:
        write_results([ROW], tmp_path, synthetic=True)
        assert read_results(tmp_path) == (ROW,)
        assert json.loads((tmp_path / "results.json").read_text())["synthetic"] is True

    def test_table(self) -> None:
        head, rule, row = format_results([ROW]).splitlines()
        assert len({len(line) for line in (head, rule, row)}) == 1
        assert row.split() == ["gmm", "loop", "test", "40", "91.50", "88.0–94.0", "1", "2", "3", "70.0"]

    def test_notes(self) -> None:
        assert "SYNTHETIC speech" in format_results([ROW], synthetic=True)
        incomplete = Result(**{**ROW.__dict__, "incomplete": 2})
        assert "2 decoding(s) ended without a complete sentence" in format_results([incomplete])
        assert "SYNTHETIC" not in format_results([ROW])

    def test_nothing(self) -> None:
        head, rule = format_results([]).splitlines()
        words = "model grammar split words word acc % 95 % interval sub del ins sent acc %"
        assert head.split() == words.split()
        assert rule == "-----  -------  -----  -----  ----------  -------------  ---  ---  ---  ----------"


class TestBestModel:
    def test_of_equals_discriminants_then_what_is_the_best_now(self) -> None:
        rows = [
            replace(ROW, model=m, split="dev", word_accuracy=a)
            for m, a in {"gmm": 98.0, "pools": 98.0}.items()
        ]
        assert best_model(rows, ["gmm", "pools"], "gmm") == ("pools", {"gmm": 98.0, "pools": 98.0})
        more = [*rows, replace(ROW, model="svm", split="dev", word_accuracy=98.0)]
        assert best_model(more, ["gmm", "pools", "svm"], "svm")[0] == "svm"
        assert best_model(more, ["gmm", "pools", "svm"])[0] == "pools"
        better = [*more, replace(ROW, model="gmm16", split="dev", word_accuracy=98.1)]
        assert best_model(better, ["gmm", "pools", "svm", "gmm16"])[0] == "gmm16"
