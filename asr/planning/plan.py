"""The verb ``asr plan``: what a training will cost, before it begins.

The plan reads the list of steps (`asr.pipeline`), counts the work of each (`asr.planning.work`), and prices
it by small trainings (`asr.planning.small_runs`). Steps that are done already have taken what their records
say.

Memory is a simple law: what this process needed for the small trainings; the cepstra of the largest split,
and once more those of what is trained on, up to a limit; and of hybrids the frames that they learn from,
twice, or of others the scores of what is decoded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from typing import Any

from acoustic.ways import WAYS
from asr.config import (
    ExperimentConfig,
    check_settings,
    section_of,
    trained_in_words,
    with_preset,
    with_settings,
)
from asr.corpora.amounts import Amount
from asr.errors import ConfigError
from asr.experiment import Experiment, settings_as_begun
from asr.pipeline import check_system, final_splits, listing
from asr.planning.small_runs import (
    LARGE_S,
    SMALL_S,
    WARM_S,
    Price,
    SmallRun,
    SmallTask,
    price_of,
)
from asr.planning.work import (
    GROUPS,
    Amounts,
    Group,
    HybridSize,
    Work,
    adapts_training,
    amounts_of,
    expected_size,
    hybrid_behind,
    kind_of,
    way_section,
    work_of,
)
from asr.progress import quietly, warnings_once
from asr.recipe import LoadedRecipe, check_corpus, load_recipe, models_of, recipe_and_corpus
from asr.store import Outlook, Step, stage_cpu_s
from asr.systems import GmmSystem, HybridSystem, System, find_system
from asr.training.aligned import adapt_and_tie, align_speech, find_units, train_discriminants
from asr.training.recognition import assemble_recognizer, decode_test
from asr.training.speech import LEXICON, compute_features, forget
from decoder.lexicon import Lexicon
from foundation.errors import AsrError, listed, names_arguments
from foundation.files import temporary_folder
from foundation.sequences import IN_MEMORY
from foundation.threads import default_workers

CENTERS = (50, 100, 200)  # numbers of centres that are planned beside that which is configured; by feel

# Share of the work in threads that holds the interpreter's lock: on Iban, with two idle cores, training of 8
# Gaussians took 44 s for 84 CPU s (45), the test 14 for 28 (15), judging all transcripts 26 for 46 (26).
_LOCKED = 0.05
_LEAST_POWER, _MOST_POWER = 0.3, 2.5  # of discriminants' time by their centres; by feel
_MB, _SINGLE = 1e6, 4
_N_NAMED = 5  # by feel

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelPlan:
    """What one model is expected to cost, trained alone.

    Attributes
    ----------
    model : its name
    n_centers : largest number of centres of a state or of a pair; None if it has none
    states : emission states
    all_pairs, pairs : pairs of states, and those that have machines; 0 if there are none
    frames_a_pair : frames that a pair is trained on
    stages : CPU seconds of each step; of those that are done what they took
    groups : CPU seconds of each group of steps
    cpu_s : CPU seconds of all
    wall_s : seconds by the number of workers, if each has a core of its own
    peak_mb : largest memory of the process
    disk_mb : what the experiment directory will hold
    model_mb : what decoding needs of it
    decoding_x : CPU seconds for a second of a new recording, once the model is loaded
    savings : setting -> CPU seconds that it saves
    centers_option : the option that sets the number of centres; empty if there is none
    not_predicted : what is not in these numbers, since nobody can know it
    what : what will be trained, in words
    """

    model: str
    n_centers: int | None
    states: int
    all_pairs: int
    pairs: int
    frames_a_pair: int
    stages: Mapping[str, float]
    groups: Mapping[Group, float]
    cpu_s: float
    wall_s: Mapping[int, float]
    peak_mb: float
    disk_mb: float
    model_mb: float
    decoding_x: float
    savings: Mapping[str, float]
    centers_option: str = ""
    not_predicted: str = ""
    what: str = ""


@dataclass(frozen=True)
class Plan:
    """What a training is expected to cost.

    Attributes
    ----------
    recipe, preset : what is to be trained
    amounts : hours, speakers, words and utterances of each split
    lexicon : words of the lexicon
    missing_words : words of train and dev that it lacks
    phones, monophone_states : phones, and states of these and of silence
    grammars : grammars that are tuned for and tested
    workers : number of threads that training takes by itself on this machine
    models : the models asked for
    others : the last hybrid of them with other numbers of centres
    together_s : CPU seconds of all models asked for, whose common steps are made once
    unit_costs : CPU seconds of a unit of each step's work, by the small trainings
    steps : the steps of training in order: what each is made from, whether it is done, or why not, its
        group, its ``units`` of work and what a ``unit`` is, and its CPU seconds
    """

    recipe: str
    preset: str
    amounts: Mapping[str, Amount]
    lexicon: int
    missing_words: int
    phones: int
    monophone_states: int
    grammars: tuple[str, ...]
    workers: int
    models: tuple[ModelPlan, ...]
    others: tuple[ModelPlan, ...]
    together_s: float
    unit_costs: Mapping[str, float]
    steps: Sequence[Mapping[str, Any]] = ()


@names_arguments
def plan(
    recipe: str,
    *,
    corpus: str | Path | None = None,
    models: str | Sequence[str] = (),
    preset: str = "best",
    settings: Sequence[str] = (),
    workers: int | None = None,
    out: str | Path | None = None,
) -> Plan:
    """Return what `train` with the same arguments will cost: CPU and wall time, memory, disk, decoding.

    Counts come from transcripts, lexicon and the headers of the recordings, unit costs from small trainings
    on two minutes of them. It takes some twenty seconds.

    Parameters
    ----------
    recipe, corpus, models, preset, settings : as `train` takes them
    workers : number of threads that times are told of, beside 1, 2 and 4; one a core by default
    out : experiment directory, which then holds the prepared task for `train` to go on with; by default
        nothing is kept
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"workers: expected a number from 1 on, got {workers}; give the number of threads")
    recipe, corpus = recipe_and_corpus(recipe, corpus)
    loaded = load_recipe(recipe)
    check_corpus(loaded, corpus, out)
    if out is not None:
        settings = settings_as_begun(loaded, corpus, Path(out), settings)
    config = with_settings(with_preset(loaded.recipe.config, preset, loaded.recipe.thesis), settings)
    systems = {name: find_system(name, preset) for name in models_of(loaded, models, preset)}
    check_settings(settings, systems, config)
    corpus_dir = Path(corpus) if corpus is not None else None
    return plan_of(loaded, corpus_dir, config, systems, preset, workers=workers, out=out)


