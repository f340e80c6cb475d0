"""Rows of a sweep: costs, the best on dev, and differences that are those of `compare`."""

import dataclasses
from collections.abc import Sequence

import pytest

from asr.commands.sweeps import Outcome, sweep_rows
from asr.scoring.results import Result
from asr.scoring.scoring import Transcripts, compare, score

SAID = {f"u{n}": ("A", "B", "C") for n in range(12)}


def heard(n_wrong: int) -> Transcripts:
    """Return the same utterances, of which the first have an error each."""
    return {name: ("A", "X", "C") if n < n_wrong else words for n, (name, words) in enumerate(SAID.items())}


def outcome(point: str, n_wrong: dict[tuple[str, str, str], int], **options: object) -> Outcome:
    """Return a point with a row for each model, split and grammar with so many errors."""
    transcripts = {}
    for (model, split, grammar), n in n_wrong.items():
        accuracy = score(SAID, heard(n))
        row = Result.of(accuracy, model=model, preset="best", split=split, grammar=grammar, incomplete=0)  # type: ignore[arg-type]
        transcripts[row] = (SAID, heard(n))
    found = Outcome(point, {"a": point}, tuple(transcripts), transcripts)
    return dataclasses.replace(found, **options)  # type: ignore[arg-type]


def simple(point: str, dev: int, test: int, **options: object) -> Outcome:
    return outcome(point, {("m", "dev", "loop"): dev, ("m", "test", "loop"): test}, **options)


class TestDifferences:
    def test_are_those_of_compare_on_test(self) -> None:
        first, second = sweep_rows([simple("1", 0, 8), simple("2", 0, 2)], "1")
        expected = compare(SAID, heard(8), heard(2))
        assert first.difference is None
        found = second.difference
        assert found is not None
        assert (found.split, found.points) == ("test", round(100 * 6 / 36, 3))
        assert found.interval == tuple(round(edge, 3) for edge in expected.interval)
        assert (found.p_value, found.sign_test_p_value) == (expected.p_value, 2 * 0.5**6)
        assert 0 < found.interval[0] < found.points < found.interval[1]

    def test_of_dev_without_test(self) -> None:
        rows = sweep_rows([outcome(p, {("m", "dev", "loop"): n}) for p, n in (("1", 3), ("2", 5))], "1")
        assert rows[1].difference is not None
        assert rows[1].difference.split == "dev"
        assert (rows[1].test, rows[1].test_interval) == (None, None)

    def test_to_another_point_than_the_first(self) -> None:
        rows = sweep_rows([simple("1", 0, 8), simple("2", 0, 2)], "2")
        assert rows[0].difference is not None
        assert rows[0].difference.points < 0
        assert rows[1].difference is None

    def test_only_with_the_same_model_and_grammar(self) -> None:
        first = outcome("1", {("m", "test", "loop"): 4, ("n", "test", "loop"): 1})
        second = outcome("2", {("m", "test", "bigram"): 4, ("n", "test", "loop"): 4})
        points = [row.difference and row.difference.points for row in sweep_rows([first, second], "1")]
        assert points == [None, None, None, round(-100 * 3 / 36, 3)]

    @pytest.mark.parametrize(
        "other", [{"u0": ("A",)}, {**SAID, "u0": ("A", "B", "D")}, {**SAID, "v": ("A",)}]
    )
    def test_not_of_other_words(self, other: Transcripts) -> None:
        second = simple("2", 0, 2)
        changed = {row: (other, {name: other[name] for name in other}) for row in second.transcripts}
        rows = sweep_rows([simple("1", 0, 8), dataclasses.replace(second, transcripts=changed)], "1")
        assert rows[1].difference is None

    def test_not_to_a_point_that_failed_or_is_yet_to_come(self) -> None:
        failed = Outcome("1", {"a": "1"}, error="no")
        assert sweep_rows([failed, simple("2", 0, 1)], "1")[1].difference is None
        assert sweep_rows([simple("1", 0, 1)], "2")[0].difference is None


class TestBest:
    def best(self, outcomes: Sequence[Outcome]) -> list[tuple[str, str, str]]:
        return [(r.point, r.model, r.grammar) for r in sweep_rows(outcomes, "1") if r.best_on_dev]

    def test_is_chosen_by_dev_whatever_test_says(self) -> None:
        assert self.best([simple("1", 5, 0), simple("2", 3, 9), simple("3", 4, 1)]) == [("2", "m", "loop")]

    def test_of_equals_the_first(self) -> None:
        assert self.best([simple("1", 5, 0), simple("2", 3, 1), simple("3", 3, 0)]) == [("2", "m", "loop")]

    def test_one_for_each_grammar_over_all_models(self) -> None:
        def wrong(*numbers: int) -> dict[tuple[str, str, str], int]:
            kinds = [(m, "dev", g) for m in ("m", "n") for g in ("loop", "bigram")]
            return dict(zip(kinds, numbers, strict=True))

        found = self.best([outcome("1", wrong(5, 1, 4, 2)), outcome("2", wrong(3, 2, 2, 2))])
        assert found == [("1", "m", "bigram"), ("2", "n", "loop")]

    def test_none_without_dev(self) -> None:
        assert self.best([outcome("1", {("m", "test", "loop"): 1})]) == []


class TestCosts:
    def test_shared_stages_count_for_the_first_that_has_them(self) -> None:
        costs = [{"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 4.0}, {"a": 1.0, "b": 2.0, "c": 4.0}, {"d": 8.0}]
        rows = sweep_rows([simple(str(n), 0, 0, cpu_s=c) for n, c in enumerate(costs)], "0")
        assert [row.cpu_s for row in rows] == [3, 4, 0, 8]
        assert [row.cpu_s_in_all for row in rows] == [3, 5, 7, 8]

    def test_of_a_failed_point_are_told(self) -> None:
        (row,) = sweep_rows([Outcome("1", {"a": "1"}, cpu_s={"a": 2.5}, error="no")], "1")
        assert (row.cpu_s, row.error, row.model, row.dev, row.test) == (2.5, "no", "", None, None)


def test_a_point_without_dev_and_test_is_a_row() -> None:
    rows = sweep_rows([Outcome("1", {"a": "1"}), Outcome("2", {"a": "2"})], "1")
    assert [(row.point, row.dev, row.test, row.difference) for row in rows] == [
        ("1", None, None, None),
        ("2", None, None, None),
    ]
