"""The front end of streams against the same by its definition, over all that was heard up to each block."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from features import (
    FeatureError,
    FrontEnd,
    FrontEndConfig,
    MfccConfig,
    RunningConfig,
    RunningFrames,
    Standardizer,
)
from features.mfcc import normalized_energy, static_mfcc
from features.projection import LinearProjection
from features.recording import Recording

RAW = MfccConfig(energy_normalize=False)


def speech(n_samples, seed=0):
    """Return noise that grows loud in the middle."""
    rng = np.random.default_rng(seed)
    loudness = 0.003 + 0.2 * np.exp(-0.5 * np.square(np.linspace(-3, 3, n_samples)))
    return (rng.normal(size=n_samples) * loudness).astype(np.float32)


def front_end(normalize="speaker", projects=False, **changes):
    rng = np.random.default_rng(1)
    prior = Standardizer.from_statistics(rng.normal(size=39), 1.0 + rng.random(39))
    prior.mean_[12], prior.scale_[12] = 0.4, 0.2
    config = FrontEndConfig(normalize=normalize, **changes)
    if not projects:
        return FrontEnd(config, None if normalize == "none" else prior)
    matrix = rng.normal(size=(13 * (2 * config.context + 1), 7)).astype(np.float32)
    projection = LinearProjection(matrix, np.zeros(7, np.float32), config.context)
    if not config.keep_cepstra:
        prior = Standardizer.from_statistics(prior.mean_[:13], prior.scale_[:13])
    return FrontEnd(config, prior, projection)


FRONT_ENDS = {
    "speaker": front_end(),
    "mean alone": front_end(normalize_variance=False),
    "global": front_end("global"),
    "none": front_end("none"),
    "lda": front_end(projection="lda", n_components=7, projects=True),
    "lda and cepstra": front_end(projection="lda", n_components=7, keep_cepstra=True, projects=True),
}


@pytest.fixture(params=FRONT_ENDS)
def model(request):
    return FRONT_ENDS[request.param]


def in_pieces(running, samples, rng):
    blocks, start = [], 0
    while start < len(samples):
        size = int(rng.integers(0, rng.choice([2, 160, 400, 5000])))
        blocks += running.accept(samples[start : start + size])
        start += size
    return blocks + running.finish()


@pytest.mark.parametrize("seed", range(5))
def test_all_pieces_give_the_same_bits(model, seed):
    samples = speech(16000 + 997 * seed, seed)
    running = RunningFrames(model)
    whole = running.accept(samples) + running.finish()
    pieces = in_pieces(RunningFrames(model), samples, np.random.default_rng(seed))
    assert [len(block) for block in pieces] == [len(block) for block in whole]
    assert_array_equal(np.concatenate(pieces), np.concatenate(whole), strict=True)


def by_definition(model, samples, config):
    """Return the frames, each block normalised by all frames up to its end."""
    static = static_mfcc(samples, RAW)
    n, size = len(static), config.block_frames
    derived, spliced = 4, 0 if model.projection is None else model.projection.context
    look_ahead = max(derived, spliced)
    heard = [*range(size, n + 1, size), *([n] if n % size else [])]
    stops = [max(h - look_ahead, 0) for h in heard if h % size == 0] + [n]
    heard = [h for h in heard if h % size == 0] + [n]
    found, start, counted, fall = [], 0, np.zeros(0, bool), np.log(10) * config.fall_db / 1000
    for h, stop in zip(heard, stops, strict=True):
        if stop <= start:
            continue
        energy = static[:h, 12]
        ends = np.minimum((np.arange(h) // size + 1) * size, h)  # of each frame's block
        level = (energy - fall * (h - ends)).max()
        if model.standardizer is not None:
            background = model.standardizer.mean_[12] - 1.5 * model.standardizer.scale_[12]
            level = max(level, energy.min() + 10 * (1 - background))
        known = static[:h].copy()
        known[:, 12] = normalized_energy(energy, level)
        recording = Recording(model.config.mfcc, known, np.empty(0, np.float32))
        last_loud = np.maximum.accumulate(np.where(energy >= level - 3 * np.log(10), np.arange(h), -1))
        counted = np.append(counted, (np.arange(h) - last_loud <= 50)[start:stop])
        scale = model.scales([("", recording.cepstra(0, stop)[counted])]).get("")
        found.append(model.frames(recording, scale, start, stop))
        start = stop
    return np.concatenate(found)


def test_frames_are_normalised_by_what_was_heard_before_them(model):
    samples = speech(24000)
    running = RunningFrames(model)
    found = np.concatenate(running.accept(samples) + running.finish())
    expected = by_definition(model, samples, running.config)
    assert found.shape == expected.shape
    # The floor of the energy is that of its time, hence the tolerance; without it float32 rounding.
    assert_allclose(found, expected, rtol=1e-4, atol=2e-3)


def test_a_speaker_who_was_heard_before_is_normalised_as_in_whole_recordings():
    model, samples = FRONT_ENDS["speaker"], speech(32000)
    *_, whole = model.transform([model.cepstra(samples)] * 4, ["anna"] * 4)
    running = RunningFrames(model, RunningConfig(memory_s=1000.0))
    for _ in range(4):
        found = np.concatenate(running.accept(samples) + running.finish())
    cepstra = np.arange(39) != 12  # how loud speech may be is still a guess
    assert_allclose(found[-30:, cepstra], whole[-30:, cepstra], rtol=0, atol=0.05)  # all four were heard


def test_a_new_recording_of_the_speaker_and_a_new_speaker():
    model, samples = FRONT_ENDS["lda and cepstra"], speech(16000)
    running = RunningFrames(model)
    first = np.concatenate(running.accept(samples) + running.finish())
    second = np.concatenate(running.accept(samples) + running.finish())
    running.accept(samples[:5000])
    running.forget()
    third = np.concatenate(running.accept(samples) + running.finish())
    assert np.abs(first - second).max() > 0.01
    assert_array_equal(first, third, strict=True)


def test_digital_silence_tells_nothing_of_the_speaker(model):
    samples, zeros = speech(16000), np.zeros(4000, np.float32)
    without, after = RunningFrames(model), RunningFrames(model)
    after.accept(zeros)
    after.finish()
    first = np.concatenate(without.accept(samples) + without.finish())
    assert_array_equal(np.concatenate(after.accept(samples) + after.finish()), first, strict=True)


def test_a_loud_click_is_forgotten_within_seconds():
    faint = speech(16000) / 100
    click = (0.5 * np.random.default_rng(3).normal(size=480)).astype(np.float32)  # 48 dB over the loudest

    def heard_after(sound, fall_db):
        running = RunningFrames(FRONT_ENDS["speaker"], RunningConfig(fall_db=fall_db))
        running.accept(np.concatenate([faint, sound]))
        for _ in range(8):
            found = np.concatenate(running.accept(faint))
        return found[:, 12]

    never = heard_after(click / 1000, 10.0)
    assert_allclose(heard_after(click, 10.0), never, rtol=0, atol=0.25)
    assert np.ptp(heard_after(click, 0.0)) < 0.5 * np.ptp(never)  # most frames lie on the floor


def test_long_silence_does_not_take_the_place_of_the_speaker(model):
    samples = speech(32000)
    noise = (1e-4 * np.random.default_rng(4).normal(size=16000)).astype(np.float32)
    short, long = RunningFrames(model), RunningFrames(model)
    for running, n_seconds in ((short, 1), (long, 60)):
        running.accept(samples)
        for _ in range(n_seconds):
            running.accept(noise)
    first, second = (np.concatenate(running.accept(samples)) for running in (short, long))
    assert_allclose(second[-50:], first[-50:], rtol=0, atol=0.05)


def test_what_is_kept_does_not_grow():
    running = RunningFrames(FRONT_ENDS["lda"])
    samples = speech(1600)
    for _ in range(200):
        running.accept(samples)
    assert running._static.nbytes + running._windows._samples.nbytes < 10_000


@pytest.mark.parametrize("n_samples", [0, 1, 399, 400, 560, 561, 1200, 1201])
def test_recordings_of_few_frames(model, n_samples):
    running = RunningFrames(model)
    blocks = running.accept(speech(n_samples)) + running.finish()
    expected = 0 if n_samples < 400 else (n_samples - 400) // 160 + 1
    assert sum(map(len, blocks)) == expected


def test_frames_come_within_the_look_ahead():
    running = RunningFrames(FRONT_ENDS["lda"], RunningConfig(block_frames=4))
    assert running.look_ahead_s == pytest.approx(0.09)
    samples = speech(16000)
    n = 0
    for last in range(0, 16000, 160):
        n += sum(map(len, running.accept(samples[last : last + 160])))
        n_whole = max((last + 160 - 400) // 160 + 1, 0)
        assert n >= n_whole - round(running.look_ahead_s / 0.01)


def test_without_statistics_of_training_there_is_nothing_to_begin_with():
    with pytest.raises(
        FeatureError, match=r'got "utterance" without any; train with --set normalize=speaker'
    ):
        RunningFrames(FrontEnd(FrontEndConfig(normalize="utterance")))


def test_samples_that_are_none_are_refused():
    running = RunningFrames(FRONT_ENDS["none"])
    with pytest.raises(FeatureError, match="expected a finite number"):
        running.accept(np.full(10, np.nan, np.float32))
