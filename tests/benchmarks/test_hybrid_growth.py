"""How costs grow with frames: the sample of support vector machines, and the power of growth."""

import hybrid_growth
import numpy as np
import pytest
from hybrid_growth import Size, growth_tables, power, powers, sampled_cost
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import AlignedFrames


@pytest.fixture
def frames() -> AlignedFrames:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4, dtype=np.int32), (30, 20, 40, 10))
    x = (rng.normal(size=(100, 3)) + codes[:, None]).astype(np.float32)
    counts = np.bincount(codes).astype(np.float64)
    return AlignedFrames(x, codes, np.zeros(100, dtype=np.int32), counts, np.arange(4, dtype=np.int32))


def test_a_sample_of_all_pairs_is_not_scaled(frames: AlignedFrames) -> None:
    found = sampled_cost(frames, 2.0, 10.0)
    assert (found["n_pairs"], found["frames"]) == (6, 100)
    assert found["cpu_s"] == found["sample_cpu_s"]
    n_support = 0
    for i in range(4):
        for j in range(i + 1, 4):
            rows = np.isin(frames.codes, (i, j))
            machine = SVC(C=10.0, gamma=1 / 8).fit(frames.x[rows].astype(float), frames.codes[rows])
            n_support += machine.n_support_.sum()
    assert_allclose(found["support_vectors"], n_support / 6, rtol=1e-12, atol=0)


def test_a_sample_is_scaled_by_squared_numbers_of_frames(
    frames: AlignedFrames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid_growth, "N_SAMPLED", 2)
    found = sampled_cost(frames, 2.0, 10.0)
    chosen = np.sort(np.random.default_rng(0).choice(6, 2, replace=False))
    squares = np.array([50, 70, 40, 60, 30, 50]) ** 2  # of pairs 01, 02, 03, 12, 13, 23
    assert_allclose(
        found["cpu_s"], found["sample_cpu_s"] * squares.sum() / squares[chosen].sum(), rtol=1e-12, atol=0
    )


def test_the_power_is_the_slope_on_logarithmic_axes() -> None:
    assert power([1, 2, 4], [3.0, 12.0, 48.0]) == 2.0
    assert power([1, 2, 4], [7.0, 7.0, 7.0]) == 0.0
    assert power([1], [7.0]) is None
    assert power([1, 2], [7.0, None]) is None


def test_tables_of_sizes() -> None:
    sizes = [
        Size("npd", 1, 100.0, 10.0, {"loop": 84.04, "bigram": 90.0}),
        Size("npd", 4, 100.0, 40.0, {"loop": 85.0}),
        Size("svm, sampled", 1, 300.4, None, {}),
    ]
    assert powers(sizes)[0] == {"model": "npd", "centers_per_machine": 0.0, "training_cpu_s": 1.0}
    text = growth_tables(sizes)
    assert "| npd | 1 | 100 | 10 | 84 |" in text
    assert "| svm, sampled | 1 | 300 | – | – |" in text
