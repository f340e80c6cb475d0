"""What is looked into, and what a sample of utterances gathers."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from acoustic.hmm.topology import Topology
from asr.corpora.corpus import Utterance
from asr.reports.choice import N_SAMPLE, Choice, Sample, sample_of
from asr.reports.finished import Finished
from asr.reports.hearing import Heard
from asr.reports.phones import StatePhones, confusions
from decoder.decoder import Hypothesis, HypothesisWord


def test_the_last_grammar_is_looked_into(finished: Finished, chosen: Choice) -> None:
    assert (chosen.model, chosen.split, chosen.grammar) == ("gmm1", "test", "bigram")
    assert Choice.of(finished, None, None).model == finished.model(None)
    assert set(chosen.speakers) == set(chosen.corpus.ids)
    assert list(chosen.others) == ["gmm2"]
    assert chosen.accuracy is chosen.accuracies["gmm1"]


def heard(said: str, found: dict[str, float], posteriors: np.ndarray) -> Heard:  # type: ignore[type-arg]
    words = tuple(HypothesisWord(word, 0.0, 1.0, 0.0, sure) for word, sure in found.items())
    utterance = Utterance("u", Path("u.wav"), tuple(said.split()), "anna")
    return Heard(utterance, Hypothesis(words, 0.0, True), None, np.log(posteriors))


def test_a_sample_gathers_frames_and_words() -> None:
    sample = Sample(StatePhones.of(Topology.monophones("ab", n_states=1)))
    assert sample.phones.names == ("sil", "a", "b")
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=6)
    labels = np.array([0, 1, -1, 2, 1, 0], dtype=np.int32)
    sample.add(heard("go left", {"go": 0.95, "lift": 0.35}, rows[:4]), labels[:4])
    sample.add(heard("up", {"up": 0.85}, rows[4:]), labels[4:])
    sample.add(heard("no", {"yes": 0.15}, rows[:2]), None)
    assert sample.n_utterances == 3
    assert_array_equal(sample.confusions, confusions(labels, np.log(rows)))
    expected = [(0.15, 0.0), (0.35, 0.0), (0.85, 1.0), (0.95, 1.0)]
    assert [(b.promised, b.kept) for b in sample.of_words.bins] == [pytest.approx(pair) for pair in expected]
    known = labels >= 0
    right = np.mean(rows[known].argmax(axis=1) == labels[known])
    kept = sum(b.kept * b.count for b in sample.of_frames.bins) / sample.of_frames.count
    assert kept == pytest.approx(right)
    promised = sum(b.promised * b.count for b in sample.of_frames.bins) / sample.of_frames.count
    assert promised == pytest.approx(rows[known].max(axis=1).mean(), rel=1e-6)
    assert np.isnan(sample.separability).all()


def test_an_empty_sample() -> None:
    sample = Sample(StatePhones.of(Topology.monophones("ab", n_states=1)))
    assert (sample.confusions.sum(), sample.of_words.count, sample.of_frames.count) == (0, 0, 0)


def test_a_sample_is_the_same_each_time() -> None:
    ids = [f"u{n:04d}" for n in range(3 * N_SAMPLE)]
    found = sample_of(ids)
    assert len(found) == N_SAMPLE
    assert found == sample_of(ids[::-1])
    assert sample_of(ids[:5]) == set(ids[:5])
