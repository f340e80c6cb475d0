"""How costs grow with frames: the sample of support vector machines, and the power of growth."""

from dataclasses import replace

import hybrid_growth
import numpy as np
import pytest
from hybrid_growth import SAMPLED, Size, growth_tables, power, powers, sampled_cost
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from acoustic.emissions.aligned_frames import THESIS, AlignedFrames
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_svm import SvmConfig

HYBRID = replace(THESIS, sigma=2.0)
OWN = {"svm": SvmConfig(10.0), "npd": PairForwardConfig(7), "orols": PairForwardConfig(7)}


@pytest.fixture
def frames() -> AlignedFrames:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(4, dtype=np.int32), (30, 20, 40, 10))
    x = (rng.normal(size=(100, 3)) + codes[:, None]).astype(np.float32)
    counts = np.bincount(codes).astype(np.float64)
    return AlignedFrames(x, codes, np.zeros(100, dtype=np.int32), counts, np.arange(4, dtype=np.int32))


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sample_of_all_pairs_is_not_scaled(frames: AlignedFrames, name: str) -> None:
    found = sampled_cost(name, frames, HYBRID, OWN[name])
    assert (found["n_pairs"], found["frames"]) == (6, 100)
    assert found["cpu_s"] == found["sample_cpu_s"] > 0


def test_centres_are_those_of_the_machines(frames: AlignedFrames) -> None:
    n_support = 0
    for i in range(4):
        for j in range(i + 1, 4):
            rows = np.isin(frames.codes, (i, j))
            machine = SVC(C=10.0, gamma=1 / 8).fit(frames.x[rows].astype(float), frames.codes[rows])
            n_support += machine.n_support_.sum()
    found = sampled_cost("svm", frames, HYBRID, OWN["svm"])
    assert_allclose(found["centers"], n_support / 6, rtol=1e-12, atol=0)
    assert sampled_cost("npd", frames, HYBRID, OWN["npd"])["centers"] == 7


@pytest.mark.parametrize(("name", "power"), [("svm", 2), ("npd", 1), ("orols", 1)])
def test_a_sample_is_scaled_by_powers_of_numbers_of_frames(
    frames: AlignedFrames, name: str, power: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hybrid_growth, "N_SAMPLED", 2)
    found = sampled_cost(name, frames, HYBRID, OWN[name])
    chosen = np.sort(np.random.default_rng(0).choice(6, 2, replace=False))
    sizes = np.array([50.0, 70, 40, 60, 30, 50]) ** power  # of pairs 01, 02, 03, 12, 13, 23
    scale = sizes.sum() / sizes[chosen].sum()
    assert_allclose(found["cpu_s"], found["sample_cpu_s"] * scale, rtol=1e-12, atol=0)


def test_the_power_is_the_slope_on_logarithmic_axes() -> None:
    assert power([1, 2, 4], [3.0, 12.0, 48.0]) == 2.0
    assert power([1, 2, 4], [7.0, 7.0, 7.0]) == 0.0
    assert power([1], [7.0]) is None
    assert power([1, 2], [7.0, None]) is None


def test_tables_of_sizes() -> None:
    sizes = [Size("npd", 1, 1000, 100.0, 10.0, 84.04), Size("npd", 4, 4000, 100.0, 40.0, None)]
    assert powers(sizes) == [{"model": "npd", "centers_per_machine": 0.0, "cpu_s": 1.0}]
    text = growth_tables(sizes)
    assert "| npd | 1 | 1000 | 100 | 10 | 84 |" in text
    assert "| npd | 4 | 4000 | 100 | 40 | – |" in text
