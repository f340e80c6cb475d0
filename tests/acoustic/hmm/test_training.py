import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from acoustic import (
    GmmConfig,
    Topology,
    TrainingError,
    TrainingUtterance,
    align,
    flat_start,
    grow,
    train_stage,
    utterance_graph,
)
from acoustic.hmm.forward_backward import posteriors
from acoustic.hmm.topology import all_contexts
from acoustic.hmm.training import _within_band, corpus_moments, posteriors_with_retries, start_from_labels
from acoustic.hmm.tying import contextual_topology
from acoustic.hmm.viterbi import best_path
from features import MfccConfig, mfcc, normalize, read_audio

CONFIG = GmmConfig()
# float32 scores and the posteriors below 1e-6 that are left out, in nats a frame
ROUNDING = 1e-4


def course(model, utterances, n_iterations, config=CONFIG, **options):
    """Return the trained model and the log-likelihood per frame before each pass."""
    history = []
    model = train_stage(model, utterances, n_iterations, config, report=history.append, **options)
    return model, history


def assert_never_falls(history):
    log_likelihoods = [step.log_likelihood for step in history]
    assert (np.diff(log_likelihoods) > -ROUNDING).all(), log_likelihoods
    assert log_likelihoods[-1] > log_likelihoods[0]


def as_bytes(model):
    gmm = model.emissions
    arrays = (gmm.log_weights, gmm.means, gmm.variances, model.occupancy, model.topology.flat_self_loops())
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("seed", range(3))
def test_likelihood_never_falls_within_a_stage(oracle, seed):
    task = oracle.draw_task(60, seed, spread=1.5)
    model = flat_start(task.topology, task.utterances)
    for n_components in (1, 2, 4):
        model = grow(model, n_components, CONFIG)
        model, history = course(model, task.utterances, 8)
        assert_never_falls(history)
        assert [step.iteration for step in history] == list(range(1, 9))
        assert {(step.n_components, step.n_iterations, step.failed) for step in history} == {
            (n_components, 8, ())
        }


@pytest.mark.parametrize("n_components", [1, 4])
def test_bands_change_neither_model_nor_likelihood(oracle, n_components, monkeypatch):
    task = oracle.draw_task(60)
    start, _ = course(flat_start(task.topology, task.utterances), task.utterances, 4)
    start = grow(start, n_components, CONFIG)
    n_within = []

    def within_band(*arguments):
        found = _within_band(*arguments)
        n_within.append(found is not None)
        return found

    monkeypatch.setattr("acoustic.hmm.training._within_band", within_band)
    model, history = course(start, task.utterances, 5)
    # One Gaussian might be a flat start, so its second pass is whole, too.
    assert len(n_within) == 60 * (3 if n_components == 1 else 4)
    assert np.mean(n_within) > 0.9
    monkeypatch.setattr("acoustic.hmm.training._SETTLED", -np.inf)
    whole, expected = course(start, task.utterances, 5)
    assert len(n_within) == 60 * (3 if n_components == 1 else 4)
    for step, other in zip(history, expected, strict=True):
        assert_allclose(step.log_likelihood, other.log_likelihood, rtol=1e-6, atol=0)
    assert_allclose(model.emissions.means, whole.emissions.means, rtol=0, atol=1e-3)
    assert_allclose(model.topology.flat_self_loops(), whole.topology.flat_self_loops(), rtol=0, atol=1e-4)


def test_an_utterance_that_leaves_its_band_is_looked_at_as_a_whole(oracle, monkeypatch):
    task = oracle.draw_task(20)
    start, _ = course(flat_start(task.topology, task.utterances), task.utterances, 4)
    monkeypatch.setattr("acoustic.hmm.training.is_wide_enough", lambda *_: False)
    model, history = course(start, task.utterances, 4)
    monkeypatch.setattr("acoustic.hmm.training._SETTLED", -np.inf)
    whole, expected = course(start, task.utterances, 4)
    assert history == expected
    assert as_bytes(model) == as_bytes(whole)


def test_what_is_too_far_off_for_forward_backward_has_the_posteriors_of_the_best_path():
    topology = Topology.monophones("ab", n_states=1, short_pause=False)
    graph = utterance_graph([[("a",)], [("b",)]], topology)
    scores = np.zeros((8, 3), np.float32)
    scores[:, 2] = -2000.0  # "b" must be said, though nothing fits it
    columns = graph.states.astype(np.int64)
    assert posteriors(scores, columns, graph, topology).log_likelihood == -np.inf
    found = posteriors_with_retries(scores, columns, graph, topology, 400.0)
    score, path = best_path(scores, columns, graph, topology)
    assert found.log_likelihood == score
    assert_array_equal(found.occupancy.argmax(axis=1), graph.states[path])
    assert_array_equal(found.occupancy.sum(axis=1), 1.0)
    assert_array_equal(found.visits, np.bincount(path, minlength=graph.n_nodes))
    assert found.stays.sum() == 8 - len(np.unique(path))


