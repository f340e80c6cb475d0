"""Promises against what came true, counted by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest

from asr.reports.reliability import reliability


def test_bins_hold_what_falls_into_them() -> None:
    promised = np.array([0.05, 0.07, 0.55, 0.95, 1.0, 1.0])
    true = np.array([False, True, True, True, True, False])
    found = reliability(promised, true)
    assert [(b.count, b.kept) for b in found.bins] == [(2, 0.5), (1, 1.0), (3, pytest.approx(2 / 3))]
    assert [b.promised for b in found.bins] == pytest.approx([0.06, 0.55, 2.95 / 3])
    assert found.count == 6
    assert found.error == pytest.approx((2 * 0.44 + 0.45 + abs(2.95 - 2)) / 6)


@pytest.mark.parametrize(("k", "n"), [(0, 7), (7, 7), (3, 7)])
def test_intervals_are_the_exact_ones(k: int, n: int) -> None:
    (found,) = reliability(np.full(n, 0.5), np.arange(n) < k).bins
    exact = binomtest(k, n).proportion_ci(0.95, "exact")
    assert found.interval == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_nothing_promises_nothing() -> None:
    found = reliability(np.zeros(0), np.zeros(0, dtype=bool))
    assert (found.bins, found.count) == ((), 0)
    assert np.isnan(found.error)
