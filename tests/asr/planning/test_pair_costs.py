"""Costs of discriminants: counts and bytes against real machines; more is not cheaper, by our own clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

from acoustic.emissions.aligned_frames import THESIS, HybridConfig
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from asr.planning import pair_costs as module
from asr.planning.generated import pooled_machines, rival_machines, sparse_machines
from asr.planning.pair_costs import PairTask

POOLS = PoolsConfig(n_centers=20)
TASK = PairTask("npd-pools", 30, 200.0, 12, 50)


class Clock:
    """By which the first call that is timed takes a second, the next one two, and so on."""

    def __init__(self) -> None:
        self.n_calls = 0

    def least_seconds(self, call: Callable[[], object], *, is_warm: bool = False) -> float:
        """Return the seconds of a call."""
        call()
        self.n_calls += 1
        return float(self.n_calls)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each estimate begin with a clock that has just been wound."""
    real = module.pair_costs

    def with_clock(*given, **options):  # type: ignore[no-untyped-def]
        monkeypatch.setattr(module, "least_seconds", Clock().least_seconds)
        return real(*given, **options)

    monkeypatch.setattr(module, "pair_costs", with_clock)


def of_pools(task: PairTask = TASK, own: PoolsConfig = POOLS, **options: int):  # type: ignore[no-untyped-def]
    found = module.pair_costs(task, HybridConfig(), own, n_workers=1, **options)
    assert found is not None
    return found


class TestPools:
    def test_counts(self) -> None:
        found = of_pools(n_pairs=77)
        assert (found.n_pairs, found.n_centers) == (77, 600)
        few = of_pools(replace(TASK, n_classes=10))  # so few classes have machines of all pairs
        assert (few.n_pairs, few.n_centers) == (45, 200)
        assert of_pools(own=replace(POOLS, rivals=1.0)).n_pairs == 30 * 29 // 2

    def test_bytes_are_those_of_a_model(self) -> None:
        for found, machines in (
            (of_pools(n_pairs=100), rival_machines(30, 20, 12, 100, 5.0)),
            (of_pools(own=replace(POOLS, rivals=1.0)), pooled_machines(30, 20, 12, 5.0)),
        ):
            halves = ("centers", "weights", "prototypes.means") if machines.layout == "rivals" else ()
            n_bytes = sum(
                tensor.size * 2 if name in halves else tensor.nbytes
                for name, tensor in machines.tensors().items()
            )
            n_bytes += 24 * machines.n_pairs  # the curves
            assert_allclose(found.model_bytes, n_bytes, rtol=0.05, atol=0)

    def test_no_more_centres_than_frames(self) -> None:
        assert of_pools(replace(TASK, n_frames=8.0)).n_centers == 240

    def test_more_is_not_cheaper(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_MOST_FRAMES", 100)
        small = of_pools(n_pairs=40)
        for more in (
            of_pools(n_pairs=400),
            of_pools(replace(TASK, n_frames=2000.0), n_pairs=40),
            of_pools(own=replace(POOLS, n_centers=100), n_pairs=40),
        ):
            # What a larger machine takes, its own time says; the clock gives each the same.
            assert more.train_s > small.train_s or more.n_centers > small.n_centers
            assert more.peak_bytes > small.peak_bytes
            assert more.model_bytes >= small.model_bytes

    @pytest.mark.parametrize("way", ["pools", "orols-pools"])
    def test_ways(self, way: str) -> None:
        assert of_pools(replace(TASK, way=way)).train_s > 0


class TestOthers:
    @pytest.mark.parametrize(
        ("way", "own"),
        [
            ("npd", PairForwardConfig(n_centers=10)),
            ("orols", PairForwardConfig(n_centers=10)),
            ("svm", SvmConfig()),
            ("krls", KrlsConfig()),
        ],
    )
    def test_more_frames_are_not_cheaper(
        self, way: str, own: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_MOST_FRAMES", 400)
        hybrid = replace(THESIS, max_frames=10_000)
        small, large = (
            module.pair_costs(PairTask(way, 4, n, 6), hybrid, own, n_workers=1) for n in (50.0, 4000.0)
        )
        assert small is not None
        assert large is not None
        assert large.train_s > small.train_s > 0
        assert large.score_s > 0
        assert large.peak_bytes > small.peak_bytes

    def test_bytes_of_machines_with_their_own_centres(self) -> None:
        found = module.costs_by_size("npd", 6, 100.0, 10, n_workers=1)
        assert found is not None
        machines = sparse_machines(6, 10, found.n_centers, 39, 5.0)
        n_bytes = sum(tensor.nbytes for tensor in machines.tensors().values()) + 24 * machines.n_pairs
        assert_allclose(found.model_bytes, n_bytes, rtol=0.05, atol=0)
        assert (found.n_pairs, machines.n_pairs) == (15, 15)

    @pytest.mark.parametrize("task", [PairTask("sklearn:svm.SVC", 9, 10.0), PairTask("npd", 1, 10.0)])
    def test_what_nobody_knows(self, task: PairTask) -> None:
        assert module.pair_costs(task, HybridConfig(), None) is None
