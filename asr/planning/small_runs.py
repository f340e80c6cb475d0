"""Small trainings of a task, by which the work of each step gets its price.

A small training runs the very list of steps (`asr.pipeline`) on some of the task's recordings, with its whole
lexicon and its grammars, in a directory of its own. There are two of them, of `SMALL_S` and `LARGE_S` seconds
of train, after one that only loads and compiles. From the CPU seconds of a step in both follows what it takes
once and what each unit of its work takes (`Price`).

What differs from the task's own configuration changes how much is done, not how: the final models are those
of train, nothing is left out, and hybrids learn from the `MOST_CLASSES` most frequent states, so that their
pairs have about as many frames as they will have in the end. Where the whole task's speakers say enough for
training to adapt to them, it adapts to those few seconds of them, too (`adapting_anyway`).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from acoustic.emissions.kinds import describe
from acoustic.model import load_model
from asr.config import ExperimentConfig
from asr.corpora.corpus import write_corpus
from asr.corpora.utterances import Corpus, Utterance
from asr.corpora.wording import unknown_words
from asr.errors import CorpusError
from asr.experiment import Experiment
from asr.planning.work import (
    Amounts,
    HybridSize,
    Work,
    adapts_training,
    amounts_of,
    hybrid_behind,
    work_of,
)
from asr.progress import quietly
from asr.recipe import LoadedRecipe
from asr.store import RECORD, Step, stage_cpu_s
from asr.systems import System
from asr.training.aligned import adapt_and_tie, find_units
from asr.training.task import why_letters
from foundation.arrays import Floats

# Seconds of train, and of dev and test: by feel, so that a plan takes less than half a minute.
WARM_S, SMALL_S, LARGE_S = 15.0, 30.0, 110.0
_HELD_OUT, _LEAST_HELD_OUT_S = 0.25, 12.0
_LEAST, _MOST = 2, 400  # recordings of a split, however long they are; by feel
_N_LACKING = 6  # recordings with words that the lexicon lacks; by feel
MOST_CLASSES = 30  # of a hybrid; by feel
_USUAL_MB = 300.0  # of a process with all libraries: 299 on FSDD


@dataclass(frozen=True)
class Price:
    """What a step takes once, or for each of its pieces, and for each unit of its work."""

    once: float
    unit: float

    def of(self, work: Work) -> float:
        """Return what some work takes."""
        return self.once * work.once + self.unit * work.units


def price_of(small: Work, small_cost: float, large: Work, large_cost: float) -> Price:
    """Return the price by what a little and more work of a step have cost.

    >>> price_of(Work(10), 3.0, Work(30), 7.0)
    Price(once=1.0, unit=0.2)
    """
    less, more = small.units / small.once, large.units / large.once
    of_less, of_more = small_cost / small.once, large_cost / large.once
    if not more:
        return Price(of_more, 0.0)
    if more < 1.5 * less:  # too near to each other to tell what is taken once
        return Price(0.0, of_more / more)
    unit = (of_more - of_less) / (more - less)
    once = of_more - unit * more
    if unit < 0:
        return Price(of_more, 0.0)
    return Price(0.0, of_more / more) if once < 0 else Price(once, unit)


@dataclass
class SmallRun:
    """What came out of a small training.

    Attributes
    ----------
    work, cpu_s, sizes : work, CPU seconds and bytes of each step by its name
    hybrids : size of each hybrid by the name of the step that trained it
    mixtures : states and bytes of the mixtures that each step wrote which adapts to speakers
    silence_share : share of the aligned frames that are silence
    peak_mb : largest memory of this process after each step
    """

    work: dict[str, Work] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    hybrids: dict[str, HybridSize] = field(default_factory=dict)
    mixtures: dict[str, tuple[int, float]] = field(default_factory=dict)
    silence_share: float = 0.0
    peak_mb: dict[str, float] = field(default_factory=dict)


class SmallTask:
    """Some of a task's recordings, as a task of its own.

    Parameters
    ----------
    loaded : the recipe
    prepared : directory of the task's first step
    amounts : how much the whole task holds
    config : configuration of its training
    root : an empty directory
    seconds : of train
    """

    def __init__(
        self,
        loaded: LoadedRecipe,
        prepared: Path,
        amounts: Amounts,
        config: ExperimentConfig,
        root: Path,
        seconds: float,
    ) -> None:
        def prepare(_: Path, directory: Path) -> None:
            for path in prepared.iterdir():
                if path.is_file() and path.name != RECORD:
                    shutil.copyfile(path, directory / path.name)
            for split in amounts.corpora:
                write_corpus(some_of(amounts, split, seconds), directory / split)

        self.config = replace(config, retrain_with_dev=False, unusable="skip")
        self.adapts = adapts_training(amounts)
        few = replace(loaded.recipe, prepare=prepare, needs_corpus=False)
        self.experiment = Experiment(
            replace(loaded, recipe=few, source=f"{seconds} s of it"), None, root, self.config, ""
        )
        with quietly():
            found = self.experiment.begin()
        self.experiment.found = replace(found, why_letters=why_letters(amounts.corpora, amounts.lexicon))
        # Frames are counted as in the whole task, from the headers of recordings.
        self.amounts = amounts_of(found.corpora, amounts.lexicon, found.missing, amounts.shift_s)

    def steps(self, systems: Mapping[str, System]) -> list[Step]:
        """Return the list of steps of some systems, of which hybrids learn from the most frequent states."""
        self.experiment.config = self.config
        steps = self._steps(systems)
        units = next((step for step in steps if step.make is find_units), None)
        if units is None:
            return steps
        hybrid = self.config.hybrid
        counts = np.sort(self._counts(units))[::-1] * (1 + len(hybrid.warps))
        least = int(counts[min(MOST_CLASSES, len(counts)) - 1]) if len(counts) else 1
        few = replace(hybrid, min_frames=max(min(least, hybrid.max_frames), 2))
        self.experiment.config = replace(self.config, hybrid=few)
        return self._steps(systems)

    def run(self, steps: Sequence[Step], run: SmallRun) -> None:
        """Make the outputs of some steps, and note what they took and what came out."""
        for step in steps:
            path = self.experiment.path(step)
            hybrid = hybrid_behind(step)
            if step is hybrid:
                run.hybrids[step.name] = self._size(step)
            size = None if hybrid is None else run.hybrids[hybrid.name]
            run.cpu_s[step.name] = stage_cpu_s(path)
            run.work[step.name] = work_of(step, self.amounts, size)
            run.sizes[step.name] = float(size_of(path))
            run.peak_mb[step.name] = peak_mb()
            if step.make is adapt_and_tie:
                n_states = load_model(path).topology.n_states
                run.mixtures[step.name] = n_states, float(sum(map(size_of, path.glob("model.*"))))
            if step.make is find_units:
                run.silence_share = self._silence_share(step)

    def _steps(self, systems: Mapping[str, System]) -> list[Step]:
        steps = self.experiment.steps(systems)
        return adapting_anyway(steps) if self.adapts else steps

    def _labels(self, units: Step) -> Any:
        labels = np.load(self.experiment.path(units) / "states.npy")
        return labels[labels >= 0]

    def _counts(self, units: Step) -> Floats:
        return np.bincount(self._labels(units)).astype(np.float64)

    def _silence_share(self, units: Step) -> float:
        """Return the share of silence, whose states are the same in all topologies."""
        labels, topology = self._labels(units), self.amounts.monophones
        silent = np.flatnonzero(~topology.is_speech())
        return float(np.isin(labels, silent).mean()) if len(labels) else 0.0

    def _size(self, step: Step) -> HybridSize:
        """Return the size of a hybrid that is trained."""
        hybrid = step.arguments["hybrid"]
        counts = self._counts(step.made_from["units"]) * (1 + len(hybrid.warps))
        counts = np.minimum(counts[counts >= hybrid.min_frames], hybrid.max_frames)
        described = describe(load_model(self.experiment.path(step)).emissions)
        described = described.get("first", described)
        classes = int(described.get("classes", len(counts)))
        mean = float(counts.mean()) if len(counts) else 0.0
        return HybridSize(len(counts), classes, int(described.get("pairs", 0)), 2 * mean)


def adapting_anyway(steps: Sequence[Step]) -> list[Step]:
    """Return steps of which those that adapt training to its speakers do so, however little these say."""
    known: dict[Step, Step] = {}
    for step in steps:
        inputs = {
            label: known[given] if isinstance(given, Step) else {n: known[s] for n, s in given.items()}
            for label, given in step.inputs.items()
        }
        arguments = (
            {**step.arguments, "least_speech_s": 0.0} if step.make is adapt_and_tie else step.arguments
        )
        known[step] = replace(step, inputs=inputs, arguments=arguments)
    return list(known.values())


def some_of(amounts: Amounts, split: str, seconds: float) -> Corpus:
    """Return some utterances of a split: of train about so many seconds, and less of dev and test.

    They are as long and as short as all of them; of train those are taken whose words are known, and some
    with words that the lexicon lacks if all these can get a pronunciation.
    """
    corpus, lengths = amounts.corpora[split], amounts.seconds[split]
    if split != "train":
        return evenly_by_length(corpus.utterances, lengths, max(_HELD_OUT * seconds, _LEAST_HELD_OUT_S))
    spoken = [i for i, u in enumerate(corpus) if u.spoken]
    known = [i for i in spoken if not unknown_words([corpus.utterances[i].words], amounts.lexicon)]
    missing = frozenset(amounts.missing)
    lacking = [i for i in spoken if missing.intersection(corpus.utterances[i].words) and lengths[i] > 0]
    lacking = lacking[:: max(len(lacking) // _N_LACKING, 1)][:_N_LACKING]
    places = known or spoken
    chosen = evenly_by_length([corpus.utterances[i] for i in places], lengths[places], seconds)
    if not len(chosen):
        raise CorpusError(
            f"train: of {len(corpus)} utterances none can be measured (no transcript has words); expected "
            "recordings with transcripts; check the corpus (asr validate)"
        )
    return Corpus(tuple({*chosen, *(corpus.utterances[i] for i in lacking)}))


def evenly_by_length(utterances: Sequence[Utterance], seconds: Floats, wanted_s: float) -> Corpus:
    """Return utterances of about so many seconds in all, as long and as short as all of them.

    Parameters
    ----------
    utterances : N utterances
    seconds : (N,) length of each; 0 of those that cannot be read, which are not taken
    wanted_s : seconds of all that are taken
    """
    order = np.argsort(seconds, kind="stable")
    order = order[seconds[order] > 0]
    if not len(order):
        return Corpus(())
    n = min(int(np.clip(round(wanted_s / seconds[order].mean()), _LEAST, _MOST)), len(order))
    chosen = order[((np.arange(n) + 0.5) * len(order) / n).astype(int)]
    return Corpus(tuple(utterances[i] for i in chosen))


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a directory."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def peak_mb() -> float:
    """Return the largest memory that this process has had, in MB; where nobody tells, a usual one."""
    try:
        import resource
    except ImportError:  # Windows
        return _USUAL_MB
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1e6 if sys.platform == "darwin" else used * 1024 / 1e6
