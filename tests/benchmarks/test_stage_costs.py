"""What a step is charged with: its own work, and the memory it reached."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from asr.store import Step

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

if sys.platform == "linux":
    from stage_costs import MeasuringStore, peak_mb, reset_peak


def work(n_rounds: int, megabytes: int) -> None:
    """Take some memory and time."""
    held = np.ones(megabytes << 17)
    for _ in range(n_rounds):
        held += 1.0


def test_peak_begins_anew() -> None:
    reset_peak()
    before = peak_mb()
    work(1, 200)
    assert 190 < peak_mb() - before < 260
    reset_peak()
    assert peak_mb() - before < 100


def test_a_step_is_charged_with_its_own(tmp_path: Path) -> None:
    store = MeasuringStore(tmp_path)
    reset_peak()
    before = peak_mb()
    large = Step("large", lambda directory: work(80, 200))
    small = Step("small", lambda directory, large: work(1, 20), {"large": large})
    store.run([small])
    assert list(store.asked_for) == ["large", "small"]
    assert store.costs["small"]["cpu_s"] < store.costs["large"]["cpu_s"] / 2
    assert_allclose(store.costs["large"]["peak_mb"] - before, 200, rtol=0, atol=60)
    assert_allclose(store.costs["small"]["peak_mb"] - before, 20, rtol=0, atol=60)


def test_costs_of_an_earlier_process_are_kept(tmp_path: Path) -> None:
    first = MeasuringStore(tmp_path)
    first.output(Step("one", lambda directory: work(1, 1)))
    again = MeasuringStore(tmp_path)
    again.output(Step("one", lambda directory: pytest.fail("made again")))
    assert list(again.asked_for) == ["one"]
    assert again.costs == first.costs
