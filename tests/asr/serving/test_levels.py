import numpy as np
import pytest

from asr.serving.levels import fault_of, levels_of


def tone(level: float, noise: float = 1e-3, seconds: float = 1.2) -> np.ndarray:
    rng = np.random.default_rng(0)
    t = np.arange(round(seconds * 16000)) / 16000
    inside = (t > 0.4 * seconds) & (t < 0.8 * seconds)
    return (level * np.sin(2 * np.pi * 300 * t) * inside + noise * rng.normal(size=t.size)).astype(np.float32)


def test_levels_of_a_tone_in_noise() -> None:
    levels = levels_of(tone(0.1), 16000)
    assert levels.duration_s == pytest.approx(1.2)
    assert levels.peak_db == pytest.approx(-20, abs=0.4)
    # Power of the tone 0.005, of the noise 1e-6; the quietest tenth of frames is a little below the mean.
    assert levels.snr_db == pytest.approx(37, abs=1)
    assert levels.spoken_s == pytest.approx(0.48, abs=0.05)
    assert levels.clipped == 0.0
    assert fault_of(levels) is None


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (tone(0.1, seconds=0.2), "too short: 0.20 s"),
        (tone(0.1, seconds=21.0), "too long: 21 s"),
        (np.zeros(16000, np.float32), "nearly silent"),
        (np.zeros(0, np.float32), "too short"),
        (tone(0.005), "nearly silent: peak -4"),
        (np.clip(tone(3.0), -1, 1), "clipped: "),
        (np.clip(tone(3.0), -0.99, 0.99), "clipped: "),
        (tone(0.0, noise=0.1), "no speech above the noise"),
        (np.full(16000, 0.5, np.float32), "no speech above the noise"),
    ],
)
def test_faults(samples: np.ndarray, reason: str) -> None:
    found = fault_of(levels_of(samples, 16000))
    assert str(found).startswith(reason)
    assert found.count(";") == 1


def test_flat_tops_below_full_scale_are_the_speakers_own() -> None:
    assert fault_of(levels_of(np.clip(tone(0.3), -0.2, 0.2), 16000)) is None
