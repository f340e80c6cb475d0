"""What is left out is counted and named; too much of it stops the run."""

from __future__ import annotations

import logging

import pytest

from asr.corpora.left_out import ADVICE, leave_out
from asr.errors import CorpusError

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
    head = f"12 of 119 recordings cannot be used (at most 10 % are left out); {ADVICE}"
    more = "  and 2 more of this kind, all in log.txt"
    assert str(caught.value).splitlines() == [head, *PROBLEMS[:10], more]
    assert caplog.messages == [f"cannot be used: {problem}" for problem in PROBLEMS]


def test_all_may_only_be_left_out_where_none_is_needed(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(CorpusError, match="12 of 12 recordings cannot be used; "):
        leave_out("recordings cannot be used", PROBLEMS, 12, 12, 1.0)
    leave_out("recordings cannot be used", PROBLEMS, 12, 12, 1.0, needed=False)
    assert caplog.messages[0].startswith("left out: 12 of 12 ")
