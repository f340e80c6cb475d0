"""Transforms of speakers against a general minimiser, and against distortions that are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from acoustic.emissions.adaptation import (
    AdaptationTargets,
    _sweep,
    adapted_frames,
    fit_adapted_targets,
    fit_targets,
    fit_transform,
    speaker_transforms,
)
from acoustic.errors import ModelError

N_STATES, N_COLUMNS = 6, 4
MEANS = 2 * np.random.default_rng(9).normal(size=(N_STATES, N_COLUMNS))


def spoken(n_frames, seed, matrix=None, offset=0.0):
    """Return frames (T, D) float32 and their states (T,), moved away from where they should be."""
    rng = np.random.default_rng(seed)
    states = rng.integers(N_STATES, size=n_frames)
    frames = MEANS[states] + rng.normal(size=(n_frames, N_COLUMNS)) * [0.5, 1.0, 0.7, 1.5]
    moved = frames if matrix is None else frames @ matrix.T + offset
    return moved.astype(np.float32), states


@pytest.fixture
def targets():
    return fit_targets(*map(list, zip(spoken(5000, 0), spoken(5000, 1), strict=True)), np.arange(6) > 0, 50.0)


def test_targets_are_the_moments_of_the_training_frames(targets):
    frames, states = (np.concatenate(parts) for parts in zip(spoken(5000, 0), spoken(5000, 1), strict=True))
    for s in range(N_STATES):
        assert_allclose(targets.means[s], frames[states == s].mean(axis=0), rtol=1e-5, atol=1e-5)
    used = states > 0
    deviations = frames[used] - targets.means[states[used]]
    assert_allclose(targets.variances, np.mean(deviations**2, axis=0), rtol=1e-5, atol=0)
    extended = np.column_stack([frames, np.ones(len(frames))]).astype(np.float64)[used]
    assert_allclose(targets.prior, 50 * extended.T @ extended / len(extended), rtol=1e-6, atol=1e-6)


def test_the_transform_maximises_the_posterior(targets):
    frames, states = spoken(300, 2, np.eye(4) + 0.3 * np.random.default_rng(3).normal(size=(4, 4)), 0.5)
    kept = states > 0
    x = np.column_stack([frames, np.ones(len(frames))]).astype(np.float64)[kept]
    toward = targets.means[states[kept]]

    def loss(flat):
        rows = flat.reshape(N_COLUMNS, -1)
        own = np.sum((x @ rows.T - toward) ** 2, axis=0)
        change = rows - np.eye(N_COLUMNS, N_COLUMNS + 1)
        prior = np.einsum("ij,jk,ik->i", change, targets.prior, change)
        log_determinant = np.linalg.slogdet(rows[:, :-1])[1]
        return 0.5 * np.sum((own + prior) / targets.variances) - len(x) * log_determinant

    best = minimize(loss, np.eye(N_COLUMNS, N_COLUMNS + 1).ravel(), method="BFGS", options={"gtol": 1e-5})
    found = fit_transform(frames, states, targets)
    flat = np.column_stack([found.matrix, found.offset]).ravel()
    assert loss(flat) <= best.fun + 1e-5 * len(x)
    assert_allclose(flat, best.x, rtol=0, atol=5e-3)


def sweep_reference(rows, inverse, toward, variances, count):
    """Return the rows of [A, b] after each had its turn, by Gales (1998), (40) to (45)."""
    rows = rows.copy()
    for i, variance in enumerate(variances):
        p = np.append(np.linalg.inv(rows[:, :-1])[:, i], 0.0)
        own, k = variance * inverse, toward[i] / variance
        a, b = p @ own @ p, p @ own @ k
        alpha = (-b + np.sqrt(b * b + 4 * a * count)) / (2 * a)
        rows[i] = own @ (alpha * p + k)
    return rows


@pytest.mark.parametrize("n_columns", [1, 2, 7])
def test_a_sweep_against_the_formulas_row_by_row(n_columns):
    rng = np.random.default_rng(n_columns)
    x = rng.normal(size=(50, n_columns + 1))
    x[:, -1] = 1.0
    inverse, toward = np.linalg.inv(x.T @ x), rng.normal(size=(50, n_columns)).T @ x
    variances, rows = rng.uniform(0.5, 2.0, n_columns), np.eye(n_columns, n_columns + 1)
    rows[:, :-1] += 0.2 * rng.normal(size=(n_columns, n_columns))
    found, cofactors = rows.copy(), np.ascontiguousarray(np.linalg.inv(rows[:, :-1]).T)
    _sweep(found, cofactors, toward @ inverse, inverse, variances, 50.0)
    expected = sweep_reference(rows, inverse, toward, variances, 50.0)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    # Up to the determinant, cofactors are the inverse, which each row brings up to date.
    assert_allclose(cofactors.T @ found[:, :-1], np.eye(n_columns), rtol=0, atol=1e-9)


def test_a_distortion_is_undone(targets):
    matrix = np.eye(4) + 0.2 * np.random.default_rng(4).normal(size=(4, 4))
    frames, states = spoken(20000, 5, matrix, 0.3)
    moved = fit_transform(frames, states, targets).apply(frames)
    assert_allclose(moved, spoken(20000, 5)[0], rtol=0, atol=0.25)


def test_little_speech_changes_little(targets):
    matrix = 1.5 * np.eye(4)
    changes = [
        np.abs(fit_transform(*spoken(n, 6, matrix), targets).matrix - np.eye(4)).max() for n in (0, 5, 500)
    ]
    assert changes[0] == 0
    assert changes[0] < changes[1] < changes[2]


@pytest.mark.parametrize("n_frames", [0, 1, 20, 80, 2000])
def test_states_that_hardly_differ_turn_no_axis_round(n_frames):
    """Correlated columns, states half a deviation apart: a likelihood without a good prior goes astray."""
    rng = np.random.default_rng(8)
    noise = np.linalg.cholesky(0.8 + 0.2 * np.eye(4))

    def draw(n):
        states = rng.integers(N_STATES, size=n)
        return (0.25 * MEANS[states] + rng.normal(size=(n, 4)) @ noise.T).astype(np.float32), states

    frames, states = draw(5000)
    frames[states == 0] *= 0.1  # silence
    targets = fit_targets([frames], [states], np.arange(N_STATES) > 0, 300.0)
    found = fit_transform(*draw(n_frames), targets)
    assert np.linalg.det(found.matrix) > 0
    assert (np.diag(found.matrix) > 0).all()
    if not n_frames:
        assert_array_equal(found.matrix, np.eye(4))
        assert_array_equal(found.offset, 0)


def test_unknown_and_unused_states_tell_nothing(targets):
    frames, states = spoken(200, 7, 1.5 * np.eye(4))
    unknown = np.where(np.arange(200) % 2 == 0, states, -1)
    other = frames.copy()
    other[(unknown < 0) | (states == 0)] = 1e3
    assert_array_equal(
        fit_transform(frames, unknown, targets).matrix, fit_transform(other, unknown, targets).matrix
    )


def test_each_speaker_has_a_transform(targets):
    utterances = [spoken(200, seed, (1 + 0.1 * (seed % 2)) * np.eye(4)) for seed in range(4)]
    frames, states = map(list, zip(*utterances, strict=True))
    extended = [np.column_stack([f, f[:, :1]]) for f in frames]
    found = speaker_transforms(extended, states, ["a", "b", "a", "b"], targets)
    assert list(found) == ["a", "b"]
    alone = fit_transform(np.concatenate(frames[::2]), np.concatenate(states[::2]), targets)
    assert_array_equal(found["a"].matrix, alone.matrix)
    moved = found["b"].apply(extended[1])
    assert_allclose(moved[:, :4], frames[1] @ found["b"].matrix.T + found["b"].offset, rtol=1e-4, atol=1e-4)
    assert_array_equal(moved[:, 4], frames[1][:, 0])


def test_targets_of_adapted_speakers_are_those_of_one_speaker():
    """Three people whose frames are distorted in ways of their own: once adapted, hardly anything is left."""
    rng = np.random.default_rng(11)
    distortions = [(np.eye(4) + 0.2 * rng.normal(size=(4, 4)), rng.normal(size=4)) for _ in range(3)]
    speakers = ["a", "b", "c"] * 2
    frames, states = zip(*(spoken(3000, n, *distortions[n % 3]) for n in range(6)), strict=True)
    is_used = np.arange(6) > 0
    apart = fit_targets(frames, states, is_used)
    together = fit_adapted_targets(frames, states, speakers, is_used)
    moved = adapted_frames(frames, states, speakers, together)
    labels, x = np.concatenate(states), np.concatenate(moved)

    def separation(values, targets):  # of means, in within-class deviations, up to a common affine map
        kept = labels > 0
        within = np.cov((values[kept] - targets.means[labels[kept]]).T)
        between = np.cov(targets.means[1:].T)
        return np.trace(np.linalg.solve(within, between))

    clean, clean_states = zip(*(spoken(3000, n) for n in range(6)), strict=True)
    best = separation(np.concatenate(clean), fit_targets(clean, clean_states, is_used))
    assert separation(np.concatenate(frames), apart) < 0.8 * best
    assert separation(x, together) > 0.95 * best


def test_degenerate_frames_stay_finite(targets):
    constant = np.zeros((100, 4), dtype=np.float32)
    found = fit_transform(constant, np.ones(100, dtype=int), targets)
    assert np.isfinite(found.matrix).all()
    flat = fit_targets([constant], [np.ones(100, dtype=int)], np.ones(6, dtype=bool), 50.0)
    found = fit_transform(constant, np.ones(100, dtype=int), flat)
    assert_array_equal(found.matrix, np.eye(4))


def test_shapes_are_checked(targets):
    with pytest.raises(ModelError, match=r"prior has shape \(2, 2\), expected \(5, 5\)"):
        AdaptationTargets(targets.means, targets.variances, targets.is_used, np.eye(2))
