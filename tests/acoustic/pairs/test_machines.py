"""What all machines have in common: blocks of frames, and one protocol whatever the layout."""

import inspect
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.kernels.kernel import Kernel
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import (
    FRAMES_AT_ONCE,
    Machines,
    PooledMachines,
    SparseMachines,
    for_blocks_of_frames,
)
from acoustic.pairs.rivals import RivalMachines

SIGMA, SIZE, N_CLASSES = 1.4, 3, 4
PAIRS = all_pairs(N_CLASSES)


class TestBlocksOfFrames:
    @pytest.mark.parametrize("n_workers", [1, 3, None])
    @pytest.mark.parametrize("n_frames", [0, 1, FRAMES_AT_ONCE - 1, FRAMES_AT_ONCE, FRAMES_AT_ONCE + 1, 1000])
    def test_every_row_is_in_one_block(self, n_frames: int, n_workers: int | None) -> None:
        times, blocks = np.zeros(n_frames, dtype=int), []

        def work(rows: slice) -> None:
            times[rows] += 1
            blocks.append((rows.start, rows.stop))

        for_blocks_of_frames(work, n_frames, n_workers)
        assert_array_equal(times, 1)
        starts = range(0, n_frames, FRAMES_AT_ONCE)
        assert sorted(blocks) == [(start, min(start + FRAMES_AT_ONCE, n_frames)) for start in starts]

    def test_blocks_are_done_at_once(self) -> None:
        together = threading.Barrier(3, timeout=20)
        reached = []
        for_blocks_of_frames(lambda _: reached.append(together.wait()), 3 * FRAMES_AT_ONCE, 3)
        assert sorted(reached) == [0, 1, 2]

    @pytest.mark.parametrize("n_workers", [1, 3])
    def test_an_error_comes_through(self, n_workers: int) -> None:
        def work(rows: slice) -> None:
            if rows.start == 2 * FRAMES_AT_ONCE:
                raise MemoryError("no room for the third block")

        with pytest.raises(MemoryError, match="no room for the third block"):
            for_blocks_of_frames(work, 5 * FRAMES_AT_ONCE, n_workers)


@pytest.fixture
def machines() -> tuple[Machines, Machines]:
    """Return the same discriminants on shared centres and on each pair's own."""
    rng = np.random.default_rng(0)
    starts = np.arange(0, N_CLASSES * SIZE + 1, SIZE).astype(np.int32)
    centers = rng.normal(size=(starts[-1], 3)).astype(np.float32)
    shares = rng.normal(size=(starts[-1], N_CLASSES)).astype(np.float32)
    biases = rng.normal(size=len(PAIRS))
    own = np.arange(N_CLASSES * SIZE, dtype=np.int32).reshape(N_CLASSES, SIZE)  # slots of each class
    sparse = SparseMachines(
        Kernel("gaussian", SIGMA),
        PAIRS,
        centers,
        np.full(len(centers), SIGMA),
        np.arange(len(centers), dtype=np.int32),
        np.stack([np.concatenate([own[i], own[j]]) for i, j in PAIRS]),
        np.stack([np.concatenate([shares[own[i], j], -shares[own[j], i]]) for i, j in PAIRS]).astype(float),
        biases,
    )
    return PooledMachines(SIGMA, centers, starts, shares, biases), sparse


MEMBERS = sorted(name for name in vars(Machines) if not name.startswith("_"))


class TestProtocol:
    def test_what_machines_have(self) -> None:
        asked = {"n_classes", "n_pairs", "n_centers", "centers_a_pair", "n_features", "sigma"}
        assert set(MEMBERS) == asked | {"outputs", "log_posteriors", "tensors", "from_tensors", "check"}
        layouts = (PooledMachines.layout, RivalMachines.layout, SparseMachines.layout)
        assert layouts == ("state", "rivals", "pair")

    @pytest.mark.parametrize("kind", [PooledMachines, RivalMachines, SparseMachines])
    @pytest.mark.parametrize("name", ["outputs", "log_posteriors", "tensors", "from_tensors"])
    def test_methods_take_what_the_protocol_says(self, kind: type, name: str) -> None:
        wanted, found = (inspect.signature(getattr(owner, name)).parameters for owner in (Machines, kind))
        assert [(p.name, p.default) for p in found.values()] == [(p.name, p.default) for p in wanted.values()]

    def test_the_same_discriminants_say_the_same_of_themselves(self, machines) -> None:
        for found in machines:
            assert (found.n_classes, found.n_pairs, found.n_centers) == (N_CLASSES, len(PAIRS), 12)
            assert (found.centers_a_pair, found.sigma) == (2 * SIZE, SIGMA)

    @pytest.mark.parametrize("n_frames", [0, 1, 300])
    def test_the_same_discriminants_give_the_same_values(self, machines, n_frames: int) -> None:
        rng = np.random.default_rng(1)
        frames, curves = rng.normal(size=(n_frames, 3)).astype(np.float32), rng.normal(size=(len(PAIRS), 3))
        pooled, sparse = machines
        assert_allclose(pooled.outputs(frames), sparse.outputs(frames), rtol=0, atol=1e-5)
        found, expected = (m.log_posteriors(curves, frames) for m in machines)
        assert_allclose(found, expected, rtol=0, atol=1e-4)
        assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=0, atol=1e-5)

    def test_tensors_make_them_again(self, machines) -> None:
        frames = np.random.default_rng(2).normal(size=(50, 3)).astype(np.float32)
        for found in machines:
            again = type(found).from_tensors(found.tensors(), found.sigma)
            assert_array_equal(again.outputs(frames), found.outputs(frames))
            assert again.sigma == SIGMA
