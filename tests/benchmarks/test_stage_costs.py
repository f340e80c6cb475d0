"""What a stage is charged with: its own work, and the memory it reached."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

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


def test_a_stage_is_charged_without_the_one_it_makes(tmp_path: Path) -> None:
    store = MeasuringStore(tmp_path)
    reset_peak()
    before = peak_mb()

    def inner(directory: Path) -> None:
        work(80, 200)

    def outer(directory: Path) -> None:
        work(1, 20)
        store.run("inner", inner)

    store.run("outer", outer)
    assert store.asked_for == ["inner", "outer"]
    assert store.costs["outer"]["cpu_s"] < store.costs["inner"]["cpu_s"] / 2
    assert_allclose(store.costs["inner"]["peak_mb"] - before, 200, rtol=0, atol=60)
    assert_allclose(store.costs["outer"]["peak_mb"] - before, 20, rtol=0, atol=60)


def test_costs_of_an_earlier_process_are_kept(tmp_path: Path) -> None:
    first = MeasuringStore(tmp_path)
    first.run("one", lambda directory: work(1, 1))
    again = MeasuringStore(tmp_path)
    again.run("one", lambda directory: pytest.fail("made again"))
    assert again.asked_for == ["one"]
    assert again.costs == first.costs
