"""Problems of one kind are counted together, whatever they name."""

from __future__ import annotations

import logging
import time

import pytest

from asr.corpora.problems import ADVICE, first_of_each_kind, leave_out, problem_kind
from asr.errors import CorpusError, Problem


def test_what_is_named_does_not_matter() -> None:
    same = [
        Problem("u1", 'word "ZULU" is not in the lexicon (did you mean "ZERO"?), 3 time(s)'),
        Problem("u2", 'word "A b" is not in the lexicon, 12 time(s)'),
    ]
    assert problem_kind(same[0]) == problem_kind(same[1])
    files = [Problem("u", f"/data/{n}/x.wav: truncated; expected {n}05 bytes") for n in "12"]
    assert problem_kind(files[0]) == problem_kind(files[1]) == "error: truncated; expected bytes"


def test_severity_and_words_do() -> None:
    kinds = {
        problem_kind(Problem("u", *rest)) for rest in (("is wrong",), ("is wrong", "warning"), ("is odd",))
    }
    assert kinds == {"error: is wrong", "warning: is wrong", "error: is odd"}


def test_the_first_of_each_kind_and_how_many_follow() -> None:
    problems = [Problem(str(n), ("is wrong", "is odd")[n % 2]) for n in range(7)]
    kept = [(problem.where, n_more) for problem, n_more in first_of_each_kind(problems, 2)]
    assert kept == [("0", 0), ("1", 0), ("2", 2), ("3", 1)]
    assert [n for _, n in first_of_each_kind(problems, 7)] == [0] * 7


def test_a_long_text_without_spaces_is_no_trouble() -> None:
    started = time.process_time()
    assert problem_kind(Problem("u", "a" * 50_000)) == f"error: {'a' * 50_000}"
    assert time.process_time() - started < 5  # it took minutes


PROBLEMS = [f"u{n}: silent" for n in range(12)]


def test_nothing_is_said_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    leave_out("recordings cannot be used", [], 0, 0, 0.0)
    assert caplog.messages == []


def test_a_warning_names_some_and_the_log_all(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    leave_out("recordings cannot be used", PROBLEMS, 12, 120, 0.1)
    warning, *rest = caplog.records
    assert warning.levelno == logging.WARNING
    named = "; ".join(PROBLEMS[:10])
    assert warning.getMessage() == (
        f"left out: 12 of 120 recordings cannot be used: {named}; and 2 more, all in log.txt"
    )
    assert [r.getMessage() for r in rest] == ["left out: u10: silent", "left out: u11: silent"]


def test_more_than_the_share_is_an_error_with_the_first_of_each_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(CorpusError, match="12 of 119 recordings") as caught:
        leave_out("recordings cannot be used", PROBLEMS, 12, 119, 0.1)
    head = f"12 of 119 recordings cannot be used (at most 10 % of the corpus are left out); {ADVICE}"
    more = "  and 2 more of this kind, all in log.txt"
    assert str(caught.value).splitlines() == [head, *PROBLEMS[:10], more]
    assert caplog.messages == [f"cannot be used: {problem}" for problem in PROBLEMS]


def test_all_may_only_be_left_out_where_none_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(CorpusError, match="12 of 12 recordings cannot be used; "):
        leave_out("recordings cannot be used", PROBLEMS, 12, 12, 1.0)
    leave_out("recordings cannot be used", PROBLEMS, 12, 12, 1.0, needed=False)
    assert caplog.messages[0].startswith("left out: 12 of 12 ")
