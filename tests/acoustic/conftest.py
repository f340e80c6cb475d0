"""Oracles: the paths through a transcript by definition, not by its graph; recordings drawn from a model."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp

from acoustic import GmmModel, Topology, TrainingUtterance, utterance_graph


def spoken_forms(words, topology):
    """Yield (phones, word of each phone, variant of each word, log weight) of each way to speak."""
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
                    pronunciation = words[place][spoken[place]]
                    phones += pronunciation
                    owners += [place] * len(pronunciation)
            if phones:
                yield phones, owners, spoken, n_pauses * np.log(0.5)


def all_paths(words, topology, scores):
    """Yield every path of T frames through a transcript, scores (T, S)."""
    n_frames = len(scores)
    for phones, owners, spoken, weight in spoken_forms(words, topology):
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
