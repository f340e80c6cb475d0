"""What the measurements of the thesis's outlook share: one task, and what a trained model is worth on dev.

The task is AN4 with the preset ``thesis``: monophone states aligned by the GMM, frames standardised over the
corpus. Models are trained on train alone and scored on the ten dev speakers. The decoder's weights are tuned
anew for each model and grammar, on the same dev speakers, over a short list of values: word accuracies are
slightly optimistic, and equally so for all models.

Axes: T frames, D features, K classes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from made_steps import Made

from acoustic.emissions.aligned_frames import AlignedFrames, aligned_frames, halves
from acoustic.emissions.emission_model import StatePriors
from acoustic.hmm.topology import Topology
from acoustic.model import load_model
from asr.config import TuningConfig, with_preset, with_settings
from asr.corpora.speech_data import SpeechData
from asr.experiment import Experiment
from asr.files import write_json
from asr.language.grammars import has_lm_scale, read_grammar
from asr.recipe import load_recipe
from asr.scoring.scoring import compare, score
from asr.systems import GrammarName
from asr.training.hybrid import hybrid_front_end, load_units, own_units
from asr.training.tuning import tune
from decoder import Decoder
from features.frontend import FrontEnd
from foundation.arrays import Ints, Reals, Singles

GRAMMARS: tuple[GrammarName, ...] = ("loop", "bigram")
TUNING = TuningConfig((0.0, -8.0, -16.0, -24.0, -32.0), (3.0, 6.0, 10.0, 15.0), (0.0,))


Scored = tuple[Sequence[Reals], Mapping[str, float]]  # log posteriors (T, K) of each recording, and facts


class Posteriors(Protocol):
    """A model of the classes' posteriors."""

    def log_posteriors(self, frames: Singles) -> Reals:
        """Return log P(class | frame), (T, D) -> (T, K)."""


Make = Callable[[], tuple[Posteriors, Mapping[str, float]]]  # returns a model and facts about it


@dataclass(frozen=True)
class Trial:
    """What a model is worth on dev.

    Attributes
    ----------
    name : what was tried
    facts : numbers that belong to it: centres, CPU seconds of training, CPU seconds of scoring a second
    frame_accuracy : share of the frames whose best class is that of the alignment, in per cent
    log_loss : mean −log posterior of the aligned class, in nats
    texts : grammar -> utterance -> words
    """

    name: str
    facts: dict[str, float]
    frame_accuracy: float
    log_loss: float
    texts: dict[str, dict[str, list[str]]]