def an4_utterances(shared, n_utterances):
    """Return every tenth training utterance of AN4, in its published order."""
    an4 = shared / "data" / "an4"
    pronunciations = {}
    for line in (an4 / "etc" / "an4.dic").read_text().splitlines():
        word, *phones = line.split()
        pronunciations.setdefault(re.sub(r"\(\d+\)$", "", word), []).append(tuple(phones))
    transcripts = {}
    for line in (an4 / "etc" / "an4_train.transcription").read_text().splitlines():
        *words, bracketed = line.split()
        transcripts[bracketed.strip("()")] = [pronunciations[w] for w in words if w not in ("<s>", "</s>")]
    topology = Topology.monophones(p for variants in pronunciations.values() for v in variants for p in v)
    utterances = []
    for file_id in (an4 / "etc" / "an4_train.fileids").read_text().split()[::10][:n_utterances]:
        path = an4 / "wav" / file_id
        (path,) = path.parent.glob(f"{path.name}.*")
        frames = normalize(mfcc(read_audio(path, 16000), MfccConfig()))
        graph = utterance_graph(transcripts[path.stem], topology)
        utterances.append(TrainingUtterance(path.stem, frames, graph))
    return topology, utterances


def test_forty_utterances_of_an4(shared):
    topology, utterances = an4_utterances(shared, 40)
    model = flat_start(topology, utterances)
    for n_components, n_iterations in ((1, 6), (2, 3)):
        model = grow(model, n_components, CONFIG)
        model, history = course(model, utterances, n_iterations)
        assert_never_falls(history)
        assert history[-1].failed == ()
    for utterance in utterances:
        scores = model.emissions.log_likelihoods(utterance.frames)
        columns = utterance.graph.states.astype(np.int64)
        exact = posteriors(scores, columns, utterance.graph, model.topology)
        beam = posteriors(scores, columns, utterance.graph, model.topology, CONFIG.beam)
        assert_allclose(beam.log_likelihood, exact.log_likelihood, rtol=1e-12, atol=0)
        assert len(align(scores, utterance.graph, model.topology).states) == len(utterance.frames)


def test_same_bytes_for_any_number_of_workers(oracle):
    task = oracle.draw_task(100)
    start = grow(
        train_stage(flat_start(task.topology, task.utterances), task.utterances, 2, CONFIG), 2, CONFIG
    )
    results = []
    for n_workers in (1, 2, 3):
        model, history = course(start, task.utterances, 2, n_workers=n_workers)
        results.append((as_bytes(model), history))
    assert results[0] == results[1] == results[2]


def test_recovers_a_left_to_right_hmm(oracle):
    task = oracle.draw_task(400)
    model = train_stage(flat_start(task.topology, task.utterances), task.utterances, 25, CONFIG)
    # About 1000 frames a state: standard errors of 0.03 (mean), 0.05 (variance), 0.015 (loop)
    assert_allclose(model.emissions.means, task.model.means, rtol=0, atol=0.15)
    assert_allclose(model.emissions.variances, task.model.variances, rtol=0.2, atol=0)
    loops, true_loops = model.topology.flat_self_loops(), task.topology.flat_self_loops()
    assert_allclose(loops, true_loops, rtol=0, atol=0.07)
    n_frames = sum(len(utterance.frames) for utterance in task.utterances)
    assert_allclose(model.occupancy.sum(), n_frames, rtol=1e-5, atol=0)


