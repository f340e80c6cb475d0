"""What of an experiment a page looks into, and what the frames of a sample of its utterances say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from asr.corpora.corpus import Corpus
from asr.reports.accuracies import scored
from asr.reports.finished import Finished
from asr.reports.hearing import Heard
from asr.reports.phones import StatePhones, confusions, separability
from asr.reports.reliability import Reliability, reliability
from asr.scoring.edit_distance import WordPair, align_words
from asr.scoring.scoring import WordAccuracy
from foundation.arrays import Floats, Ints, Longs, Singles

N_SAMPLE = 200  # utterances that the figures of phones and confidences are of
MOST_FRAMES = 400_000  # that figures of phones are of: more than an hour


@dataclass(frozen=True)
class Choice:
    """A model, a split and a grammar of a finished experiment."""

    finished: Finished
    model: str
    split: str
    grammar: str

    @classmethod
    def of(cls, finished: Finished, model: str | None, split: str | None) -> Choice:
        """Return what is asked for; of the grammars the last one, which is the recipe's default."""
        part = finished.split(split)
        return cls(finished, finished.model(model), part, finished.grammars(part)[-1])

    @cached_property
    def corpus(self) -> Corpus:
        """The utterances of the split."""
        return self.finished.corpus(self.split)

    @cached_property
    def speakers(self) -> Mapping[str, str]:
        """The speaker of each utterance."""
        return {u.utterance_id: u.speaker for u in self.corpus}

    @cached_property
    def accuracies(self) -> Mapping[str, WordAccuracy]:
        """The word accuracy of all models with the grammar, by model."""
        return scored(self.finished, self.split, self.grammar, self.corpus)

    @property
    def accuracy(self) -> WordAccuracy:
        """The word accuracy of the model."""
        return self.accuracies[self.model]

    @cached_property
    def others(self) -> Mapping[str, Mapping[str, tuple[WordPair, ...]]]:
        """The aligned words of each utterance by the other models."""
        return {
            model: {u.utterance_id: u.pairs for u in accuracy.utterances}
            for model, accuracy in self.accuracies.items()
            if model != self.model
        }


@dataclass
class Sample:
    """What some utterances say, gathered one after the other.

    Attributes
    ----------
    phones : names of the phones, and what states stand for
    n_utterances : how many were taken in
    """

    phones: StatePhones
    n_utterances: int = 0
    _labels: list[Ints] = field(default_factory=list)
    _log_posteriors: list[Singles] = field(default_factory=list)
    _sure: list[float] = field(default_factory=list)
    _right: list[bool] = field(default_factory=list)

    def add(self, heard: Heard, labels: Ints | None) -> None:
        """Take an utterance in, with the phone (T,) of each frame, if that is known."""
        self.n_utterances += 1
        if labels is not None and sum(map(len, self._labels)) < MOST_FRAMES:
            self._labels.append(labels)
            self._log_posteriors.append(heard.log_posteriors.astype(np.float32))
        pairs = align_words(heard.utterance.spoken, heard.hypothesis.text)
        right = [said == found for said, found in pairs if found is not None]
        for word, is_right in zip(heard.hypothesis.words, right, strict=True):
            if word.confidence is not None:
                self._sure.append(word.confidence)
                self._right.append(is_right)

    @cached_property
    def labels(self) -> Ints:
        """The phone (T,) of each frame of all utterances, −1 where it is unknown."""
        return np.concatenate([np.zeros(0, dtype=np.int32), *self._labels])

    @cached_property
    def log_posteriors(self) -> Singles:
        """The log posteriors (T, P) of all frames."""
        none = np.zeros((0, len(self.phones.names)), dtype=np.float32)
        return np.concatenate([none, *self._log_posteriors])

    @cached_property
    def confusions(self) -> Longs:
        """How many frames of each phone are most probably which phone, (P, P)."""
        return confusions(self.labels, self.log_posteriors)

    @cached_property
    def separability(self) -> Floats:
        """How well each pair of phones is told apart, (P, P)."""
        return separability(self.labels, self.log_posteriors)

    @cached_property
    def of_words(self) -> Reliability:
        """How reliable the confidences of words are."""
        return reliability(np.array(self._sure, dtype=np.float64), np.array(self._right, dtype=bool))

    @cached_property
    def of_frames(self) -> Reliability:
        """How reliable the largest posterior of each frame is."""
        known = self.labels >= 0
        posteriors = self.log_posteriors[known]
        best = np.argmax(posteriors, axis=1)
        sure = np.exp(posteriors.max(axis=1, initial=-np.inf).astype(np.float64))
        return reliability(np.minimum(sure, 1.0), best == self.labels[known])


def sample_of(ids: Sequence[str]) -> frozenset[str]:
    """Return some utterances, the same ones each time, all if they are few."""
    drawn = np.random.default_rng(0).permutation(len(ids))[:N_SAMPLE]
    return frozenset(sorted(ids)[n] for n in drawn)