class OutlookTask:
    """AN4's train and dev with the preset ``thesis``.

    Parameters
    ----------
    corpus : AN4 as published
    work : experiment directory, to resume; trials are kept in it as JSON
    max_frames : largest number of frames of a class that discriminants learn from
    only_kept : whether trials that no earlier run has measured are left out
    """

    def __init__(self, corpus: Path, work: Path, max_frames: int, *, only_kept: bool = False) -> None:
        recipe = load_recipe("an4")
        settings = [f"grammars={','.join(GRAMMARS)}", "hybrid.warps="]
        config = with_settings(with_preset(recipe.recipe.config, "thesis"), settings)
        self.work, self.max_frames, self.only_kept = work, max_frames, only_kept
        self.experiment = Experiment(recipe, corpus, work, config, "thesis")

    @cached_property
    def data(self) -> tuple[SpeechData, SpeechData]:
        """Recordings of train and dev."""
        return self._made.fitting("train"), self._made.data("dev")

    @cached_property
    def _made(self) -> Made:
        return Made(self.experiment, "npd")

    @cached_property
    def _trained(self) -> tuple[FrontEnd, Topology, AlignedFrames]:
        """Front end, states, and the frames that discriminants learn from."""
        config, (data, _) = self.experiment.config, self.data
        units = load_units(self._made.units(), data)
        front_end = hybrid_front_end([data], units, config.front_end.front_end())
        frames = front_end.transform(data.cepstra, data.speakers)
        chosen = aligned_frames(
            lambda: enumerate(frames),
            units.labels,
            halves(data.speakers),
            units.topology.n_states,
            max_frames=self.max_frames,
            min_frames=config.hybrid.min_frames,
        )
        return front_end, units.topology, chosen

    @property
    def train(self) -> AlignedFrames:
        """The frames that discriminants learn from."""
        return self._trained[2]

    @cached_property
    def states(self) -> StatePriors:
        """The states that the classes stand for."""
        return self.train.state_priors(self.experiment.config.hybrid.prior_scale)

    @cached_property
    def dev(self) -> tuple[list[Singles], list[Ints]]:
        """The frames (T, D) of each dev recording, and their classes (T,), −1 where unknown."""
        data, aligner = self.data[1], load_model(self._made.aligner())
        aligned = own_units(data, aligner, self._made.lexicon, self.experiment.config.gmm.beam)
        classes = np.append(self.train.class_of_state, np.int32(-1))
        frames = self._trained[0].transform(data.cepstra, data.speakers)
        return frames, [classes[labels] for labels in aligned.labels]

    @property
    def references(self) -> dict[str, tuple[str, ...]]:
        """The words of each dev recording."""
        return dict(self.data[1].corpus.text)

    def trials(self, makes: Mapping[str, Make]) -> list[Trial]:
        """Return the trials of several models by their names."""
        return [self.trial(name, make) for name, make in makes.items() if self.is_wanted(name)]

    def is_wanted(self, name: str) -> bool:
        """Return whether a trial is measured or has been."""
        return not self.only_kept or self._file(name).exists()

    def trial(self, name: str, make: Make) -> Trial:
        """Return what a model is worth, measured now or in an earlier run.

        ``make`` returns the model and facts about it; the CPU seconds it takes are noted, too.
        """

        def scored() -> Scored:
            _ = self.train, self.dev  # not part of the training's seconds
            start = time.process_time()
            model, facts = make()
            trained = time.process_time()
            posteriors = [model.log_posteriors(x) for x in self.dev[0]]
            recorded_s = sum(map(len, posteriors)) * self._trained[0].frame_shift_s
            speed = (time.process_time() - trained) / recorded_s
            return posteriors, {**facts, "training_cpu_s": trained - start, "scoring_x_real_time": speed}

        return self.trial_of_posteriors(name, scored)

    def trial_of_posteriors(self, name: str, make: Callable[[], Scored]) -> Trial:
        """Return what the log posteriors (T, K) of the dev recordings are worth, measured now or before."""
        kept = self._file(name)
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            start = time.process_time()
            write_json(kept, asdict(self._measured(name, *make())))
            print(f"{name}: {time.process_time() - start:.0f} CPU s", flush=True)
        return Trial(**json.loads(kept.read_text(encoding="utf-8")))

    def _file(self, name: str) -> Path:
        return self.work / "outlook" / f"{name}.json"

    def _measured(self, name: str, posteriors: Sequence[Reals], facts: Mapping[str, float]) -> Trial:
        codes, found = np.concatenate(self.dev[1]), np.concatenate(posteriors)
        known = np.flatnonzero(codes >= 0)
        right = found[known, codes[known]].astype(np.float64)
        scores = [self.states.scores(p) for p in posteriors]
        return Trial(
            name,
            dict(facts),
            100 * float(np.mean(found[known].argmax(axis=1) == codes[known])),
            -float(right.mean()),
            {grammar: self._texts(grammar, scores) for grammar in GRAMMARS},
        )

    def _texts(self, grammar: GrammarName, scores: Sequence[Singles]) -> dict[str, list[str]]:
        """Return the words of each dev recording, with the weights that make the fewest errors there."""
        lexicon, config = self._made.lexicon, self.experiment.config
        loaded = read_grammar(grammar, self._made.path("grammars"), lexicon)
        options = config.decoder.decoder(config.front_end.shift_ms / 1000)
        decoder = Decoder(lexicon, loaded, self._trained[1], options)
        references = [u.words for u in self.data[1].corpus]
        _, decoded = tune(decoder, scores, references, TUNING, with_lm_scale=has_lm_scale(grammar))
        return {i: list(h.text) for i, h in zip(self.references, decoded, strict=True)}


def accuracy_cells(trial: Trial, references: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the word accuracies of a trial with their 95 % intervals, one cell a grammar."""
    found = (score(references, _texts(trial, grammar)) for grammar in GRAMMARS)
    return [f"{s.word_accuracy:.1f} ({s.interval[0]:.1f}–{s.interval[1]:.1f})" for s in found]


def difference_cells(first: Trial, second: Trial, references: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return how many points of word accuracy the second trial is better, paired, one cell a grammar."""
    found = (compare(references, _texts(first, g), _texts(second, g)) for g in GRAMMARS)
    return [f"{c.difference:+.1f} ({c.interval[0]:+.1f}, {c.interval[1]:+.1f})" for c in found]


def as_record(trial: Trial, references: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return a trial for the report, with word accuracies in place of words."""
    record = {key: value for key, value in asdict(trial).items() if key != "texts"}
    accuracies = {g: score(references, _texts(trial, g)) for g in GRAMMARS}
    return record | {
        g: {"word_accuracy": s.word_accuracy, "interval": s.interval} for g, s in accuracies.items()
    }


def _texts(trial: Trial, grammar: str) -> dict[str, tuple[str, ...]]:
    return {i: tuple(words) for i, words in trial.texts[grammar].items()}
