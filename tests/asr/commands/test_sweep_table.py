"""The table of a sweep on wide and narrow terminals."""

import dataclasses
from pathlib import Path

import pytest

from asr.commands.sweeps import Difference, SweepRow, format_sweep

PLACE = Path("exp/sweep.json")


def row(n: int, grammar: str = "loop", **changes: object) -> SweepRow:
    values: dict[str, object] = {
        "point": f"beam={n}",
        "settings": {"gmm.beam": f"{n}", "mixtures": "1,2,4"},
        "model": "gmm2",
        "grammar": grammar,
        "what": "",
        "dev": 90.0 + n,
        "dev_interval": (80.0, 99.0),
        "test": 95.125,
        "test_interval": (91.06, 98.21),
        "cpu_s": 12.34,
        "cpu_s_in_all": 45.67,
        "best_on_dev": False,
        "difference": Difference("test", -0.5, (-1.75, 0.75), 0.4215, 0.5) if n > 1 else None,
        "error": None,
    }
    return SweepRow(**{**values, **changes})  # type: ignore[arg-type]


ROWS = [row(1), row(2, best_on_dev=True), row(3)]
FAILED = row(
    3,
    model="",
    grammar="",
    dev=None,
    dev_interval=None,
    test=None,
    test_interval=None,
    difference=None,
    error="u1: broken",
)


def table(rows: list[SweepRow], width: int = 120, **options: bool) -> list[str]:
    return format_sweep(rows, "beam=1", PLACE, width=width, **options).splitlines()


def test_wide_is_one_table() -> None:
    head, first, second, third, empty, *_ = table(ROWS)
    assert head.split("  ")[1:5] == ["", "gmm.beam", "mixtures", "model"]
    assert head.endswith("dev %       test % [95 %]  CPU s  in all  test over 1 [95 %]     p")
    assert first.split() == [
        "1",
        "1",
        "1,2,4",
        "gmm2",
        "loop",
        "91.00",
        "95.12",
        "[91.1,",
        "98.2]",
        "12.3",
        "45.7",
    ]
    assert second.startswith("2* ")
    assert second.endswith("-0.50 [-1.8, +0.8]  0.42")
    assert empty == ""
    assert len(third) == len(second) == len(head)


@pytest.mark.parametrize("width", [120, 105, 100, 80, 70, 60])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = table(ROWS, width)
    assert max(map(len, lines[:-1])) <= width
    numbers = [line.split()[0] for line in lines if line[:1].isdigit()]
    assert numbers == ["1", "2*", "3"] + ([] if width > 105 else ["2*", "3"])


def test_narrow_names_the_settings_above() -> None:
    lines = table(ROWS, 70)
    assert lines[:4] == [
        "  1  gmm.beam=1 mixtures=1,2,4",
        "  2  gmm.beam=2 mixtures=1,2,4",
        "  3  gmm.beam=3 mixtures=1,2,4",
        "",
    ]
    assert "gmm.beam" not in "".join(lines[4:])


def test_costs_are_those_of_a_point_said_once() -> None:
    lines = table([row(1), row(1, "bigram"), row(2)])
    assert ["12.3" in line for line in lines[1:4]] == [True, False, True]


class TestNotes:
    def test_the_best_is_that_on_dev_and_test_is_not_to_choose_by(self) -> None:
        text = " ".join(" ".join(table(ROWS)).split())
        assert "* best on dev: 2, gmm2; choose by dev" in text
        assert "the best of 3 points on test is too good by chance" in text
        assert "of twenty points that are alike one has p < 0.05" in text
        assert text.endswith(f"p < 0.05 {PLACE}")

    def test_the_grammar_is_said_where_there_are_several(self) -> None:
        text = "\n".join(table([row(1, best_on_dev=True), row(1, "bigram", best_on_dev=True)]))
        assert "* best on dev: 1, gmm2 with loop; 1, gmm2 with bigram" in text

    def test_what_was_trained_is_said_once_or_of_the_points_where_it_differs(self) -> None:
        same = [row(n, model=model, what=f"{model}'s") for n in (1, 2) for model in ("gmm", "pools")]
        lines = table(same)
        assert [line for line in lines if line.endswith("'s")] == ["gmm: gmm's", "pools: pools's"]
        others = [row(n, model="pools", what=f"{min(n, 2)} centres") for n in (1, 2, 3)]
        said = [line for line in table(others) if line.endswith("centres")]
        assert said == ["pools of 1: 1 centres", "pools of 2, 3: 2 centres"]

    def test_without_dev(self) -> None:
        text = " ".join(table([row(1, dev=None), row(2, dev=None)]))
        assert "no dev set: there is nothing to choose by; the best of 2 points on test is too good" in text
        assert "choose by dev" not in text

    def test_without_test_the_interval_is_that_of_dev(self) -> None:
        over = Difference("dev", 1.0, (0.5, 1.5), 0.01, 0.5)
        lines = table(
            [row(n, test=None, test_interval=None, difference=over if n > 1 else None) for n in (1, 2)]
        )
        assert "dev % [95 %]  CPU s  in all   dev over 1 [95 %]" in lines[0]
        assert "92.00 [80.0, 99.0]" in lines[2]
        assert "too good" not in " ".join(lines)

    def test_a_failed_point_is_named_with_its_error(self) -> None:
        lines = table([row(1), row(2), FAILED])
        assert lines[3].split() == ["3", "3", "1,2,4", "failed", "-", "-", "-", "12.3", "45.7"]
        assert "3 failed: u1: broken" in lines

    def test_all_failed(self) -> None:
        text = "\n".join(table([dataclasses.replace(FAILED, point="beam=1")]))
        assert "1 failed: u1: broken" in text
        assert "best on dev" not in text
        assert "no differences" not in text

    def test_why_there_are_no_differences(self) -> None:
        text = " ".join(table([row(n, difference=None) for n in (1, 2)]))
        assert "no differences to point 1: it failed, or has other words, models or grammars" in text

    def test_synthetic_speech_is_marked(self) -> None:
        assert "SYNTHETIC speech" in "\n".join(table(ROWS, synthetic=True))
        assert "SYNTHETIC" not in "\n".join(table(ROWS))
