"""Machines of rivals: as all pairs where the lists hold all classes, and against a loop where they do not."""

import ctypes
import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic.errors import ModelError
from acoustic.pairs.coupling import all_pairs
from acoustic.pairs.machines import PooledMachines
from acoustic.pairs.rivals import Prototypes, RivalMachines, best_classes

SIGMA, SIZES = 1.4, (3, 1, 5, 2, 4, 3, 2)
N_CLASSES = len(SIZES)
ALL = all_pairs(N_CLASSES)


def frames(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)


def both(pairs: np.ndarray, n_listed: int) -> tuple[PooledMachines, RivalMachines, np.ndarray]:
    """Return machines of all pairs, those of some of them, and the curves of all pairs."""
    rng = np.random.default_rng(0)
    starts = np.cumsum([0, *SIZES]).astype(np.int32)
    centers = rng.normal(size=(starts[-1], 3)).astype(np.float16).astype(np.float32)
    weights = rng.normal(size=(starts[-1], N_CLASSES)).astype(np.float16).astype(np.float32)
    biases, curves = rng.normal(size=len(ALL)), rng.normal(size=(len(ALL), 3))
    means = rng.normal(size=(N_CLASSES, 2, 3)).astype(np.float32)
    prototypes = Prototypes(means, np.full(3, 1.5, np.float32), np.log(np.full(N_CLASSES, 1 / N_CLASSES)))
    pool = [slice(a, b) for a, b in pairwise(starts)]
    of_pairs = [np.concatenate([weights[pool[i], j], -weights[pool[j], i]]) for i, j in pairs]
    chosen = biases[position(pairs)]
    rivals = RivalMachines(
        SIGMA, pairs, centers, starts, np.concatenate(of_pairs), chosen, prototypes, n_listed
    )
    return PooledMachines(SIGMA, centers, starts, weights, biases), rivals, curves


def position(pairs: np.ndarray) -> np.ndarray:
    """Return the places of pairs among all."""
    every = [tuple(pair) for pair in ALL.tolist()]
    return np.array([every.index(tuple(pair)) for pair in pairs.tolist()])


def test_all_pairs_and_all_classes_give_the_posteriors_of_pools() -> None:
    pooled, rivals, curves = both(ALL, N_CLASSES)
    x = frames(600)
    assert_allclose(rivals.outputs(x), pooled.outputs(x), rtol=0, atol=2e-5)
    assert_allclose(rivals.log_posteriors(curves, x), pooled.log_posteriors(curves, x), rtol=1e-4, atol=1e-3)


