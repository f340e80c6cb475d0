"""From a task to what its models will cost: counts, small measurements, and the sum over stages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from asr.config import ExperimentConfig, section_of
from asr.corpora.corpus import SPLITS
from asr.corpora.wording import forms_for
from asr.files import read_json
from asr.language.grammars import write_grammar
from asr.planning import laws
from asr.planning.amounts import TaskAmounts, task_amounts
from asr.planning.missing_words import MissingWordCosts, missing_word_costs
from asr.planning.pair_costs import PairCosts, PairTask, pair_costs
from asr.planning.prices import Prices, Seconds, TaskCosts
from asr.planning.records import ModelPlan
from asr.planning.sample import held_out_sample, size_of, training_sample
from asr.planning.search_costs import SEARCHED_S, STRETCH_S, SearchCosts, search_costs, stretches
from asr.planning.sizes import MB, Sizes, monophone_states
from asr.planning.speech_costs import SpeechCosts
from asr.planning.timing import least_seconds
from asr.planning.walk import GROUPS, Stage, Walk
from asr.store import RECORD
from asr.systems import GmmSystem, GrammarName, HybridSystem, System
from asr.training.speech import LEXICON
from decoder.lexicon import Lexicon
from foundation.arrays import Singles
from foundation.threads import default_workers, single_threaded_libraries


class Planner:
    """Costs of models of one task; what several models need is measured once.

    Parameters
    ----------
    walk : the way through the task's stages
    config : the experiment's configuration
    scratch : an empty directory for grammars
    n_workers : threads; one a core by default
    """

    def __init__(
        self, walk: Walk, config: ExperimentConfig, scratch: Path, n_workers: int | None = None
    ) -> None:
        self.walk = walk
        self.config = config
        self.scratch = scratch
        self.n_workers = n_workers or default_workers()
        self._stages: dict[str, tuple[Stage, ...]] = {}
        self._pairs: dict[tuple[str, int | None], PairCosts | None] = {}

    @cached_property
    def amounts(self) -> TaskAmounts:
        """How much the task holds."""
        corpora = {split: self.walk.corpus(split) for split in SPLITS}
        return task_amounts(corpora, self._lexicon, self.config.front_end.shift_ms / 1000)

    @cached_property
    def speech(self) -> SpeechCosts:
        """Costs of a frame of the task's speech."""
        directory = self.scratch / "sample"
        directory.mkdir()
        sample = training_sample(self.amounts, self.config.front_end.front_end(), directory)
        return SpeechCosts(sample, self.amounts.lexicon, self.config)

    @property
    def grammars(self) -> tuple[GrammarName, ...]:
        """The grammars that are tuned for and tested."""
        return self.walk.grammars

    def model_plan(self, name: str, system: System, n_centers: int | None = None) -> ModelPlan:
        """Return what a model costs, with another number of centres if one is given."""
        with single_threaded_libraries():
            return self._model_plan(name, system, n_centers)

    def _model_plan(self, name: str, system: System, n_centers: int | None) -> ModelPlan:
        if name not in self._stages:
            self._stages[name] = self.walk.stages(name, system)
        stages = self._stages[name]
        pairs = self._pair_costs(system, n_centers)
        prices = Prices(self._task_costs(system), self.config, system, pairs, self.final)
        seconds = {stage.name: prices.seconds(stage) for stage in stages}
        groups = {g: sum(seconds[s.name].cpu for s in stages if s.group == g) for g in GROUPS}
        total = Seconds(sum(s.cpu for s in seconds.values()), sum(s.serial for s in seconds.values()))
        n_states = self._n_states(system)
        workers = sorted({1, 2, 4, self.n_workers})
        knows = isinstance(system, GmmSystem) or pairs is not None
        return ModelPlan(
            name,
            self._n_centers(system, n_centers),
            n_states,
            laws.all_pairs(n_states) if isinstance(system, HybridSystem) else 0,
            pairs.n_pairs if pairs and section_of(system) != "krls" else 0,
            round(2 * self._frames_a_state(n_states)) if pairs else 0,
            pairs.n_centers if pairs else 0,
            {stage: s.cpu for stage, s in seconds.items()},
            groups,
            total.cpu,
            {n: total.wall(n) for n in workers},
            self._sizes.memory(system, pairs, self.final) / MB,
            self._sizes.disk(stages, system, pairs) / MB,
            self._sizes.model(system, pairs) / MB,
            prices.decoding(self.grammars[-1]) / self.amounts.shift_s,
            self._savings(stages, seconds, prices),
            f"{section_of(system)}.n_centers" if self.has_centers(system) else "",
            "" if knows else f"training and scores of {name}, another package's classifier",
        )

    def has_centers(self, system: System) -> bool:
        """Return whether the number of centres of a model can be chosen."""
        return self._n_centers(system, None) is not None

    @property
    def final(self) -> tuple[str, ...]:
        """The splits that the final models are trained on."""
        both = self.config.retrain_with_dev and "dev" in self.amounts.corpora
        return ("train", "dev") if both else ("train",)

    def _savings(
        self, stages: Sequence[Stage], seconds: Mapping[str, Seconds], prices: Prices
    ) -> dict[str, float]:
        """Return what settings would save that change what is trained and tested, not how."""
        found = {}
        if self.final != ("train",):
            again = [s for s in stages if s.splits != ("train",) and s.kind not in ("features", "fit")]
            found["retrain_with_dev=false"] = sum(seconds[stage.name].cpu for stage in again)
        if len(self.grammars) > 1:
            found[f"grammars={self.grammars[-1]}"] = prices.without_grammars(self.grammars[-1])
        return found

    # What is counted.

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.read(self.walk.made("words") / LEXICON)

    def _n_states(self, system: System) -> int:
        """Return the number of states that are expected of a model."""
        n_monophone, n_silent = monophone_states(self.amounts.monophones)
        if isinstance(system, GmmSystem) or self.config.hybrid.units == "phone":
            return n_monophone
        return laws.tied_states(self.amounts.phones, self._n_speech, self.config.tying, n_monophone, n_silent)

    @property
    def _n_speech(self) -> float:
        """Number of frames of the final training data that are no silence."""
        return self.amounts.n_frames(self.final) * (1.0 - self.speech.silence_share)

    def _frames_a_state(self, n_states: int) -> float:
        """Return the mean number of frames of a state that discriminants are trained on."""
        hybrid, (_, n_silent) = self.config.hybrid, monophone_states(self.amounts.monophones)
        n_frames = self._n_speech * (1 + len(hybrid.warps))
        if hybrid.units == "phone":
            return laws.frames_a_phone_state(self.amounts.phones, n_frames, hybrid.max_frames)
        return laws.frames_a_state(n_frames, max(n_states - n_silent, 1), hybrid.max_frames)

    def _n_centers(self, system: System, n_centers: int | None) -> int | None:
        own = self._own(system, n_centers)
        return getattr(own, "n_centers", None)

    def _own(self, system: System, n_centers: int | None) -> Any:
        """Return the configuration of a hybrid's way of training."""
        own: Any = self.config.of_way(system.way) if isinstance(system, HybridSystem) else None
        has_number = n_centers is not None and hasattr(own, "n_centers")
        return replace(own, n_centers=n_centers) if has_number else own

    # What is measured.

    def _pair_costs(self, system: System, n_centers: int | None) -> PairCosts | None:
        """Return the costs of a hybrid's discriminants, None if it has none or nobody knows."""
        if not isinstance(system, HybridSystem):
            return None
        key = system.way, n_centers
        if key not in self._pairs:
            n_states, front_end = self._n_states(system), self._hybrid_front_end
            a_call = self.amounts.n_frames(["train"]) / self.amounts.n_utterances(["train"])
            task = PairTask(
                system.way, n_states, self._frames_a_state(n_states), front_end, max(round(a_call), 1)
            )
            own = self._own(system, n_centers)
            self._pairs[key] = pair_costs(task, self.config.hybrid, own, n_workers=self.n_workers)
        return self._pairs[key]

    @property
    def _hybrid_front_end(self) -> int:
        """Number of features that discriminants see."""
        config = self.config.front_end.front_end(self.config.hybrid.input_projection)
        return config.n_components if config.projection != "none" else config.mfcc.n_features

    def _task_costs(self, system: System) -> TaskCosts:
        crosses_words = isinstance(system, HybridSystem) and self.config.hybrid.units == "cross-word"
        return replace(self._common, searches=self._searches_across) if crosses_words else self._common

    @cached_property
    def _common(self) -> TaskCosts:
        """What all models have in common."""
        made = {name: _recorded_s(output) for name, output in self._made.items()}
        writing = dict(self._written)
        return TaskCosts(
            self.amounts,
            self.speech,
            self._missing,
            self._searches(across=False),
            made,
            writing,
            least_seconds(lambda: Lexicon.read(self._made["words"] / LEXICON), is_warm=True),
        )

    @property
    def _made(self) -> dict[str, Path]:
        return {name: self.walk.made(name) for name in ("task", "words")}

    @cached_property
    def _missing(self) -> MissingWordCosts | None:
        if not self.amounts.missing:
            return None
        front_end, model = self.config.front_end.front_end(), self.speech.small_model()
        return missing_word_costs(self.amounts, model, front_end, self.config.gmm.beam)

    @cached_property
    def _written(self) -> Mapping[GrammarName, float]:
        """CPU seconds to make each grammar, whose file is in the scratch directory then."""
        seconds: dict[GrammarName, float] = {}
        sentences = [u.spoken for u in self.amounts.corpora["train"]]
        forms = forms_for(self.config.text, self._lexicon, ())
        for name in self.grammars:
            with _timed(seconds, name):
                write_grammar(
                    name,
                    self.scratch,
                    task_dir=self._made["task"],
                    sentences=sentences,
                    lexicon=self._lexicon,
                    forms=forms,
                )
        return seconds

    @cached_property
    def _searches_across(self) -> Mapping[GrammarName, SearchCosts]:
        return self._searches(across=True)

    def _searches(self, *, across: bool) -> dict[GrammarName, SearchCosts]:
        """Return the costs of each grammar's words, with contexts across words if that is asked for."""
        model = self.speech.small_model()
        topology = self.speech.context_topology if across else model.topology
        config = self.config.decoder.decoder(self.amounts.shift_s)
        _ = self._written
        return {
            name: search_costs(name, self.scratch, self._lexicon, topology, self._scores, config)
            for name in self.grammars
        }

    @cached_property
    def _scores(self) -> list[Singles]:
        """Scores (T, S) of what is decoded to measure the search."""
        front_end = self.config.front_end.front_end()
        data = held_out_sample(self.amounts, front_end, SEARCHED_S, STRETCH_S)
        return stretches(self.speech.small_model(), data, self.amounts.shift_s)

    @cached_property
    def _sizes(self) -> Sizes:
        lexicon_bytes = size_of(self._made["words"] / LEXICON)
        grammar_bytes = sum(search.grammar_bytes for search in self._common.searches.values())
        return Sizes(self.amounts, self.config, grammar_bytes, lexicon_bytes)


def _recorded_s(stage: Path) -> float:
    """Return the CPU seconds that a stage took when it was made."""
    return float(read_json(stage / RECORD)["seconds"]["cpu"])


@contextmanager
def _timed(seconds: dict[Any, float], name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds[name] = time.process_time() - start
