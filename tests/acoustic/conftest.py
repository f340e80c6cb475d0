"""Oracles: paths through a transcript by definition, recordings drawn from a model, least squares."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from acoustic import GmmModel, Topology, TrainingUtterance, utterance_graph


def ways_to_speak(pronunciations, topology, longest):
    """Return the pronunciations of a word with their log weights; None is any sequence of phones."""
    if pronunciations is not None:
        return [(p, 0.0) for p in pronunciations]
    units = [p for p in topology.phones if p not in ("sil", "sp", "noise")]
    counts = range(1, longest + 1)
    return [(p, -n * np.log(len(units))) for n in counts for p in itertools.product(units, repeat=n)]


def spoken_forms(words, topology, longest=3):
    """Yield (phones, word of each phone, variant of each word, log weight) of each way to speak."""
    words = [ways_to_speak(pronunciations, topology, longest) for pronunciations in words]
    pause = "sp" if "sp" in topology else "sil"
    n_pauses = len(words) + 1 if words else 1
    for spoken in itertools.product(*(range(len(variants)) for variants in words)):
        for pauses in itertools.product((False, True), repeat=n_pauses):
            phones, owners = [], []
            for place, is_paused in enumerate(pauses):
                if is_paused:
                    phones.append(pause if 0 < place < len(words) else "sil")
                    owners.append(-1)
                if place < len(words):
                    pronunciation, _ = words[place][spoken[place]]
                    phones += pronunciation
                    owners += [place] * len(pronunciation)
            if phones:
                weight = sum(words[place][variant][1] for place, variant in enumerate(spoken))
                yield phones, owners, spoken, n_pauses * np.log(0.5) + weight


def all_paths(words, topology, scores):
    """Yield every path of T frames through a transcript, scores (T, S)."""
    n_frames = len(scores)
    for phones, owners, spoken, weight in spoken_forms(words, topology, longest=n_frames):
        ids = [topology.phone_id(phone) for phone in phones]
        chain = [
            (state, int(topology.transition_offsets[i]) + k, topology.self_loops[i][k], owner)
            for i, owner in zip(ids, owners, strict=True)
            for k, state in enumerate(topology.phone_states[i])
        ]
        for cuts in itertools.combinations(range(1, n_frames), len(chain) - 1):
            lengths = np.diff([0, *cuts, n_frames])
            states = np.repeat([state for state, *_ in chain], lengths)
            loops = np.array([loop for _, _, loop, _ in chain])
            log_transitions = (lengths - 1) @ np.log(loops) + np.log(1 - loops).sum()
            yield SimpleNamespace(
                states=states,
                rows=[row for _, row, *_ in chain],
                words=np.repeat([owner for *_, owner in chain], lengths),
                lengths=lengths,
                variants=spoken,
                log_prob=weight + log_transitions + scores[np.arange(n_frames), states].sum(),
            )


def sums_over_paths(words, topology, scores):
    """Return log-likelihood, occupancy (T, S) and, by row of the topology, expected self-loops and visits."""
    paths = list(all_paths(words, topology, scores))
    total = logsumexp([path.log_prob for path in paths])
    occupancy = np.zeros((len(scores), topology.n_states))
    stays, visits = np.zeros((2, topology.transition_offsets[-1]))
    for path in paths:
        posterior = np.exp(path.log_prob - total)
        occupancy[np.arange(len(scores)), path.states] += posterior
        np.add.at(visits, path.rows, posterior * path.lengths)
        np.add.at(stays, path.rows, posterior * (path.lengths - 1))
    return SimpleNamespace(log_likelihood=total, occupancy=occupancy, stays=stays, visits=visits, paths=paths)


def draw_states(words, topology, rng):
    """Return the states (T,) of a transcript's first pronunciations, spoken once."""
    forms = [form for form in spoken_forms(words, topology) if not any(form[2])]
    states = []
    for phone in forms[rng.integers(len(forms))][0]:
        i = topology.phone_id(phone)
        for state, loop in zip(topology.phone_states[i], topology.self_loops[i], strict=True):
            states += [state] * rng.geometric(1 - loop)
    return np.array(states)


