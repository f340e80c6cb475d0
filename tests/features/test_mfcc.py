"""The cepstra against HTK's own files, a plain-loop reading of the HTK Book, and kaldi-native-fbank."""

import math
import os
import tracemalloc
from dataclasses import replace
from importlib import import_module

import kaldi_native_fbank
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import (
    FeatureError,
    MfccConfig,
    add_derivatives,
    mfcc,
    n_frames,
    read_audio,
    read_htk,
    static_mfcc,
)

# `features.mfcc` as an attribute is the function
mfcc_module = import_module("features.mfcc")

# Written by HTK 3.4.1 with `HCopy -C hcopy.cfg` (shared/golden/htk/hcopy.cfg)
GOLDEN = [
    ("an251-fash-b", "an4_clstk/fash"),
    ("cen1-mblw-b", "an4_clstk/mblw"),
    ("an406-fcaw-b", "an4test_clstk/fcaw"),
]


def speech_like(n_samples, seed=0, sample_rate=16000):
    """Return noise whose level goes up and down, quantised to 16 bits as a recording is."""
    rng = np.random.default_rng(seed)
    level = 0.1 * (1.05 + np.sin(2 * np.pi * 3.0 * np.arange(n_samples) / sample_rate))
    return (np.round(rng.normal(size=n_samples) * level * 32768).clip(-32768, 32767) / 32768).astype(
        np.float32
    )


# --- an independent reading of the HTK Book, loop by loop in double precision


def mel_reference(hz):
    return 1127.0 * math.log(1.0 + hz / 700.0)


