"""The checks for authors of emission models: each fault is named, and none where there is none."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from acoustic.emissions.kinds import EmissionKind
from acoustic.errors import ModelError
from acoustic.testing import check_emission_model
from foundation.conformance import ConformanceError

FRAMES = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
MEANS = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)


@dataclass
class Nearest:
    """A sound model: the negative squared distance to a mean for each of five states."""

    means: np.ndarray = field(default_factory=MEANS.copy)

    @property
    def n_states(self) -> int:
        return len(self.means)

    def log_likelihoods(self, frames: np.ndarray) -> np.ndarray:
        return -np.square(frames[:, None] - self.means).sum(axis=2).astype(np.float32)


class NoStates(Nearest):
    n_states = 0  # type: ignore[assignment]


class Fails(Nearest):
    def log_likelihoods(self, frames):
        raise KeyError("means")


class Sideways(Nearest):
    def log_likelihoods(self, frames):
        return super().log_likelihoods(frames).T


class Lists(Nearest):
    def log_likelihoods(self, frames):
        return super().log_likelihoods(frames).tolist()


class Doubles(Nearest):
    def log_likelihoods(self, frames):
        return super().log_likelihoods(frames).astype(np.float64)


class Probabilities(Nearest):
    def log_likelihoods(self, frames):
        p = np.exp(super().log_likelihoods(frames))
        return p / p.sum(axis=1, keepdims=True)


class Impossible(Nearest):
    def log_likelihoods(self, frames):
        scores = super().log_likelihoods(frames)
        scores[2:3, 4] = -np.inf
        return scores


class Dice(Nearest):
    def log_likelihoods(self, frames):
        noise = np.random.default_rng().normal(size=(len(frames), 1))
        return super().log_likelihoods(frames) + noise.astype(np.float32)


class Centres(Nearest):
    def log_likelihoods(self, frames):
        frames -= frames.mean()
        return super().log_likelihoods(frames)


class LooksAround(Nearest):
    def log_likelihoods(self, frames):
        if not len(frames):
            return np.empty((0, 5), dtype=np.float32)
        return super().log_likelihoods(frames - frames.mean(axis=0))


class NoEmptyBlock(Nearest):
    def log_likelihoods(self, frames):
        frames[0]
        return super().log_likelihoods(frames)


class Reuses(Nearest):
    def __init__(self) -> None:
        super().__init__()
        self.buffer = np.empty((1000, 5), dtype=np.float32)

    def log_likelihoods(self, frames):
        found = self.buffer[: len(frames)]
        found[:] = super().log_likelihoods(frames)
        return found


class Remembers(Nearest):
    def log_likelihoods(self, frames):
        self.frames = frames
        time.sleep(1e-3)  # meanwhile another thread comes
        return super().log_likelihoods(self.frames)


class Locks(Nearest):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Forgets(Nearest):
    def __getstate__(self):
        return {"means": np.zeros_like(self.means)}


BROKEN = {
    NoStates: "n_states is 0, expected a whole number of 1 or more",
    Fails: r"log_likelihoods raises KeyError: 'means'; expected scores of frames \(40, 3\)",
    Sideways: r"returns shape \(5, 40\), expected an array \(T, S\) = \(40, 5\): a row a frame",
    Lists: "returns a list, expected an array",
    Doubles: r"scores are float64, expected float32; end with \.astype",
    Probabilities: "these are probabilities; return their logarithms",
    Impossible: "scores: -inf in frame 2, state 4, expected finite logarithms; bound them",
    Dice: "other scores the second time, expected the same bytes; draw nothing at random",
    Centres: "changes the frames it is given; expected them to stay: work on a copy",
    LooksAround: "frames in blocks get other scores than all at once",
    NoEmptyBlock: r"no frames: log_likelihoods raises IndexError: .*; expected shape \(0, 5\)",
    Reuses: "a later call changes scores that were returned before; return a new array",
    Remembers: "from many threads",
    Locks: "cannot go to another process: pickle raises TypeError: cannot pickle",
    Forgets: "a copy in another process scores otherwise",
}


def test_a_sound_model() -> None:
    check_emission_model(Nearest(), FRAMES)


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_model(kind: type[Nearest]) -> None:
    with pytest.raises(ConformanceError, match=BROKEN[kind]) as caught:
        check_emission_model(kind(), FRAMES.copy())
    assert str(caught.value).startswith(f"{kind.__name__}: ")


def test_threads_find_what_a_single_one_does_not() -> None:
    with pytest.raises(ConformanceError, match="1 thing is wrong:\n  from many threads"):
        check_emission_model(Remembers(), FRAMES)


def test_several_faults_are_named_at_once() -> None:
    class Both(Dice, Locks):
        pass

    with pytest.raises(ConformanceError, match=r"(?s)second time.*cannot go to another process"):
        check_emission_model(Both(), FRAMES)


@pytest.mark.parametrize("frames", [FRAMES[:5], FRAMES[0], np.full((30, 3), np.nan)])
def test_frames_of_no_use(frames: np.ndarray) -> None:
    with pytest.raises(ModelError, match=r"frames: expected 20 or more finite ones, \(T, D\), got shape"):
        check_emission_model(Nearest(), frames)


def pack(model: Nearest):
    return {"means": model.means}, {}


def unpack(tensors, options):
    return Nearest(tensors["means"])


def test_a_sound_kind() -> None:
    check_emission_model(Nearest(), FRAMES, kind=EmissionKind(Nearest, pack, unpack))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (EmissionKind(Fails, pack, unpack), "the kind is of Fails, expected Nearest; correct"),
        (
            EmissionKind(Nearest, lambda m: ({"means": [1]}, {}), unpack),
            "pack: means are no arrays; expected",
        ),
        (EmissionKind(Nearest, lambda m: ({}, {"means": m.means}), unpack), "raises TypeError: .* JSON"),
        (
            EmissionKind(Nearest, pack, lambda t, o: Nearest(t["means"] * 2)),
            "unpack makes .* scores otherwise",
        ),
    ],
)
def test_a_broken_kind(kind: EmissionKind, message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_emission_model(Nearest(), FRAMES, kind=kind)