def plan_of(
    loaded: LoadedRecipe,
    corpus_dir: Path | None,
    config: ExperimentConfig,
    systems: Mapping[str, System],
    preset: str,
    *,
    workers: int | None = None,
    out: str | Path | None = None,
    centers: Sequence[int] = CENTERS,
) -> Plan:
    """Return what an experiment of some systems will cost.

    Parameters
    ----------
    loaded, corpus_dir, config, preset : as `asr.experiment.Experiment` takes them
    systems : the models by name
    workers, out : see `plan`
    centers : other numbers of centres that are planned, too
    """
    with _directory(out) as root, temporary_folder("asr-plan-") as scratch:
        experiment = Experiment(loaded, corpus_dir, root, config, preset)
        for name, system in systems.items():
            check_system(name, system, config)
        with experiment.store.locked(), warnings_once():
            try:
                return _Planner(experiment, systems, scratch, workers, centers).plan()
            finally:
                forget()


@contextmanager
def _directory(out: str | Path | None) -> Iterator[Path]:
    """Yield the experiment directory, or one that is there for the moment."""
    if out is not None:
        yield Path(out)
        return
    with temporary_folder("asr-plan-") as directory:
        yield directory


class _Planner:
    """What is counted and measured of a task, and the plans that follow from it.

    Parameters
    ----------
    experiment : whose steps are planned; those that prepare the task are made
    systems : the models by name
    scratch : an empty directory
    n_workers : threads; one a core by default
    centers : other numbers of centres that are planned, too
    """

    def __init__(
        self,
        experiment: Experiment,
        systems: Mapping[str, System],
        scratch: Path,
        n_workers: int | None,
        centers: Sequence[int],
    ) -> None:
        self.experiment, self.config, self.systems = experiment, experiment.config, systems
        self.n_workers = n_workers or default_workers()
        found = experiment.begin()
        lexicon = Lexicon.read(experiment.path(experiment.begun[1]) / LEXICON)
        shift_s = self.config.front_end.shift_ms / 1000
        self.amounts = amounts_of(found.corpora, lexicon, found.missing, shift_s)
        _tell_unusable(self.amounts, found.n_utterances, self.config.most_unusable)
        self.final = final_splits(found, self.config)
        self.steps = {name: self.experiment.steps(_in_directories({name: s})) for name, s in systems.items()}
        self.outlook = {o.step.name: o for o in experiment.outlook(_in_directories(systems))}
        self.centers = centers
        self._measure(scratch)

    def _measure(self, scratch: Path) -> None:
        """Run the small trainings; the first loads and compiles what the others need."""
        few = replace_centers(self.config, self.systems, 0.5)
        tasks = [
            SmallTask(
                self.experiment.loaded,
                self.experiment.path(self.experiment.begun[0]),
                self.amounts,
                config,
                scratch / f"{number}",
                seconds,
            )
            for number, (seconds, config) in enumerate(
                [(WARM_S, few), (SMALL_S, self.config), (LARGE_S, self.config)]
            )
        ]
        systems = _in_directories(self.systems)
        self.small, self.large, self.halved = (SmallRun() for _ in range(3))
        with quietly():
            for task, run in ((tasks[0], SmallRun()), (tasks[1], self.small)):
                with suppress(AsrError):  # too little speech: what is not done has the price of the large one
                    task.run(task.steps(systems), run)
            tasks[2].run(tasks[2].steps(systems), self.large)
            # With half the centres: what discriminants then take says how their time grows.
            if self.centers and few != self.config:
                tasks[1].config = replace_centers(tasks[1].config, self.systems, 0.5)
                steps = tasks[1].steps(systems)
                hybrids = [s for s in steps if s.make is train_discriminants and s.name in self.small.cpu_s]
                tasks[1].run(hybrids, self.halved)

    def plan(self) -> Plan:
        """Return the plan of all models."""
        amounts, experiment = self.amounts, self.experiment
        models = tuple(self.model_plan(name, system) for name, system in self.systems.items())
        seconds = {name: s for each in models for name, s in each.stages.items()}
        return Plan(
            experiment.loaded.name,
            experiment.preset,
            amounts.of_splits,
            len(amounts.lexicon),
            len(amounts.missing),
            len(amounts.lexicon.phones),
            amounts.monophones.n_states,
            experiment.found.grammars,
            self.n_workers,
            models,
            self._with_other_centers(models),
            sum(seconds.values()),
            {name: self._price(step).unit for name, step in self._priced().items()},
            [
                {**entry, **self._counted(each), "cpu_s": seconds[each.step.name]}
                for entry, each in zip(
                    listing(list(self.outlook.values())), self.outlook.values(), strict=True
                )
            ],
        )

    def model_plan(self, name: str, system: System, n_centers: int | None = None) -> ModelPlan:
        """Return what a model costs, with another number of centres if one is given."""
        steps, usual = self.steps[name], centers_of(self.config, system)
        stages = {step.name: self._cpu_s(step, usual, n_centers) for step in steps}
        groups = {group: sum(stages[s.name] for s in steps if kind_of(s).group == group) for group in GROUPS}
        serial = sum(self._serial_s(step, stages[step.name]) for step in steps)
        total = sum(stages.values())
        size = self._size(steps)
        sizes = {step.name: self._bytes(step, usual, n_centers) for step in steps}
        model_bytes = next(sizes[step.name] for step in steps if step.make is assemble_recognizer)
        unpriced = [step.name for step in steps if step.name not in self.outlook or not self._is_known(step)]
        config = self.config
        if n_centers is not None and usual is not None:
            config = replace_centers(config, {name: system}, n_centers / usual)
        is_others = isinstance(system, HybridSystem) and system.way not in WAYS
        others = f"{name}, another package's classifier, is taken to grow with the frames of all classes"
        return ModelPlan(
            name,
            usual if n_centers is None else n_centers,
            size.states if size else self.amounts.monophones.n_states,
            size.all_pairs if size else 0,
            size.pairs if size else 0,
            round(size.frames_a_pair) if size and size.pairs else 0,
            stages,
            groups,
            total,
            {
                n: serial + (total - serial) * (_LOCKED + (1 - _LOCKED) / n)
                for n in sorted({1, 2, 4, self.n_workers})
            },
            self._peak_mb(steps, size),
            (sum(sizes.values()) + model_bytes) / _MB,
            model_bytes / _MB,
            self._decoding_x(steps),
            self._savings(steps, stages),
            f"{section_of(system)}.n_centers" if usual is not None else "",
            "; ".join(
                [
                    *([others] if is_others else []),
                    *([f"{', '.join(unpriced)}, not in the small trainings"] if unpriced else []),
                ]
            ),
            trained_in_words(system, config),
        )

    def _with_other_centers(self, models: Sequence[ModelPlan]) -> tuple[ModelPlan, ...]:
        """Return the plans of the last model that has centres, with other numbers of them."""
        last = next((each for each in reversed(models) if each.n_centers is not None), None)
        if last is None:
            return ()
        others = [n for n in self.centers if n != last.n_centers]
        return tuple(self.model_plan(last.model, self.systems[last.model], n) for n in others)

    # Costs of a step

    def _priced(self) -> dict[str, Step]:
        """Return the steps that have a price, by their names."""
        return {name: each.step for name, each in self.outlook.items() if kind_of(each.step).unit != "made"}

    def _in_small(self, step: Step) -> str:
        """Return the name of the step of the small trainings that does the same: all of them use train."""
        if step.make is compute_features:
            return step.name.replace(f"features-{step.arguments['split']}", "features-train", 1)
        return step.name if step.name in self.large.work else step.name.removesuffix("-dev")

    def _is_known(self, step: Step) -> bool:
        return self._in_small(step) in self.large.work

    def _work(self, step: Step) -> Work:
        """Return the work of a step."""
        hybrid = hybrid_behind(step)
        return work_of(step, self.amounts, None if hybrid is None else self._hybrid_size(hybrid))

    def _hybrid_size(self, hybrid: Step) -> HybridSize:
        splits = self.final if hybrid.name.endswith("-dev") else ("train",)
        small = self.large.hybrids[self._in_small(hybrid)]
        return expected_size(self.amounts, self.config, splits, self.large.silence_share, small)

    def _size(self, steps: Sequence[Step]) -> HybridSize | None:
        """Return the size of the final hybrid."""
        hybrids = [step for step in steps if step.make is train_discriminants]
        return self._hybrid_size(hybrids[-1]) if hybrids else None

    def _price(self, step: Step) -> Price:
        """Return the price of a step by what it took in the small trainings."""
        if not self._is_known(step):
            return Price(0.0, 0.0)
        name, large = self._in_small(step), self.large
        small = self.small if name in self.small.work else large
        return price_of(small.work[name], small.cpu_s[name], large.work[name], large.cpu_s[name])

    def _cpu_s(self, step: Step, usual: int | None, n_centers: int | None) -> float:
        """Return the CPU seconds of a step: what is recorded of one that is done, else what is expected."""
        outlook = self.outlook[step.name]
        if outlook.path is not None and n_centers is None:
            return stage_cpu_s(outlook.path)
        if kind_of(step).unit == "made":
            return stage_cpu_s(self.experiment.path(step))
        expected = self._price(step).of(self._work(step))
        if usual is None or n_centers is None or step.make is not train_discriminants:
            return expected
        name = self._in_small(step)
        if name not in self.halved.cpu_s:
            return expected * n_centers / usual
        times = self.small.cpu_s[name] / max(self.halved.cpu_s[name], 1e-6)
        power = min(max(log2(max(times, 1.0)), _LEAST_POWER), _MOST_POWER)
        return expected * float((n_centers / usual) ** power)

    def _serial_s(self, step: Step, cpu_s: float) -> float:
        """Return how much of a step's time threads do not share."""
        kind = kind_of(step)
        if not kind.is_shared or kind.unit == "made":
            return cpu_s
        work = self._work(step)
        return min(self._price(step).once, cpu_s) if work.once == 1 else 0.0

    def _counted(self, each: Outlook) -> dict[str, object]:
        """Return the work of a step for a listing."""
        kind = kind_of(each.step)
        return {"group": kind.group, "units": round(self._work(each.step).units), "unit": kind.unit}

    # Sizes

    def _bytes(self, step: Step, usual: int | None, n_centers: int | None) -> float:
        """Return what a step's output takes on disk.

        Cepstra and labels grow with the frames, discriminants with what has centres, states or pairs, and
        with their number, mixtures of tied states with these; all else is as large as in the small trainings.
        """
        name = self._in_small(step)
        if kind_of(step).unit == "made" or not self._is_known(step):
            return self.large.sizes.get(step.name, 0.0)
        made = self.large.sizes[name]
        if step.make in (compute_features, align_speech, find_units):
            a_unit = made / max(self.large.work[name].units, 1)
            return a_unit * self._work(step).units
        if step.make is adapt_and_tie:
            kept, expected = self._mixtures_bytes(step)
            return (made - kept) / max(self.large.work[name].units, 1) * self._work(step).units + expected
        hybrid = hybrid_behind(step)
        if hybrid is None or made < self.large.sizes[(known := self._in_small(hybrid))]:
            return made
        size, small_size = self._hybrid_size(hybrid), self.large.hybrids[known]
        mixed, expected = 0.0, 0.0
        if self.config.hybrid.gmm_weight:
            mixed, expected = self._mixtures_bytes(hybrid.made_from["mixtures"])
        of_pairs = max(self.large.sizes[known] - mixed, 0.0)
        growth = _times(size, small_size, has_pools=way_section(hybrid) == "pools")
        times = 1.0 if usual is None or n_centers is None else n_centers / usual
        return made + of_pairs * (growth * times - 1) + expected - mixed

    def _mixtures_bytes(self, step: Step) -> tuple[float, float]:
        """Return what the mixtures that a step writes took in the small training, and what they will take."""
        name = self._in_small(step)
        if name not in self.large.mixtures:
            return self.large.sizes[name], self.large.sizes[name]
        n_states, small = self.large.mixtures[name]
        if not adapts_training(self.amounts):  # they are those that aligned
            return small, small
        known = (each.step for each in self.outlook.values())
        of_them = (s for s in known if s.make is train_discriminants)
        size = self._hybrid_size(next(s for s in of_them if s.made_from["mixtures"].name == step.name))
        return small, small * size.states / n_states

    def _peak_mb(self, steps: Sequence[Step], size: HybridSize | None) -> float:
        """Return the largest memory of the process, by the law that the module's docstring says."""
        amounts, config = self.amounts, self.config
        base = max(self.large.peak_mb.get(self._in_small(step), 0.0) for step in steps)
        a_frame = _SINGLE * config.front_end.front_end().mfcc.n_features
        cepstra = a_frame * max(amounts.n_frames([split]) for split in amounts.corpora)
        kept = min(a_frame * amounts.n_frames(self.final), IN_MEMORY)
        if size is None:
            decoded = max(amounts.n_frames([split]) for split in ("dev", "test"))
            return (
                base
                + (cepstra + kept + min(decoded * _SINGLE * amounts.monophones.n_states, IN_MEMORY)) / _MB
            )
        front_end = config.front_end.front_end(config.hybrid.input_projection)
        n_features = front_end.mfcc.n_features if front_end.projection == "none" else front_end.n_components
        learned = size.classes * size.frames_a_pair / 2 * n_features * _SINGLE
        return base + (cepstra + kept + 2 * learned) / _MB

    def _decoding_x(self, steps: Sequence[Step]) -> float:
        """Return the CPU seconds of a second's cepstra and words, of one grammar."""
        found = 0.0
        for step in steps:
            if step.make is decode_test:
                n_frames = max(self.amounts.n_frames(["test"]), 1)
                n_grammars = len(step.arguments["names"])
                found += self._price(step).unit * self._work(step).units / n_frames / n_grammars
            elif step.make is compute_features and step.name == "features-train":
                found += self._price(step).unit
        return found / self.amounts.shift_s

    def _savings(self, steps: Sequence[Step], stages: Mapping[str, float]) -> dict[str, float]:
        """Return what settings would save that change what is trained and tested, not how."""
        found = {}
        if self.final != ("train",):
            again = [step for step in steps if step.name.endswith("-dev") and step.name != "features-dev"]
            found["retrain_with_dev=false"] = sum(stages[step.name] for step in again)
        grammars = self.experiment.found.grammars
        if len(grammars) > 1:
            words = sum(stages[step.name] for step in steps if kind_of(step).group in ("tuning", "test"))
            found[f"grammars={grammars[-1]}"] = words * (1 - 1 / len(grammars))
        return found


