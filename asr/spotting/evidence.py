"""What speaks for and against a recognised word, measured on the emission scores of its frames.

A word is compared with the best state of each frame, whatever phone that is of, and with the best path
through any phones and silences: whatever was spoken (`acoustic.alignment`). How high and how different the
scores of all states are tells sounds that the model knows from others; of all speech around the word that
tells it best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from acoustic.alignment import Alignment, Segment, align, along, loop_path
from acoustic.errors import AlignmentError
from acoustic.hmm.graph import UtteranceGraph, loop_graph, word_graph
from acoustic.model import AcousticModel
from decoder.decoder import HypothesisWord
from decoder.lexicon import Lexicon
from foundation.arrays import Flags, Ints, Reals

_MOST_GAP = 30.0  # nats a frame; by feel
_RANK = 10  # the state whose score is compared with the best one's; by feel


@dataclass(frozen=True)
class ScoredSound:
    """A recording (or a part) whose words are to be judged; what several words need is computed once.

    Attributes
    ----------
    scores : (T, S) log-likelihoods
    model : topology and seconds from one frame to the next
    """

    scores: Reals
    model: AcousticModel

    @cached_property
    def any_phones(self) -> Ints:
        """States (T,) on the best path through any phones; empty if frames are too few for a phone."""
        topology = self.model.topology
        return loop_path(self.scores, loop_graph(topology), topology)

    @cached_property
    def is_speech(self) -> Flags:
        """Which frames (T,) are no silence on that path."""
        if not len(self.any_phones):
            return np.zeros(len(self.scores), dtype=bool)
        return np.asarray(self.model.topology.is_speech()[self.any_phones])

    @cached_property
    def best(self) -> Reals:
        """Score (T,) of the best state of each frame."""
        return np.asarray(self.scores.max(axis=1))

    @cached_property
    def of_any_phones(self) -> Reals:
        """Score (T,) of each frame on the best path through any phones."""
        return along(self.scores, self.any_phones) if len(self.any_phones) else self.best

    def contrast(self, rank: int) -> Reals:
        """Return by how much the best state of each frame (T,) scores more than the one of a rank."""
        rank = min(rank, self.scores.shape[1])
        return np.asarray(self.best - np.partition(self.scores, -rank, axis=1)[:, -rank])


class Evidence(NamedTuple):
    """Measures of a word, in nats a frame but for the two of its length; margins are ≤ 0.

    Attributes
    ----------
    margin : by how much its states score more than the best path through any phones, on average
    phone_margin : the same of its worst phone
    best_margin : by how much its states score more than the best state of each frame, on average
    best_phone_margin : the same of its worst phone
    length : logarithm of its frames per phone
    squared_length : its square
    level : mean score of the best state of each frame
    contrast : by how much the best state scores more than the tenth best, on average
    mean : mean score of all states
    any_margin : by how much the best path through any phones scores more than the best state of each frame,
        on average over all speech of the recording, or of the stretch of a long one
    any_contrast : the contrast of all that speech
    """

    margin: float = 0.0
    phone_margin: float = 0.0
    best_margin: float = 0.0
    best_phone_margin: float = 0.0
    length: float = 0.0
    squared_length: float = 0.0
    level: float = 0.0
    contrast: float = 0.0
    mean: float = 0.0
    any_margin: float = 0.0
    any_contrast: float = 0.0


def evidence_of(
    words: Sequence[HypothesisWord], sound: ScoredSound, lexicon: Lexicon
) -> list[Evidence | None]:
    """Return the evidence of each word; None where it has fewer frames than states.

    Parameters
    ----------
    words : words of the lexicon, in seconds from the first frame of the sound
    sound : emission scores of a recording
    lexicon : pronunciations
    """
    if not words:
        return []
    topology, shift = sound.model.topology, sound.model.front_end.frame_shift_s
    contrast = sound.contrast(_RANK)
    around = _Around(
        float(_speech(sound.of_any_phones - sound.best, sound).mean()),
        float(_speech(contrast, sound).mean()),
    )

    def one(word: HypothesisWord) -> Evidence | None:
        frames = slice(round(word.start_s / shift), round(word.end_s / shift))
        graph = word_graph(lexicon.pronunciations(word.word), topology)
        try:
            alignment = align(sound.scores[frames], graph, topology)
        except AlignmentError:
            return None
        return _evidence(sound, frames, alignment, contrast, around)

    return [one(word) for word in words]


class CommandEvidence(NamedTuple):
    """Measures of how a whole sentence is one of some commands: square roots of nats a frame.

    Margin and level are means over all frames of speech and of the command, so that speech beside the command
    counts, too. Roots, for what is far off is not much further than what is off.

    Attributes
    ----------
    best_margin : by how much the command's states score less than the best state of each frame; ≤ 0
    level : by how much they score less than nothing; ≤ 0
    gap : by how much the command scores more than the second best, per frame of the command, in bounds
    """

    best_margin: float
    level: float
    gap: float


class HeardCommand(NamedTuple):
    """The command that a sentence is, if it is one.

    Attributes
    ----------
    place : of the command in the list
    words : frames of each of its words
    log_scores : of these words
    evidence : what speaks for it
    """

    place: int
    words: tuple[Segment, ...]
    log_scores: tuple[float, ...]
    evidence: CommandEvidence

    @property
    def n_frames(self) -> int:
        """Frames from the beginning of its first word to the end of its last."""
        return self.words[-1].end - self.words[0].start


def heard_command(
    sound: ScoredSound, graphs: Sequence[UtteranceGraph], without: int | None = None
) -> HeardCommand | None:
    """Return which command a sentence is, if it is one; None where it is too short for any.

    Parameters
    ----------
    sound : emission scores of the sentence
    graphs : of each command, with silence around it
    without : place of a command that is not tried
    """
    topology, scores = sound.model.topology, sound.scores
    found: list[tuple[float, int, Alignment, Reals]] = []
    for place, graph in enumerate(graphs):
        if place == without:
            continue
        try:
            alignment = align(scores, graph, topology)
        except AlignmentError:
            continue
        own: Reals = along(scores, alignment.states).astype(np.float64)
        found.append((float(own.sum()), place, alignment, own))
    if not found:
        return None
    (best, place, alignment, of_frames), *others = sorted(found, key=lambda one: -one[0])
    counted = sound.is_speech | topology.is_speech()[alignment.states]
    n_frames = alignment.words[-1].end - alignment.words[0].start
    gap = (best - others[0][0]) / n_frames if others else _MOST_GAP
    evidence = CommandEvidence(
        _root((of_frames - sound.best)[counted].mean()),
        _root(of_frames[counted].mean()),
        min(gap, _MOST_GAP) ** 0.5,
    )
    log_scores = tuple(float(of_frames[word.start : word.end].sum()) for word in alignment.words)
    return HeardCommand(place, alignment.words, log_scores, evidence)


def _root(below: float) -> float:
    """Return the square root of what is below 0, with its sign; 0 of what is not."""
    return -float(np.sqrt(max(-below, 0.0)))


class _Around(NamedTuple):
    """The last two measures, which all words of a recording share."""

    any_margin: float
    any_contrast: float


def _speech(values: Reals, sound: ScoredSound) -> Reals:
    """Return the values of the frames that are speech; of all frames if none is."""
    return np.asarray(values[sound.is_speech] if sound.is_speech.any() else values, dtype=np.float64)


def _evidence(
    sound: ScoredSound, frames: slice, alignment: Alignment, contrast: Reals, around: _Around
) -> Evidence:
    """Return the evidence of a word, given its frames."""
    scores, best = sound.scores[frames], sound.best[frames]
    own = along(scores, alignment.states).astype(np.float64)
    length = float(np.log(len(scores) / len(alignment.phones)))
    return Evidence(
        *_mean_and_worst(own - sound.of_any_phones[frames], alignment),
        *_mean_and_worst(own - best, alignment),
        length,
        length**2,
        float(best.mean()),
        float(contrast[frames].mean()),
        float(scores.mean()),
        *around,
    )


def _mean_and_worst(margins: Reals, alignment: Alignment) -> tuple[float, float]:
    """Return the mean over all frames, and the least mean over the frames of a phone."""
    return float(margins.mean()), min(float(margins[p.start : p.end].mean()) for p in alignment.phones)
