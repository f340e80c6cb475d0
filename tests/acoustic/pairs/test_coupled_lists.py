"""The compiled coupling of lists against its twin in plain numpy."""

import numpy as np
from numpy.testing import assert_allclose

from acoustic.pairs.coupled_lists import couple_lists, fill_posteriors

N_CLASSES, N_FRAMES, N_LISTED = 6, 30, 4


def couple_lists_reference(lists, scores, values, sizes, machines, sums):
    kernel, places = values
    pair_of, starts, weights, biases, curves = machines
    for t, listed in enumerate(lists):
        for a, i in enumerate(listed):
            for b, j in enumerate(listed[a + 1 :], a + 1):
                p, d = pair_of[i, j], scores[t, i] - scores[t, j]
                if p >= 0:
                    seen = [kernel[places[t, n] :][: sizes[k]] for n, k in ((a, i), (b, j))]
                    q = biases[p] + weights[starts[p] : starts[p + 1]] @ np.concatenate(seen)
                    d = curves[p] @ np.array([q * q, q, 1.0])
                sums[t, b] += np.exp(np.clip(d, -80, 80))
                sums[t, a] += np.exp(-np.clip(d, -80, 80))


def fill_posteriors_reference(lists, scores, sums, found):
    for t, listed in enumerate(lists):
        norm = np.log(np.sum(1 / (1 + sums[t])))
        behind = np.logaddexp.reduce(scores[t, listed])
        found[t] = -np.logaddexp(0, behind - scores[t]) - norm
        found[t, listed] = -np.log1p(sums[t]) - norm


def problem():
    """Return lists, scores, kernel values, sizes and machines, half of the pairs without one."""
    rng = np.random.default_rng(0)
    sizes = np.array([2, 3, 1, 4, 2, 3], np.int32)
    lists = np.stack([np.sort(rng.choice(N_CLASSES, N_LISTED, replace=False)) for _ in range(N_FRAMES)])
    pair_of = np.full((N_CLASSES, N_CLASSES), -1, np.int32)
    pairs = [(i, j) for i in range(N_CLASSES) for j in range(i + 1, N_CLASSES)][::2]
    pair_of[tuple(np.transpose(pairs))] = np.arange(len(pairs))
    starts = np.cumsum([0, *(sizes[i] + sizes[j] for i, j in pairs)])
    lengths = sizes[lists].ravel()
    places = (np.cumsum(lengths) - lengths).reshape(lists.shape)
    singles = (
        rng.normal(size=n).astype(np.float32)
        for n in (lengths.sum(), starts[-1], len(pairs), (len(pairs), 3))
    )
    kernel, weights, biases, curves = singles
    scores = rng.normal(scale=3, size=(N_FRAMES, N_CLASSES)).astype(np.float32)
    scores[0, 0] = -500.0
    return lists.astype(np.int32), scores, (kernel, places), sizes, (pair_of, starts, weights, biases, curves)


def test_sums() -> None:
    lists, *given = problem()
    found, expected = np.zeros(lists.shape, np.float32), np.zeros(lists.shape)
    couple_lists(lists, *given, found)
    couple_lists_reference(lists, *given, expected)
    assert_allclose(found, expected, rtol=2e-4, atol=0)


def test_posteriors() -> None:
    lists, scores, *given = problem()
    sums = np.zeros(lists.shape, np.float32)
    couple_lists(lists, scores, *given, sums)
    found, expected = np.empty_like(scores), np.empty(scores.shape)
    fill_posteriors(lists, scores, sums, found)
    fill_posteriors_reference(lists, scores.astype(float), sums.astype(float), expected)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert found[0, 0] < -490
