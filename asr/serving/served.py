"""The recogniser that clients use: loaded when the server starts, and again after a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from asr.recognizer import Recognizer
from asr.serving.refusals import CONFLICT, Refusal

MOST_WORDS = 200  # that are shown


class Served:
    """A model of an experiment, if there is one yet.

    Parameters
    ----------
    experiment : directory that ``asr train`` wrote, or will
    model, grammar : names; the experiment's own by default
    reject, keywords : see `Recognizer.sure`
    """

    def __init__(
        self,
        experiment: Path,
        model: str | None = None,
        grammar: str | None = None,
        *,
        reject: bool = False,
        keywords: bool = False,
    ) -> None:
        self.experiment, self.model, self.grammar = experiment, model, grammar
        self._reject, self._keywords = reject, keywords
        self._recognizer: Recognizer | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is a model."""
        return self._recognizer is not None

    @property
    def recognizer(self) -> Recognizer:
        """The recogniser; `Refusal` if there is none yet."""
        if self._recognizer is None:
            raise Refusal("there is no model yet, expected one; record commands and train first", CONFLICT)
        return self._recognizer

    def load(self) -> None:
        """Load the model and hear two bursts of noise: the first words shall not wait for compiling."""
        loaded = Recognizer.load(self.experiment, self.model, self.grammar)
        found = loaded.sure(reject=self._reject, keywords=self._keywords)
        rate = found.model.front_end.config.mfcc.sample_rate
        loudness = np.repeat([1e-3, 0.1, 1e-3, 0.1, 1e-3], rate // 4)
        noise = (loudness * np.random.default_rng(0).normal(size=loudness.size)).astype(np.float32)
        stream = found.stream()
        stream.accept(noise)
        stream.finish()
        self._recognizer = found