def test_one_pass_against_the_sums_over_all_paths(oracle):
    topology = Topology.monophones("ab", n_states=1)
    frames = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
    words = [[("a",), ("b", "a")], [("b",)]]
    start = flat_start(topology, [TrainingUtterance("u", frames, utterance_graph(words, topology))])
    means = np.random.default_rng(1).normal(size=start.emissions.means.shape)
    start = replace(start, emissions=replace(start.emissions, means=means))
    model, history = course(start, [TrainingUtterance("u", frames, utterance_graph(words, topology))], 1)
    scores = start.emissions.log_likelihoods(frames).astype(np.float64)
    expected = oracle.sums_over_paths(words, topology, scores)
    assert_allclose(history[0].log_likelihood, expected.log_likelihood / 7, rtol=1e-6, atol=0)
    assert_allclose(model.occupancy, expected.occupancy.sum(axis=0), rtol=1e-5, atol=1e-5)
    seen = expected.visits > 1.0
    assert seen.any()
    loops = model.topology.flat_self_loops()
    assert_allclose(loops[seen], (expected.stays / expected.visits)[seen], rtol=1e-5, atol=0)
    assert_array_equal(loops[~seen], topology.flat_self_loops()[~seen])
    for state in np.flatnonzero(model.occupancy >= 3):
        weights = expected.occupancy[:, state]
        assert_allclose(
            model.emissions.means[state, 0], np.average(frames, axis=0, weights=weights), rtol=1e-4, atol=0
        )


def test_phones_in_context_that_share_a_state_learn_one_self_loop(oracle):
    phones = Topology.monophones("ab", n_states=1, short_pause=False)
    words = [[("a", "b", "a")], [("a",)]]
    found = all_contexts([variant for word in words for variant in word])
    topology = contextual_topology(phones, found)
    frames = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
    data = [TrainingUtterance("u", frames, utterance_graph(words, topology))]
    start = flat_start(topology, data)
    model, _ = course(start, data, 1)
    units = [[topology.units(variant) for variant in word] for word in words]
    scores = start.emissions.log_likelihoods(frames).astype(np.float64)
    expected = oracle.sums_over_paths(units, topology, scores)
    states = np.array([states[0] for states in topology.phone_states])
    of_a = states == phones.phone_states[phones.phone_id("a")][0]
    assert (of_a.sum(), (expected.visits[of_a] > 0).sum()) == (3, 3)
    loop = expected.stays[of_a].sum() / expected.visits[of_a].sum()
    assert_allclose(model.topology.flat_self_loops()[of_a], loop, rtol=1e-5, atol=0)


def test_utterances_without_a_path_are_named_and_do_not_spoil_the_rest(oracle):
    task = oracle.draw_task(40)
    good = task.utterances
    short = TrainingUtterance("short", good[0].frames[:1], good[0].graph)
    broken = TrainingUtterance("broken", np.full_like(good[1].frames, np.nan), good[1].graph)
    start = flat_start(task.topology, good)
    model, history = course(start, [*good[:5], short, *good[5:]], 1)
    assert history[0].failed == ("short",)
    expected, expected_history = course(start, good, 1)
    assert history[0].log_likelihood == pytest.approx(expected_history[0].log_likelihood, rel=1e-12)
    assert_allclose(model.emissions.means, expected.emissions.means, rtol=1e-9, atol=1e-12)
    # The corpus variance, of which the floor is a share, needs finite frames.
    with pytest.raises(TrainingError, match=r"broken: frames: expected finite numbers"):
        train_stage(start, [*good, broken], 1, CONFIG)


def test_nothing_can_be_aligned(oracle):
    task = oracle.draw_task(3)
    short = [u._replace(frames=u.frames[:1]) for u in task.utterances]
    with pytest.raises(TrainingError, match="none of 3 utterances can be aligned"):
        train_stage(flat_start(task.topology, short), short, 1, CONFIG)


@pytest.mark.parametrize("utterances", [[], [TrainingUtterance("u", np.zeros((0, 3), np.float32), None)]])
def test_nothing_to_train_on(utterances):
    with pytest.raises(TrainingError, match="expected transcribed recordings, got none"):
        flat_start(Topology.monophones("a"), utterances)


def test_unseen_phones_keep_the_gaussian_of_the_corpus(oracle):
    task = oracle.draw_task(40)
    topology = Topology.monophones("abcz", n_states=2)
    utterances, _ = oracle.draw_utterances(
        topology, flat_start(topology, task.utterances).emissions, [[[("a",)], [("b",)]]] * 40, seed=5
    )
    start = flat_start(topology, utterances)
    model = train_stage(start, utterances, 3, CONFIG)
    mean, variance = corpus_moments(utterances)
    states = list(topology.phone_states[topology.phone_id("z")])
    assert_array_equal(model.emissions.means[states, 0], [mean] * 2)
    assert_array_equal(model.emissions.variances[states, 0], [variance] * 2)
    assert_array_equal(model.occupancy[states], 0.0)
    grown = grow(model, 4, CONFIG)
    assert np.isfinite(grown.emissions.log_weights[states]).sum() == 2
    row = topology.transition_offsets[topology.phone_id("z")]
    assert_array_equal(model.topology.flat_self_loops()[row : row + 2], 0.6)