def triangles_reference(config, n_fft):
    high_hz = config.high_hz or config.sample_rate / 2
    low, high = mel_reference(config.low_hz), mel_reference(high_hz)
    centers = [low + (high - low) * k / (config.n_channels + 1) for k in range(config.n_channels + 2)]
    weights = np.zeros((n_fft // 2 + 1, config.n_channels))
    # HTK counts bins from one: klo = int(low + 2.5) but not the first, khi = int(high + 0.5) but not the last
    first = max(int(config.low_hz * n_fft / config.sample_rate + 2.5), 2)
    last = min(int(high_hz * n_fft / config.sample_rate + 0.5), n_fft // 2)
    for k in range(first - 1, last):
        hz = k * config.sample_rate / n_fft
        position = mel_reference(hz)
        for channel in range(config.n_channels):
            left, center, right = centers[channel : channel + 3]
            if left < position <= center:
                weights[k, channel] = (position - left) / (center - left)
            elif center < position < right:
                weights[k, channel] = (right - position) / (right - center)
    return weights


def frame_reference(frame, config, triangles, n_fft):
    length = len(frame)
    emphasized = [frame[0] * (1 - config.preemphasis)]
    emphasized += [frame[i] - config.preemphasis * frame[i - 1] for i in range(1, length)]
    windowed = [
        s * (0.54 - 0.46 * math.cos(2 * math.pi * i / (length - 1))) for i, s in enumerate(emphasized)
    ]
    log_mel = np.log(np.maximum(np.abs(np.fft.rfft(windowed, n_fft)) @ triangles, 1.0))
    if not any(frame):
        log_mel = mfcc_module.mfcc_plan(config).faintest
    n = config.n_channels
    cepstra = []
    for i in range(1, config.n_cepstra + 1):
        total = sum(log_mel[j] * math.cos(math.pi * i / n * (j + 0.5)) for j in range(n))
        lifter = 1 + config.lifter / 2 * math.sin(math.pi * i / config.lifter) if config.lifter else 1.0
        cepstra.append(math.sqrt(2.0 / n) * total * lifter)
    energy = math.log(max(sum(s * s for s in frame), 1e-5))
    return [*cepstra, energy] if config.energy else cepstra


def deltas_reference(rows, window):
    last = len(rows) - 1
    scale = 2 * sum(step**2 for step in range(1, window + 1))
    return np.array(
        [
            sum(step * (rows[min(t + step, last)] - rows[max(t - step, 0)]) for step in range(1, window + 1))
            / scale
            for t in range(len(rows))
        ]
    )


def mfcc_reference(samples, config):
    signal = [float(s) * 32768 for s in samples]
    length = int(config.window_ms * config.sample_rate / 1000)
    shift = int(config.shift_ms * config.sample_rate / 1000)
    n_fft = 1
    while n_fft < length:
        n_fft *= 2
    triangles = triangles_reference(config, n_fft)
    starts = range(0, len(signal) - length + 1, shift)
    rows = np.array([frame_reference(signal[s : s + length], config, triangles, n_fft) for s in starts])
    if config.energy and config.energy_normalize:
        loudest = rows[:, -1].max()
        floored = np.maximum(rows[:, -1], loudest - 50.0 * math.log(10) / 10)
        rows[:, -1] = 1.0 - (loudest - floored) * 0.1
    parts = [rows]
    for _ in range(config.derivatives):
        parts.append(deltas_reference(parts[-1], config.delta_window))
    return np.hstack(parts)


# --- golden files


@pytest.mark.parametrize(("name", "folder"), GOLDEN)
def test_equals_htk_on_every_component_and_frame(shared, name, folder):
    golden = read_htk(shared / "golden/htk" / f"{name}.mfc")
    samples = read_audio(shared / "data/an4/wav" / folder / f"{name}.wav")
    features = mfcc(samples)
    assert golden.kind == "MFCC_E_D_A"
    assert features.dtype == np.float32
    # The issue asks for 1e-3; what is left is single-precision rounding, HTK's and ours.
    assert_allclose(features, golden.frames, rtol=0, atol=1e-4)


# --- the plain-loop reference


@pytest.mark.parametrize(
    "config",
    [
        MfccConfig(),
        MfccConfig(energy_normalize=False),
        MfccConfig(sample_rate=8000),
        MfccConfig(n_channels=20, n_cepstra=10, lifter=0, derivatives=1, delta_window=3),
        MfccConfig(low_hz=133.3, high_hz=6855.5, energy=False, derivatives=0, n_channels=40, n_cepstra=13),
        MfccConfig(window_ms=20.0, shift_ms=12.5, preemphasis=0.0, delta_window=1),
        MfccConfig(sample_rate=11025),
    ],
    ids=lambda config: (
        f"{config.sample_rate}-{config.n_channels}-{config.window_ms}-{config.energy_normalize}"
    ),
)
def test_equals_plain_loops(config):
    samples = speech_like(5000, sample_rate=config.sample_rate)
    samples[:700] = 0.0  # digital silence: mel and energy floors
    assert_allclose(mfcc(samples, config), mfcc_reference(samples, config), rtol=1e-5, atol=5e-4)


def test_digital_silence_is_the_faintest_noise():
    config = MfccConfig(energy=False, derivatives=0)
    steps = np.random.default_rng(5).choice([-1.0, 1.0], 160 * 400 + 400) / 32768
    noise, silence = mfcc(steps, config), mfcc(np.zeros(16000), config)
    assert_allclose(silence[:1].repeat(len(silence), axis=0), silence, rtol=0, atol=0)
    assert_allclose(silence[0], noise.mean(axis=0), rtol=0, atol=4 * noise.std(axis=0).max() / np.sqrt(400))


def test_fft_and_mel_agree_with_kaldi_where_the_definitions_meet():
    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither = 0.0
    options.frame_opts.window_type = "hamming"
    options.frame_opts.remove_dc_offset = False
    options.frame_opts.preemph_coeff = 0.97
    options.mel_opts.num_bins = 26
    options.mel_opts.low_freq, options.mel_opts.high_freq = 0.0, 8000.0
    options.use_power = False
    options.use_energy = False
    samples = speech_like(8000)
    fbank = kaldi_native_fbank.OnlineFbank(options)
    fbank.accept_waveform(16000, (samples * 32768).tolist())
    log_mel = np.stack([fbank.get_frame(t) for t in range(fbank.num_frames_ready)])
    dct = import_module("features.mfcc").cepstral_matrix(26, 12, 22)
    # Kaldi's mel scale is HTK's, and at these edges bin 0 and the Nyquist bin have no weight in either bank.
    assert_allclose(static_mfcc(samples)[:, :12], log_mel @ dct, rtol=1e-4, atol=2e-3)


# --- properties


def test_shape_and_frame_count():
    for n in (400, 559, 560, 16000, 16001):
        assert mfcc(speech_like(n)).shape == (n_frames(n), 39)
    assert [n_frames(n) for n in (0, 399, 400, 559, 560)] == [0, 0, 1, 1, 2]
    assert n_frames(8000, MfccConfig(sample_rate=8000)) == 98


@pytest.mark.parametrize("derivatives", [0, 1, 2])
def test_n_features(derivatives):
    config = MfccConfig(derivatives=derivatives, energy=False, n_cepstra=10)
    assert config.n_features == 10 * (1 + derivatives)
    assert mfcc(speech_like(2000), config).shape == (n_frames(2000), config.n_features)


def test_blocks_do_not_show(monkeypatch):
    samples = speech_like(16000)
    whole = mfcc(samples)
    monkeypatch.setattr(mfcc_module, "BLOCK_FRAMES", 7)
    assert_allclose(mfcc(samples), whole, rtol=0, atol=1e-4)


def test_an_hour_needs_little_more_than_its_result():
    samples = np.zeros(16000 * 600, dtype=np.float32)  # ten minutes measure the same rate
    tracemalloc.start()
    features = mfcc(samples)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * features.nbytes + 20e6


def test_silence_is_finite():
    for config in (MfccConfig(), MfccConfig(energy_normalize=False)):
        assert np.isfinite(mfcc(np.zeros(4000, dtype=np.float32), config)).all()
    assert_array_equal(mfcc(np.zeros(4000, dtype=np.float32))[:, 12], 1.0)


def test_loudest_frame_has_energy_one_and_floor_is_50_db():
    samples = speech_like(16000)
    samples[:4000] = 0.0
    energy = mfcc(samples)[:, 12]
    assert_allclose(energy.max(), 1.0, rtol=0, atol=1e-6)
    assert_allclose(energy.min(), 1.0 - 0.1 * 50 * math.log(10) / 10, rtol=0, atol=1e-6)


def test_scaling_the_audio_leaves_normalised_features():
    samples = speech_like(8000)
    half = mfcc(samples * np.float32(0.5))
    # A gain is a constant in all log channels, which c1..c12 do not see; ENORMALISE takes it from the energy.
    assert_allclose(half, mfcc(samples), rtol=0, atol=2e-3)


def test_derivatives_of_a_ramp_are_its_slope():
    ramp = np.arange(20, dtype=np.float32)[:, None] * np.array([[1.0, -2.0]], dtype=np.float32)
    features = add_derivatives(ramp, 2, 2)
    assert_allclose(features[4:-4, 2:], np.tile([1.0, -2.0, 0.0, 0.0], (12, 1)), rtol=0, atol=1e-6)
    assert_array_equal(add_derivatives(ramp, 2, 0), ramp)


def test_one_frame_has_zero_derivatives():
    assert_array_equal(mfcc(speech_like(400))[:, 13:], 0.0)


def test_same_samples_in_double_precision():
    samples = speech_like(4000)
    assert_array_equal(mfcc(samples.astype(np.float64)), mfcc(samples))


def test_input_is_not_changed():
    samples = speech_like(4000)
    before = samples.copy()
    mfcc(samples)
    assert_array_equal(samples, before)


# --- frequency warp


def test_warp_moves_a_peak_as_the_inverse_scaling_does():
    # A spectrum stretched by 1/0.92 looks, warped by 0.92, like the unstretched one unwarped.
    t = np.arange(16000) / 16000
    tone = (0.3 * np.sin(2 * np.pi * 1500.0 * t)).astype(np.float32)
    stretched = (0.3 * np.sin(2 * np.pi * 1500.0 / 0.92 * t)).astype(np.float32)
    config = MfccConfig(derivatives=0, preemphasis=0.0)
    distance = np.abs(mfcc(stretched, replace(config, warp=0.92)) - mfcc(tone, config)).mean()
    assert distance < 0.4 * np.abs(mfcc(stretched, config) - mfcc(tone, config)).mean()


def test_warp_of_one_is_none():
    samples = speech_like(4000)
    assert_array_equal(mfcc(samples, MfccConfig(warp=1.0, warp_high_hz=5000.0)), mfcc(samples))


@pytest.mark.parametrize("warp", [0.8, 0.92, 1.08, 1.2])
def test_usual_warps_work_at_16_and_8_khz(warp):
    for sample_rate in (16000, 8000):
        features = mfcc(speech_like(4000), MfccConfig(sample_rate=sample_rate, warp=warp))
        assert np.isfinite(features).all()


# --- errors


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sample_rate", 0),
        ("sample_rate", -16000),
        ("window_ms", 0.0),
        ("window_ms", float("nan")),
        ("shift_ms", 0.0),
        ("shift_ms", -10.0),
        ("n_channels", 0),
        ("n_channels", 200),
        ("n_cepstra", 0),
        ("n_cepstra", 26),
        ("lifter", -1),
        ("preemphasis", 1.5),
        ("low_hz", -1.0),
        ("low_hz", 9000.0),
        ("high_hz", 9000.0),
        ("high_hz", 0.0),
        ("delta_window", 0),
        ("derivatives", 3),
        ("warp", 0.0),
        ("warp", 5.0),
    ],
)
def test_a_bad_configuration_names_its_field(field, value):
    with pytest.raises(FeatureError, match=rf"^({field}|high_hz|low_hz): expected .*got .*; .*"):
        mfcc(speech_like(4000), replace(MfccConfig(), **{field: value}))


def test_warp_without_room_names_the_cut_offs():
    with pytest.raises(FeatureError, match=r"^warp: expected cut-offs .* warp_high_hz 7900"):
        mfcc(speech_like(4000), MfccConfig(warp=0.8, warp_high_hz=7900.0))


def test_too_short_audio_says_how_long_and_what_is_needed():
    message = r"^audio too short: expected .* window of 400 samples \(25 ms\), got 160 \(0.01 s at 16000 Hz\)"
    with pytest.raises(FeatureError, match=message):
        mfcc(speech_like(160))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_that_are_no_numbers(bad):
    samples = speech_like(4000)
    samples[123] = bad
    with pytest.raises(FeatureError, match=r"^samples: expected a finite number, got (nan|inf) at 123"):
        mfcc(samples)


def test_integers_and_stereo_are_refused():
    with pytest.raises(FeatureError, match=r"^samples: expected floats in \[-1, 1\), got int16; divide"):
        mfcc(np.zeros(4000, dtype=np.int16))
    with pytest.raises(FeatureError, match=r"^samples: expected ndim = 1, got shape \(4000, 2\)"):
        mfcc(np.zeros((4000, 2), dtype=np.float32))


@pytest.mark.slow
def test_every_an4_test_file_is_finite(shared):
    n_files = 0
    for folder, _, names in os.walk(shared / "data/an4/wav/an4test_clstk"):
        for name in names:
            assert np.isfinite(mfcc(read_audio(os.path.join(folder, name)))).all()
            n_files += 1
    assert n_files == 130
