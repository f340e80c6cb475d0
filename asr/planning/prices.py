"""What each stage of a training costs: the measured cost of a frame, times the frames that the stage sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from asr.config import ExperimentConfig
from asr.language.grammars import has_lm_scale
from asr.planning import laws
from asr.planning.amounts import TaskAmounts
from asr.planning.missing_words import MissingWordCosts, n_stretches
from asr.planning.pair_costs import PairCosts
from asr.planning.search_costs import SearchCosts
from asr.planning.speech_costs import SpeechCosts, aligner_components
from asr.planning.walk import Stage
from asr.spotting.learning import N_LEARNED_FROM
from asr.systems import GmmSystem, GrammarName, HybridSystem, System
from asr.training.choice import N_CLASSES, values_of
from asr.training.fit import N_WRONG_PAIRS, n_wrong_each
from asr.training.heard_words import MOST_FRAMES
from asr.training.learned_from import N_HEARD
from features.frontend import Projection


class Seconds(NamedTuple):
    """CPU seconds, and those of them that are spent one after the other, whatever the number of threads."""

    cpu: float
    serial: float = 0.0

    def plus(self, other: Seconds) -> Seconds:
        """Return the seconds of both."""
        return Seconds(self.cpu + other.cpu, self.serial + other.serial)

    def wall(self, n_workers: int) -> float:
        """Return the seconds with so many threads, each on a core of its own."""
        shared = self.cpu - self.serial
        return self.serial + shared * (laws.LOCKED + (1 - laws.LOCKED) / n_workers)


@dataclass(frozen=True)
class TaskCosts:
    """What all models of a task have in common.

    Attributes
    ----------
    amounts : how much the task holds
    speech : costs of a frame
    missing : costs of missing words; None if there are none
    searches : costs of each grammar's words
    made : CPU seconds of the stages that were made to find all this
    writing : CPU seconds to make each grammar
    lexicon_s : CPU seconds to read the lexicon
    """

    amounts: TaskAmounts
    speech: SpeechCosts
    missing: MissingWordCosts | None
    searches: Mapping[GrammarName, SearchCosts]
    made: Mapping[str, float]
    writing: Mapping[GrammarName, float]
    lexicon_s: float


class Prices:
    """The seconds of one model's stages.

    Parameters
    ----------
    task : what all models have in common
    config : the experiment's configuration
    system : the model
    pairs : costs of its discriminants, trained on the final splits; None if it has none, or nobody knows
    final : the splits that the final model is trained on
    """

    def __init__(
        self,
        task: TaskCosts,
        config: ExperimentConfig,
        system: System,
        pairs: PairCosts | None,
        final: Sequence[str],
    ) -> None:
        self.task = task
        self.amounts, self.speech = task.amounts, task.speech
        self.config = config
        self.system = system
        self.pairs = pairs
        self.final = tuple(final)
        self._of_kind: Mapping[str, Callable[[Stage], Seconds]] = {
            "task": self._made,
            "words": self._made,
            "features": self._features,
            "pronunciations": self._pronunciations,
            "grammars": self._grammars,
            "recognizer": lambda stage: _serial(2 * self.task.lexicon_s),
            "usable": lambda stage: _serial(0.0),
            "fitting": lambda stage: _serial(0.0),
            "start": self._start,
            "gmm": self._gmm,
            "fit": self._fit,
            "confidence": self._confidence,
            "alignment": self._alignment,
            "units": self._units,
            "choice": self._choice,
            "hybrid": self._hybrid,
            "adapting": self._adapting,
            "tuning": self._tuning,
            "test": self._test,
        }

    def seconds(self, stage: Stage) -> Seconds:
        """Return what a stage costs."""
        return self._of_kind[stage.kind](stage)

    @property
    def adapts(self) -> bool:
        """Whether the model adapts to speakers, and so recognises all in two passes."""
        if isinstance(self.system, GmmSystem):
            return self.system.adapts
        return self.config.hybrid.adaptation != "none"

    @cached_property
    def score(self) -> float:
        """Seconds of a frame's scores."""
        if isinstance(self.system, GmmSystem):
            return self.speech.scores(self.system.projection, self.system.n_components)
        of_pairs = self.pairs.score_s if self.pairs else 0.0
        return of_pairs + (self._aligner_score if self.config.hybrid.gmm_weight else 0.0)

    def decoding(self, grammar: GrammarName) -> float:
        """Return the seconds of the words of a frame, from the recording on, once all is loaded."""
        search = self.task.searches[grammar]
        a_pass = self.score + search.lattice * self._tuned(grammar)
        return self.speech.features() + self._transformed + a_pass * (2 if self.adapts else 1)

    def without_grammars(self, kept: GrammarName) -> float:
        """Return the CPU seconds that tuning and test take for all grammars but one."""
        others = [grammar for grammar in self.task.searches if grammar != kept]
        return sum(self._tuning_of(g).cpu + self._test_of(g).cpu for g in others)

    @property
    def _is_hybrid(self) -> bool:
        return isinstance(self.system, HybridSystem)

    @property
    def _aligner_score(self) -> float:
        return self.speech.scores("none", aligner_components(self.config.gmm))

    @property
    def _transformed(self) -> float:
        return self.speech.transformed(hybrid=self._is_hybrid)

    def _made(self, stage: Stage) -> Seconds:
        return _serial(self.task.made[stage.name])

    def _features(self, stage: Stage) -> Seconds:
        split = stage.name.split("-")[1]
        return Seconds(self.amounts.n_frames([split]) * self.speech.features())

    def _pronunciations(self, stage: Stage) -> Seconds:
        """Return what it costs to learn pronunciations: a small model, loops of phones, guesses, a choice."""
        costs = self.task.missing
        if costs is None:
            return Seconds(0.0)
        gmm, n_learned = self.config.gmm, min(self.amounts.n_frames(["train", "dev"]), MOST_FRAMES)
        stages = [Stage(f"gmm-none-{n}") for n in gmm.mixtures[:2]]
        model = [self._training(stage, n_learned) for stage in stages]
        n_aligned = sum(seconds for _, seconds in self.amounts.with_missing) / self.amounts.shift_s
        guessing = costs.guess_s + 2 * len(self.amounts.missing) * costs.word_s
        shared = n_aligned * costs.align + n_stretches(self.amounts) * costs.choice_s
        return _total([*model, _serial(guessing), Seconds(shared)])

    def _grammars(self, stage: Stage) -> Seconds:
        """Return what grammars cost; with those of train it is tried whether they can be decoded with."""
        is_tried = stage.splits == ("train",)
        return _serial(
            sum(
                self.task.writing[grammar] + (1.5 if is_tried else 0.5) * search.load_s
                for grammar, search in self.task.searches.items()
            )
        )

    def _start(self, stage: Stage) -> Seconds:
        return _serial(self.amounts.n_frames(stage.splits) * self.speech.start(_projection(stage)))

    def _gmm(self, stage: Stage) -> Seconds:
        return self._training(stage, self.amounts.n_frames(stage.splits))

    def _training(self, stage: Stage, n_frames: int) -> Seconds:
        """Return the seconds of a training stage of Gaussian mixtures on so many frames."""
        gmm, projection = self.config.gmm, _projection(stage)
        n_components = int(stage.what.rpartition("-")[2])
        place = gmm.mixtures.index(n_components)
        n_passes = gmm.iterations[min(place, len(gmm.iterations) - 1)]
        setup = n_frames * self.speech.setup(projection)
        passes = n_frames * n_passes * self.speech.one_pass(projection, n_components)
        return Seconds(setup + passes, setup)

    def _fit(self, stage: Stage) -> Seconds:
        """Return what it costs to judge all transcripts, and to align some with those of others."""
        n_frames, n = self.amounts.n_frames(stage.splits), self.amounts.n_utterances(stage.splits)
        n_wrong = min(n, N_WRONG_PAIRS) * n_wrong_each(n)
        scores = self.speech.scores("none", int(stage.what))
        own = self.speech.transformed(hybrid=False) + scores + self.speech.loop() + self.speech.sound()
        n_ways = 1 + n_wrong / max(n, 1)
        fitting = self.speech.fitting() + (n_ways - 1) * self.speech.fitting_others()
        aligned = Seconds(n_frames * (own + fitting))
        return aligned.plus(self._curves(stage.splits, n_ways))

    def _confidence(self, stage: Stage) -> Seconds:
        """Return what the same costs of a hundred utterances by the final model."""
        n, n_frames = self.amounts.n_utterances(self.final), self.amounts.n_frames(self.final)
        heard = n_frames * min(1.0, N_HEARD / max(n, 1))
        n_ways = 1 + n_wrong_each(min(n, N_HEARD))
        in_context = self._is_hybrid and self.config.hybrid.units != "phone"
        fitting = self.speech.fitting() + (n_ways - 1) * self.speech.fitting_others()
        a_frame = self.score + self.speech.loop(in_context=in_context) + fitting
        # How speakers are normalised is found from all their recordings.
        scales = n_frames * self.speech.transformed(hybrid=False)
        curves = self._curves(self.final, n_ways * heard / max(n_frames, 1))
        return _total([Seconds(heard * (self._transformed + a_frame)), _serial(scales), curves])

    def _curves(self, splits: Sequence[str], n_ways: float) -> Seconds:
        """Return what the curves cost by which each word is judged, so many times each."""
        n_words = sum(map(self.amounts.n_words, splits))
        return _serial(n_ways * n_words * self.speech.curve_s())

    def _alignment(self, stage: Stage) -> Seconds:
        return Seconds(self.amounts.n_frames(stage.splits) * self.speech.alignment())

    def _units(self, stage: Stage) -> Seconds:
        """Return what it costs to find the states of all frames, and the trees that tie them."""
        if self.config.hybrid.units == "phone":
            return self._alignment(stage)
        aligned = self.amounts.n_frames(stage.splits) * self.speech.context_alignment()
        trees = self.speech.trees_s() * self._contexts_a_sampled_one
        return Seconds(aligned).plus(_serial(trees + 3 * self.speech.topologies_s()))

    @property
    def _contexts_a_sampled_one(self) -> float:
        """How many times the contexts of the sample train has."""
        return len(self.amounts.phones.contexts) / max(self.speech.n_contexts, 1)

    def _hybrid(self, stage: Stage) -> Seconds:
        """Return what discriminants cost: their projection, their frames, and they themselves."""
        n_frames = self._discriminant_frames(stage.splits)
        prepared = _serial(n_frames * (self.speech.lda() + self.speech.discriminant_frames()))
        if self.pairs is None:
            return prepared
        share = n_frames / max(self._discriminant_frames(self.final), 1)
        return prepared.plus(Seconds(share * self.pairs.train_s))

    def _discriminant_frames(self, splits: Sequence[str]) -> int:
        return self.amounts.n_frames(splits) * (1 + len(self.config.hybrid.warps))

    def _choice(self, stage: Stage) -> Seconds:
        """Return what it costs to choose options on dev, by training pairs of a few classes."""
        n_frames, n_dev = self._discriminant_frames(["train"]), self.amounts.n_frames(["dev"])
        prepared = _serial(n_frames * (self.speech.lda() + self.speech.discriminant_frames()))
        aligned = Seconds(n_dev * self.speech.alignment())
        if self.pairs is None or not isinstance(self.system, HybridSystem):
            return prepared.plus(aligned)
        n_tried = laws.n_choices(values_of(self.system.way, self.config))
        n_pairs = min(laws.all_pairs(N_CLASSES), self.pairs.n_pairs)
        tried = n_tried * n_pairs * self.pairs.a_pair_s
        scored = n_tried * n_dev * self.pairs.score_s * n_pairs / max(self.pairs.n_pairs, 1)
        return _total([prepared, aligned, Seconds(tried), _serial(scored)])

    def _adapting(self, stage: Stage) -> Seconds:
        targets = self.speech.targets(hybrid=self._is_hybrid)
        return _serial(self.amounts.n_frames(stage.splits) * targets)

    def _tuning(self, stage: Stage) -> Seconds:
        scored = Seconds(self.amounts.n_frames(["dev"]) * (self._transformed + self.score))
        return _total([scored, *map(self._tuning_of, self.task.searches), self._rejection()])

    def _rejection(self) -> Seconds:
        """Return what it costs to learn which words were not spoken, from some of dev, also backwards."""
        if not (n_words := self.amounts.n_words("dev")):
            return Seconds(0.0)
        n_frames = self.amounts.n_frames(["dev"]) * min(1.0, N_LEARNED_FROM / n_words)
        grammar = tuple(self.task.searches)[-1]
        scored = self.speech.features() + 2 * (self._transformed + self.score)
        first_pass = self._searched(grammar) + self.speech.fitting() + self.score if self.adapts else 0.0
        return Seconds(n_frames * (scored + 2 * first_pass + 4 * self._searched(grammar)))

    def _searched(self, grammar: GrammarName) -> float:
        """Return the cost of decoding a frame with tuned weights."""
        return self.task.searches[grammar].decode * self._tuned(grammar)

    def _tuning_of(self, grammar: GrammarName) -> Seconds:
        """Return what tuning for one grammar costs, for both passes if there are two."""
        search, n_frames = self.task.searches[grammar], self.amounts.n_frames(["dev"])
        # The first decoding is with other weights than those that are found.
        effort = (1 + (laws.DECODINGS - 1) * self._tuned(grammar)) * search.lattice
        trials = laws.TRIALS_A_VALUE * self._n_values(grammar) * search.trial
        tuned = Seconds(n_frames * effort).plus(_serial(n_frames * trials))
        passes = [tuned, tuned, self._adapted("dev", grammar)] if self.adapts else [tuned]
        return _total([_serial(search.load_s), *passes])

    def _n_values(self, grammar: GrammarName) -> int:
        tuning = self.config.tuning
        weights = [tuning.word_penalties, tuning.silence_log_probs]
        return sum(map(len, [*weights, tuning.lm_scales] if has_lm_scale(grammar) else weights))

    def _test(self, stage: Stage) -> Seconds:
        scored = Seconds(self.amounts.n_frames(["test"]) * (self._transformed + self.score))
        return _total([scored, *map(self._test_of, self.task.searches)])

    def _test_of(self, grammar: GrammarName) -> Seconds:
        """Return what the test with one grammar costs, with both passes if there are two."""
        search = self.task.searches[grammar]
        decoded = Seconds(self.amounts.n_frames(["test"]) * self._searched(grammar))
        first = [self._adapted("test", grammar)] if self.adapts else []
        return _total([_serial(self.task.lexicon_s + search.load_s), decoded, *first])

    def _adapted(self, split: str, grammar: GrammarName) -> Seconds:
        """Return what the first pass costs, the adaptation to speakers, and the scores after it."""
        n_frames = self.amounts.n_frames([split])
        first_pass = self._searched(grammar) + self.speech.fitting()
        speakers = self.amounts.n_speakers([split]) * self.speech.adaptation_s(hybrid=self._is_hybrid)
        return Seconds(n_frames * (first_pass + self.score) + speakers)

    def _tuned(self, grammar: GrammarName) -> float:
        """Return the share of the search that is left with tuned weights."""
        return laws.TUNED_EFFORT if self.task.searches[grammar].is_tree else 1.0


def _projection(stage: Stage) -> Projection:
    return "lda" if "lda" in stage.what.split("-") else "none"


def _serial(seconds: float) -> Seconds:
    return Seconds(seconds, seconds)


def _total(parts: Sequence[Seconds]) -> Seconds:
    return Seconds(sum(p.cpu for p in parts), sum(p.serial for p in parts))