def test_a_list_is_coupled_as_a_loop_couples_it() -> None:
    some = ALL[::2]
    pooled, rivals, curves = both(some, 4)
    x, has_machine = frames(50), {tuple(pair) for pair in some.tolist()}
    outputs, scores = pooled.outputs(x).astype(float), rivals.prototypes.scores(x).astype(float)
    found = rivals.log_posteriors(curves[position(some)], x)
    for t, listed in enumerate(best_classes(scores.astype(np.float32), 4)):
        sums = dict.fromkeys(listed.tolist(), 1.0)
        for p, (i, j) in enumerate(ALL.tolist()):
            if i in sums and j in sums:
                q = outputs[t, p]
                d = curves[p] @ [q * q, q, 1.0] if (i, j) in has_machine else scores[t, i] - scores[t, j]
                sums[i] += np.exp(-np.clip(d, -80, 80))
                sums[j] += np.exp(np.clip(d, -80, 80))
        norm = np.log(sum(1 / s for s in sums.values()))
        behind = np.log(np.exp(scores[t, listed]).sum())
        expected = [
            -np.log(sums[k]) - norm if k in sums else -np.logaddexp(0, behind - scores[t, k]) - norm
            for k in range(N_CLASSES)
        ]
        assert_allclose(found[t], expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("n_listed", [2, 4, N_CLASSES, 50])
def test_listed_posteriors_sum_to_one(n_listed: int) -> None:
    _, rivals, curves = both(ALL[::3], n_listed)
    x = frames(700)
    found = rivals.log_posteriors(curves[::3], x)
    listed = best_classes(rivals.prototypes.scores(x), n_listed)
    assert_allclose(np.exp(np.take_along_axis(found, listed, 1)).sum(axis=1), 1.0, rtol=0, atol=1e-5)
    assert found.dtype == np.float32


class _SignallingNans(ctypes.Structure):
    """Passed by value, it lies on the stack, and is left there."""

    _fields_ = (("bits", ctypes.c_uint32 * (1 << 14)),)


@pytest.mark.skipif(sys.platform != "linux", reason="calls a function of the C library by its name")
def test_what_lies_on_the_stack_makes_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenBLAS reads it in products with a vector of five numbers; what it makes of it, it throws away."""
    nans, product, n_calls = _SignallingNans(), np.matmul, 0
    nans.bits[:] = [0x7FA00000] * len(nans.bits)

    def after_nans(*factors: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        ctypes.CDLL(None).getpid(nans)
        return product(*factors, **options)

    _, rivals, curves = both(ALL[::3], 4)
    pooled, _, _ = both(ALL, 4)
    x = frames(700)
    of_rivals, of_pools = rivals.log_posteriors(curves[::3], x, 1), pooled.log_posteriors(curves, x[:1], 1)
    monkeypatch.setattr(np, "matmul", after_nans)
    assert_array_equal(rivals.log_posteriors(curves[::3], x, 1), of_rivals)
    assert_array_equal(pooled.log_posteriors(curves, x[:1], 1), of_pools)
    assert n_calls > 2 * N_CLASSES


@pytest.mark.parametrize("n_frames", [0, 1, 511, 1500])
def test_any_number_of_workers_gives_the_same(n_frames: int) -> None:
    _, rivals, curves = both(ALL[1::2], 3)
    x = frames(n_frames)
    one = rivals.log_posteriors(curves[1::2], x, 1)
    assert_array_equal(rivals.log_posteriors(curves[1::2], x, 3), one)
    assert one.shape == (n_frames, N_CLASSES)


def test_a_file_holds_half_precision_only_where_it_is_exact() -> None:
    _, rivals, curves = both(ALL, 3)
    tensors = rivals.tensors()
    assert tensors["weights"].dtype == tensors["centers"].dtype == np.float16
    assert tensors["prototypes.means"].dtype == np.float32
    again = RivalMachines.from_tensors(tensors, SIGMA)
    x = frames(40)
    assert_array_equal(again.log_posteriors(curves, x), rivals.log_posteriors(curves, x))
    large = replace(rivals, weights=rivals.weights * np.float32(1.1))
    assert large.tensors()["weights"].dtype == np.float32


def test_weights_and_pairs_must_be_those_of_the_classes() -> None:
    _, rivals, _ = both(ALL, 3)
    with pytest.raises(ModelError, match=r"expected 120 weights, got \(119,\); train again"):
        replace(rivals, weights=rivals.weights[:-1])
    with pytest.raises(ModelError, match="expected pairs i < j of 7 classes; train again"):
        replace(rivals, pairs=rivals.pairs + 1)
    with pytest.raises(ModelError, match=r"expected 21 biases, got \(20,\); train again"):
        replace(rivals, biases=rivals.biases[1:])
    with pytest.raises(ModelError, match="expected the 19 centres class by class; train again"):
        replace(rivals, centers=rivals.centers[1:])


def test_prototypes_must_be_those_of_the_classes() -> None:
    _, rivals, _ = both(ALL, 3)
    six = replace(rivals.prototypes, means=rivals.prototypes.means[1:])
    with pytest.raises(ModelError, match=r"prototypes of 7 classes .* got \(6, 7\) and 3; train again"):
        replace(rivals, prototypes=six)
    with pytest.raises(ModelError, match=r"lists of one class or more, got \(7, 7\) and 0; train again"):
        replace(rivals, n_listed=0)


def test_what_half_precision_cannot_hold_is_written_in_single() -> None:
    _, rivals, _ = both(ALL, 3)
    tensors = replace(rivals, weights=rivals.weights * np.float32(2**20)).tensors()
    assert (tensors["weights"].dtype, tensors["centers"].dtype) == (np.float32, np.float16)


def test_what_they_say_of_themselves() -> None:
    _, rivals, _ = both(ALL[:3], 3)
    assert (rivals.n_classes, rivals.n_pairs, rivals.n_centers) == (N_CLASSES, 3, sum(SIZES))
    assert rivals.centers_a_pair == np.mean([4, 8, 5])
