"""Seconds of calls, with a clock of our own."""

from __future__ import annotations

import pytest

from asr.planning import timing
from asr.planning.timing import least_seconds


@pytest.mark.parametrize(
    ("seconds", "is_warm", "least", "n_calls"),
    [
        ([5.0, 2.0, 1.0], False, 2.0, 2),  # the first compiles
        ([5.0, 2.0, 1.0], True, 5.0, 1),
        ([0.06, 0.1, 0.05, 0.07, 0.0], False, 0.05, 4),
        ([0.1, 0.4, 0.05], True, 0.1, 2),
    ],
)
def test_calls_are_repeated_while_they_are_short(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], is_warm: bool, least: float, n_calls: int
) -> None:
    now, calls = [0.0], []

    def call() -> None:
        now[0] += seconds[len(calls)]
        calls.append(None)

    monkeypatch.setattr(timing.time, "process_time", lambda: now[0])
    assert least_seconds(call, is_warm=is_warm) == pytest.approx(least)
    assert len(calls) == n_calls