def _tell_unusable(amounts: Amounts, n_all: int, most: float) -> None:
    """Log the utterances whose recordings cannot be read, as far as headers tell, and what training does."""
    names = [
        f"{split}/{name}"
        for split, corpus in amounts.corpora.items()
        for name, seconds in zip(corpus.ids, amounts.seconds[split].tolist(), strict=True)
        if not seconds
    ]
    if names:
        fate = "training leaves out what cannot be used"
        if len(names) > most * n_all:
            fate = f"training stops where more than {100 * most:g} % cannot be used"
        what = f"{len(names)} of {n_all} recordings cannot be used: {listed(names, _N_NAMED)}"
        logger.warning("%s; %s; asr validate says why", what, fate)


def _times(size: HybridSize, small: HybridSize, *, has_pools: bool) -> float:
    """Return how many times more centres a hybrid has than a small one: of its states, or of its pairs."""
    if has_pools:
        return size.classes / max(small.classes, 1)
    return size.pairs / small.pairs if small.pairs else 1.0


def centers_of(config: ExperimentConfig, system: System) -> int | None:
    """Return the number of centres of a model; None if it has none that can be chosen."""
    if isinstance(system, GmmSystem) or system.way not in WAYS:
        return None
    return getattr(config.of_way(system.way), "n_centers", None)


def replace_centers(
    config: ExperimentConfig, systems: Mapping[str, System], times: float
) -> ExperimentConfig:
    """Return a configuration with so many times the centres of all systems that have any."""
    sections: dict[str, Any] = {}
    for system in systems.values():
        if (n := centers_of(config, system)) is not None and isinstance(system, HybridSystem):
            own: Any = config.of_way(system.way)
            sections[WAYS[system.way].section] = replace(own, n_centers=max(round(n * times), 1))
    return replace(config, **sections) if sections else config


def _in_directories(systems: Mapping[str, System]) -> dict[str, System]:
    """Return systems by names that directories can have."""
    return {name.replace(":", "-"): system for name, system in systems.items()}
