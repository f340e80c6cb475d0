"""The streaming front end against the one for whole utterances."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import (
    FeatureError,
    FrontEnd,
    FrontEndConfig,
    MfccConfig,
    MfccStream,
    Resampler,
    RunningFrames,
    mfcc,
)

# float32 rounding: the FFT and the matrix products group frames as they come
TOLERANCE = {"rtol": 0.0, "atol": 2e-4}


def noise(n_samples, seed=0):
    return (np.random.default_rng(seed).normal(size=n_samples) * 0.1).astype(np.float32)


def random_pieces(samples, rng):
    """Cut into pieces of 0 to 2,000 samples, mostly small ones."""
    start = 0
    while start < samples.size:
        size = int(rng.integers(0, rng.choice([2, 160, 400, 2000])))
        yield samples[start : start + size]
        start += size


@pytest.mark.parametrize("seed", range(20))
def test_any_chunking_equals_the_whole(seed):
    rng = np.random.default_rng(seed)
    config = MfccConfig(
        energy_normalize=False,
        derivatives=int(rng.integers(0, 3)),
        delta_window=int(rng.integers(1, 5)),
        shift_ms=float(rng.choice([5.0, 10.0, 30.0])),  # 30 ms leave samples between the windows out
    )
    samples = noise(int(rng.integers(400, 12000)), seed)
    stream = MfccStream(config)
    frames = [stream.push(piece) for piece in random_pieces(samples, rng)]
    assert_allclose(np.concatenate([*frames, stream.flush()]), mfcc(samples, config), **TOLERANCE)


@pytest.mark.parametrize("n_frames", range(1, 12))
def test_utterances_shorter_than_the_look_ahead(n_frames):
    config = MfccConfig(energy_normalize=False)
    samples = noise(400 + 160 * (n_frames - 1))
    stream = MfccStream(config)
    frames = [stream.push(samples), stream.flush()]
    assert_allclose(np.concatenate(frames), mfcc(samples, config), **TOLERANCE)


def test_frames_come_as_soon_as_their_look_ahead_is_there():
    config = MfccConfig(energy_normalize=False)
    stream = MfccStream(config)
    samples = noise(400 + 160 * 4)
    whole = mfcc(samples, config)
    assert stream.push(samples[:-1]).shape == (0, 39)
    assert_allclose(stream.push(samples[-1:]), whole[:1], **TOLERANCE)
    assert_allclose(stream.flush(), whole[1:], **TOLERANCE)


def test_flush_starts_anew():
    config = MfccConfig(energy_normalize=False)
    stream = MfccStream(config)
    stream.push(noise(5000, seed=1))
    stream.flush()
    samples = noise(3000, seed=2)
    frames = [stream.push(samples), stream.flush()]
    assert_allclose(np.concatenate(frames), mfcc(samples, config), **TOLERANCE)


def test_nothing_gives_no_frames():
    stream = MfccStream(MfccConfig(energy_normalize=False, derivatives=1))
    nothing = np.empty((0, 26), dtype=np.float32)
    assert_array_equal(stream.push(noise(399)), nothing, strict=True)
    assert_array_equal(stream.flush(), nothing, strict=True)


def test_memory_does_not_grow():
    def held(n_pushed):
        stream = MfccStream(MfccConfig(energy_normalize=False))
        for seed in range(n_pushed):
            stream.push(noise(1600, seed))
        kept = [*vars(stream).values(), *vars(stream._windows).values()]
        buffers = [value for value in kept if isinstance(value, np.ndarray)]
        return sum(buffer.size for buffer in buffers)

    assert held(50) == held(5) < 400 + 8 * 13


def test_normalised_energy_needs_the_whole_utterance():
    with pytest.raises(
        FeatureError, match=r"^energy_normalize: expected False for a stream, got True, .*; pass"
    ):
        MfccStream(MfccConfig())


def test_without_energy_there_is_nothing_to_normalise():
    config = MfccConfig(energy=False)  # energy_normalize stays True
    stream = MfccStream(config)
    frames = [stream.push(noise(4000)), stream.flush()]
    assert_allclose(np.concatenate(frames), mfcc(noise(4000), config), **TOLERANCE)


def test_a_bad_piece_and_a_bad_configuration():
    with pytest.raises(FeatureError, match=r"^samples: expected a finite number"):
        MfccStream(MfccConfig(energy_normalize=False)).push(np.full(10, np.nan, dtype=np.float32))
    with pytest.raises(FeatureError, match=r"^n_channels: expected"):
        MfccStream(MfccConfig(energy_normalize=False, n_channels=0))


STATEFUL = [
    (lambda: MfccStream(MfccConfig(energy_normalize=False)), "_windows", "push", "push", ["push", "flush"]),
    (
        lambda: RunningFrames(FrontEnd(FrontEndConfig(normalize="none"))),
        *("_windows", "push", "accept", ["accept", "finish", "forget"]),
    ),
    (
        lambda: Resampler(48000, 16000),
        *("_stream", "resample_chunk", "accept", ["accept", "finish", "clear"]),
    ),
]


@pytest.mark.parametrize(("make", "part", "inner", "first", "calls"), STATEFUL)
def test_one_thread_at_a_time(under_way, make, part, inner, first, calls):
    alone, stream, samples = make(), make(), noise(9000)
    with under_way(stream, part, inner, lambda: getattr(stream, first)(samples)) as found:
        for name in calls:
            given = [samples] if name in ("push", "accept") else []
            with pytest.raises(FeatureError, match="already in use by another thread, expected one"):
                getattr(stream, name)(*given)
    for one, other in zip(found.result(), getattr(alone, first)(samples), strict=True):
        assert_array_equal(one, other)
