"""Alignment by an acoustic model: a GMM scores the states of the transcript only, which changes nothing."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import AcousticModel, Alignment, AlignmentError, GmmModel, Topology, utterance_graph
from acoustic.alignment import align_frames, align_with_margins
from features import FrontEnd, FrontEndConfig

TOPOLOGY = Topology.monophones("abc", n_states=1)  # states: sil, a, b, c


@dataclass(frozen=True)
class AllStates:
    """The same scores from a model that always gives those of all states."""

    gmm: GmmModel

    @property
    def n_states(self) -> int:
        return self.gmm.n_states

    def log_likelihoods(self, frames: np.ndarray) -> np.ndarray:
        return self.gmm.log_likelihoods(frames)


def model(emissions: object) -> AcousticModel:
    return AcousticModel(FrontEnd(FrontEndConfig()), TOPOLOGY, emissions, np.ones(4))


@pytest.fixture
def gmm() -> GmmModel:
    means = 10.0 * np.eye(4)[:, None]  # each state far from the others
    return GmmModel(np.zeros((4, 1)), means, np.ones((4, 1, 4)))


def frames_of(states: list[int]) -> np.ndarray:
    return (10.0 * np.eye(4)[states] + np.random.default_rng(0).normal(0, 0.1, (len(states), 4))).astype(
        np.float32
    )


def test_frames_lie_in_the_states_that_made_them(gmm: GmmModel) -> None:
    spoken = [0, 0, 1, 1, 1, 3, 3, 0]
    found = align_frames(frames_of(spoken), utterance_graph([[("a",)], [("c",)]], TOPOLOGY), model(gmm))
    assert_array_equal(found.states, spoken)
    assert [(w.start, w.end, w.index) for w in found.words] == [(2, 5, 0), (5, 7, 1)]


def test_states_outside_the_transcript_are_not_scored(gmm: GmmModel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []
    score = GmmModel.log_likelihoods

    def spy(self: GmmModel, frames: np.ndarray, states: np.ndarray | None = None) -> np.ndarray:
        asked.append(list(range(self.n_states)) if states is None else states.tolist())
        return score(self, frames, states)

    monkeypatch.setattr(GmmModel, "log_likelihoods", spy)
    frames, graph = frames_of([0, 1, 3, 0]), utterance_graph([[("a",)], [("c",)]], TOPOLOGY)
    some, every = align_frames(frames, graph, model(gmm)), align_frames(frames, graph, model(AllStates(gmm)))
    assert asked == [[0, 1, 3], [0, 1, 2, 3]]
    assert_array_equal(some.states, every.states)
    assert (some.words, some.phones) == (every.words, every.phones)
    assert_allclose(some.log_likelihood, every.log_likelihood, rtol=1e-6, atol=0)


def test_too_few_frames(gmm: GmmModel) -> None:
    with pytest.raises(AlignmentError, match="needs at least"):
        align_frames(frames_of([1]), utterance_graph([[("a",)], [("c",)]], TOPOLOGY), model(gmm))


def test_margins_are_those_of_the_aligned_words(gmm: GmmModel) -> None:
    frames = frames_of([0, 1, 1, 3, 0])
    graph = utterance_graph([[("a",)], [("b",)]], TOPOLOGY)  # "c" is spoken, not "b"
    alignment, margins = align_with_margins(frames, graph, model(gmm))
    assert alignment.words == align_frames(frames, graph, model(gmm)).words
    assert margins.words[0] == 0.0
    assert margins.words[1] == pytest.approx(-100.0, abs=5.0)  # half the squared distance of two means


def test_blocks_of_frames_are_aligned_like_the_whole(gmm: GmmModel) -> None:
    rng = np.random.default_rng(1)
    runs = rng.integers(1, 4, 150)
    frames = frames_of(np.repeat(runs, rng.integers(2, 9, 150)).tolist())
    graph = utterance_graph([[("abc"[state - 1],)] for state in runs], TOPOLOGY)
    blocks = np.array_split(frames, 13)
    for one in (model(gmm), model(AllStates(gmm))):
        assert_same(align_frames(blocks, graph, one), align_frames(frames, graph, one))
        (whole, fits), (found, fits_in_blocks) = (align_with_margins(f, graph, one) for f in (frames, blocks))
        assert_same(found, whole)
        assert_array_equal(fits_in_blocks.words, fits.words)
        assert len(found.words) == 150


def assert_same(found: Alignment, expected: Alignment) -> None:
    assert_array_equal(found.states, expected.states)
    assert (found.phones, found.words, found.variants) == (expected.phones, expected.words, expected.variants)
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-6, atol=0)