def test_corpus_moments():
    rng = np.random.default_rng(0)
    frames = [rng.normal(5.0, 2.0, (n, 3)).astype(np.float32) for n in (3, 50, 7)]
    frames[0][:], frames[1][:, 2], frames[2][:, 2] = 1.0, 1.0, 1.0
    stacked = np.concatenate(frames).astype(np.float64)
    mean, variance = corpus_moments([TrainingUtterance("", x, None) for x in frames])
    assert_allclose(mean, stacked.mean(axis=0), rtol=1e-12, atol=0)
    assert_allclose(variance[:2], stacked.var(axis=0)[:2], rtol=1e-12, atol=0)
    assert variance[2] == 1e-8  # constant


def test_start_from_labels():
    rng = np.random.default_rng(0)
    topology = Topology.monophones("a", n_states=2)
    frames = [rng.normal(3.0, 2.0, (40, 3)).astype(np.float32) for _ in range(3)]
    labels = [rng.choice([-1, 0, 1, 2], 40).astype(np.int32) for _ in range(3)]
    labels[0][labels[0] == 2] = 1
    labels[1][labels[1] == 2] = 1
    labels[2][:] = np.where(np.arange(40) < 2, 2, labels[2] % 2)  # two frames of state 2, none of state 3
    model = start_from_labels(topology, frames, labels)
    x, y = np.concatenate(frames).astype(np.float64), np.concatenate(labels)
    pooled = x[y >= 0]
    assert model.occupancy.tolist() == [np.count_nonzero(y == state) for state in range(4)]
    means, variances = model.emissions.means[:, 0], model.emissions.variances[:, 0]
    for state in (0, 1, 2):
        assert_allclose(means[state], x[y == state].mean(axis=0), rtol=1e-10, atol=0)
    for state in (0, 1):
        assert_allclose(variances[state], x[y == state].var(axis=0), rtol=1e-9, atol=0)
    assert_allclose(means[3], pooled.mean(axis=0), rtol=1e-10, atol=0)
    assert_allclose(variances[2:], [pooled.var(axis=0)] * 2, rtol=1e-9, atol=0)
    assert_array_equal(model.emissions.log_weights, 0.0)


def test_start_from_labels_does_not_depend_on_the_threads_of_blas():
    rng = np.random.default_rng(3)
    topology = Topology.monophones([f"p{i}" for i in range(20)])
    frames = rng.normal(size=(300, 39)).astype(np.float32)  # a shape for which OpenBLAS shares the sums
    labels = rng.integers(topology.n_states, size=300, dtype=np.int32)
    variances = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            variances.append(start_from_labels(topology, [frames], [labels]).emissions.variances)
    assert_array_equal(*variances)


def test_start_from_labels_without_labels():
    frames = np.zeros((4, 2), np.float32)
    for given in ([], [frames]):
        with pytest.raises(TrainingError, match="expected the states of aligned frames, got none"):
            start_from_labels(Topology.monophones("a"), given, [np.full(len(x), -1, np.int32) for x in given])


def test_labels_of_the_true_states_give_the_true_model(oracle):
    task = oracle.draw_task(400)
    model = start_from_labels(task.topology, [u.frames for u in task.utterances], task.labels)
    assert_allclose(model.emissions.means, task.model.means, rtol=0, atol=0.15)


def test_a_beam_without_a_path_is_widened():
    topology = Topology.monophones("ab", n_states=1)
    graph = utterance_graph([[("a", *"b" * 16)]], topology)
    scores = np.zeros((20, 3), np.float32)
    scores[:, 1], scores[:8, 2] = 12.0, -12.0  # a narrow beam stays in the first phone until it is too late
    columns = graph.states.astype(np.int64)
    assert posteriors(scores, columns, graph, topology, 5.0).log_likelihood == -np.inf
    found = posteriors_with_retries(scores, columns, graph, topology, 5.0)
    assert found.log_likelihood == posteriors(scores, columns, graph, topology).log_likelihood


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mixtures", ()),
        ("mixtures", (0, 1)),
        ("mixtures", (1, 4, 2)),
        ("iterations", ()),
        ("iterations", (3, 0)),
        ("variance_floor", 0.0),
        ("beam", 0.0),
        ("beam", np.nan),
    ],
)
def test_faulty_configuration(name, value):
    with pytest.raises(TrainingError, match=f"{name}: expected"):
        GmmConfig(**{name: value})