def draw_utterances(topology, model, transcripts, seed):
    """Return training utterances drawn from an HMM with one Gaussian a state, and their true states."""
    rng = np.random.default_rng(seed)
    utterances, labels = [], []
    for index, words in enumerate(transcripts):
        states = draw_states(words, topology, rng)
        noise = rng.standard_normal((len(states), model.n_features))
        frames = model.means[states, 0] + noise * np.sqrt(model.variances[states, 0])
        graph = utterance_graph(words, topology)
        utterances.append(TrainingUtterance(f"u{index}", frames.astype(np.float32), graph))
        labels.append(states.astype(np.int32))
    return utterances, labels


def draw_task(n_utterances, seed=0, n_features=4, spread=3.0, phones="abc"):
    """Return topology, true mixtures, utterances and states of sentences of one to four one-phone words."""
    rng = np.random.default_rng(seed)
    topology = Topology.monophones(phones, n_states=2)
    loops = rng.uniform(0.4, 0.8, topology.transition_offsets[-1])
    topology = topology.with_flat_self_loops(loops)
    shape = (topology.n_states, 1, n_features)
    variances = rng.uniform(0.5, 1.5, shape)
    model = GmmModel(np.zeros(shape[:2]), spread * rng.standard_normal(shape), variances)
    transcripts = [
        [[(phone,)] for phone in rng.choice(list(phones), rng.integers(1, 5))] for _ in range(n_utterances)
    ]
    utterances, labels = draw_utterances(topology, model, transcripts, seed + 1)
    return SimpleNamespace(topology=topology, model=model, utterances=utterances, labels=labels)


@pytest.fixture(scope="session")
def oracle():
    return SimpleNamespace(
        all_paths=all_paths,
        spoken_forms=spoken_forms,
        sums_over_paths=sums_over_paths,
        draw_utterances=draw_utterances,
        draw_task=draw_task,
    )


def draw_problem(n=80, n_targets=1, seed=0, noise=0.3):
    """Return points of the plane and smooth functions of them with noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 2))
    angles = np.arange(1, n_targets + 1)
    return x, np.sin(x[:, :1] * angles) + x[:, 1:] * 0.5 + noise * rng.normal(size=(n, n_targets))


def draw_labels(n=80, seed=0):
    """Return points of the plane and targets ±1."""
    x, y = draw_problem(n, seed=seed)
    return x, np.where(y > 0, 1.0, -1.0)


def draw_classes(counts, n_dims=5, seed=0, spread=0.8):
    """Return overlapping classes (M, D) float32 and their codes (M,), shuffled."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    means = spread * rng.normal(size=(len(counts), n_dims))
    return (means[codes] + rng.normal(size=(len(codes), n_dims))).astype(np.float32), codes


def gram_matrix(x, config):
    """Return the kernel of all points, ε on its diagonal."""
    return config.kernel.block(x, x) + config.epsilon * np.eye(len(x))


def design_of_path(x, path, config, size=None):
    """Return K_m = [1 k_1 … k_m]."""
    size = path.size if size is None else size
    indices = path.indices[:size]
    columns = config.kernel.block(x, x[indices], path.sigmas[:size])
    columns[indices, np.arange(size)] += config.epsilon
    return np.column_stack([np.ones(len(x)), columns])


def orthogonal_factors(k):
    """Return Q and U of K = QU, U with unit diagonal, by Householder reflections."""
    q, r = np.linalg.qr(k)
    return q * np.diag(r), r / np.diag(r)[:, None]


@pytest.fixture(scope="session")
def problem():
    return draw_problem


@pytest.fixture(scope="session")
def labels():
    return draw_labels


@pytest.fixture(scope="session")
def overlapping():
    return draw_classes


@pytest.fixture(scope="session")
def gram():
    return gram_matrix


@pytest.fixture(scope="session")
def design():
    return design_of_path


@pytest.fixture(scope="session")
def orthogonal():
    return orthogonal_factors
