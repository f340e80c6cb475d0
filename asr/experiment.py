"""An experiment: the stages of a recipe in order, from which finished ones are skipped, and its results.

Directory ``EXP``: ``config.json`` (resolved), ``log.txt``, ``stages/`` (see `asr.stages.store`),
``used.json`` (see `asr.stages.used`), ``models/NAME/`` (all a recogniser needs, and ``data.json``, which says
how much it was made from), ``default.json``,
``results.json``, ``suspicious.json`` (utterances of the training data that look as if something were wrong
with them).
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path

from acoustic.model import JSON_NAME, TENSORS_NAME
from asr.config import ExperimentConfig, check_settings, with_preset, with_settings
from asr.corpora.amounts import DataRecord, amount_of, judgement, write_data
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.speech_data import SpeechData
from asr.decoding.model_directories import DEFAULT_MODEL, MODELS
from asr.files import file_digest, read_object, storage_errors, write_json
from asr.formats.transcripts import read_transcripts
from asr.progress import log_file, say, warnings_once
from asr.recipe import LoadedRecipe, check_corpus
from asr.scoring.results import RESULTS, Result, write_results
from asr.scoring.scoring import Transcripts
from asr.spotting.rejection import copy_chosen, rows_of_chosen
from asr.stages.decoding import DecodingStages
from asr.stages.models import ModelStages
from asr.stages.store import StageOutput, StageStore
from asr.stages.task import TaskStages
from asr.systems import System, find_system
from asr.training.suspicious import read_suspicious, write_suspicious
from foundation.errors import listed

CONFIG, LOG = "config.json", "log.txt"

logger = logging.getLogger(__name__)


class Experiment:
    """One recipe on one corpus in one directory.

    Parameters
    ----------
    loaded : the recipe
    corpus_dir : raw corpus, None if the recipe makes its own
    out : experiment directory
    config : resolved configuration
    preset : name of the preset, for the results
    store : the stages; those of ``out`` itself by default, of a sweep those that its points share

    Attributes
    ----------
    evaluated : what was decoded in `run`, by model and split
    """

    def __init__(
        self,
        loaded: LoadedRecipe,
        corpus_dir: Path | None,
        out: Path,
        config: ExperimentConfig,
        preset: str,
        store: StageStore | None = None,
    ) -> None:
        self.loaded = loaded
        self.corpus_dir = corpus_dir
        self.out = out
        self.config = config
        self.preset = preset
        self.store = store or StageStore(out)
        self.task = TaskStages(self.store, loaded, corpus_dir, config)
        self.models = ModelStages(self.task)
        self.decoding = DecodingStages(self.task)
        self.evaluated: dict[tuple[str, str], StageOutput] = {}

    def systems(self, models: Sequence[str]) -> dict[str, System]:
        """Return the systems of some models by their names; that the configuration has no place is an error.

        The names are those of directories: without a colon, which Windows does not allow in one.
        """
        systems = {name.replace(":", "-"): find_system(name, self.preset) for name in models}
        for name, system in systems.items():
            self.models.check(name, system)
        return systems

    def run(self, models: Sequence[str], *, briefly: bool = False) -> tuple[Result, ...]:
        """Train, tune and evaluate models; return the rows of ``results.json``.

        With ``briefly`` it is not said what is trained, from how much.
        """
        systems = self.systems(models)
        with self.store.locked(), storage_errors(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
            # What cannot be used is found anew with each number of Gaussians.
            with log_file(self.out / LOG), warnings_once(), self.store.used.counted_for(self.out / RESULTS):
                return self._run(systems, briefly)

    def _run(self, systems: Mapping[str, System], briefly: bool) -> tuple[Result, ...]:
        models = tuple(systems)
        if not briefly:
            say(f"{', '.join(models)} by the recipe {self.loaded.name}; the log is {self.out / LOG}")
            self.store.tell_of_other_code()
        self._warn_of_another_corpus()
        self._write_config(models)
        # Errors of recordings and grammars are raised before hours of training.
        self.task.digests(SPLITS)
        self._warn_of_splits()
        self.task.grammar_files(("train",))
        if not briefly:
            self._tell_of_amounts()
        results = [row for name, system in systems.items() for row in self._run_model(name, system)]
        self._list_suspicious(systems.values(), briefly=briefly)
        write_json(self.out / DEFAULT_MODEL, {"model": best_model(results, models)})
        write_results(
            results,
            self.out,
            synthetic=self.loaded.recipe.is_synthetic,
            keywords=rows_of_chosen(self.out / RESULTS, self.out / MODELS),
        )
        self._warn_of_changes()
        return tuple(results)

    def transcripts(self, result: Result) -> tuple[Transcripts, Transcripts]:
        """Return what was said and what was recognised, of a row that `run` has returned."""
        output = self.evaluated[result.model, result.split]
        recognised = read_transcripts(output.path / f"{result.grammar}.txt", "kaldi")
        spoken = self.task.corpus(result.split).text
        return {name: spoken[name] for name in recognised}, recognised

    @property
    def _splits(self) -> tuple[str, ...]:
        """The splits that the final models are trained on."""
        has_dev = len(self.task.corpus("dev")) > 0
        return ("train", "dev") if self.config.retrain_with_dev and has_dev else ("train",)

    def _tell_of_amounts(self) -> None:
        """Say how much there is to learn from, and what that lets expect."""
        data, seconds = self._data, self._seconds
        for split, line in judgement({s: data[s].corpus for s in data}, seconds, self.task.lexicon):
            say(f"{split}: {line}")

    @cached_property
    def _data(self) -> dict[str, SpeechData]:
        """The usable data of each split that there is."""
        return {split: self.task.data((split,)) for split in SPLITS if len(self.task.corpus(split))}

    @cached_property
    def _seconds(self) -> dict[str, dict[str, float]]:
        """The duration of each utterance by split and id."""
        shift_s = self.config.front_end.shift_ms / 1000
        return {s: {u.utterance_id: len(c) * shift_s for u, c in data} for s, data in self._data.items()}

    @cached_property
    def _data_record(self) -> DataRecord:
        """What the final models are trained and tested on."""
        seconds = self._seconds
        amounts = {split: amount_of(data.corpus, seconds[split]) for split, data in self._data.items()}
        return DataRecord(self.loaded.name, self.preset, amounts, self._splits)

    def _list_suspicious(self, systems: Iterable[System], *, briefly: bool) -> None:
        """Write what looks as if it were wrong in the training data, and say how much there is."""
        found, n_utterances = read_suspicious(self.models.fitting.suspicious(systems, self._splits).path)
        write_suspicious(found, n_utterances, self.out)
        if found and not briefly:
            say(
                f"{len(found)} of {n_utterances} utterances look as if text or sound were wrong; "
                f"asr validate {self.out} --suspicious lists them"
            )

    def _run_model(self, name: str, system: System) -> list[Result]:
        """Train, tune, publish and evaluate one model."""
        has_dev, has_test = len(self.task.corpus("dev")) > 0, len(self.task.corpus("test")) > 0
        tuning = self.decoding.tuning(name, self.models.acoustic_model(system, ("train",)))
        splits, model = self._splits, self.models.acoustic_model(system, self._splits)
        fit = self.models.fitting.confidence(name, model, splits)
        recognizer = self.decoding.recognizer(name, model, tuning, splits, fit)
        _publish(recognizer.path, self.out / MODELS / name, self._data_record)
        evaluated = [("dev", tuning)] if has_dev else []
        if has_test:
            evaluated.append(("test", self.decoding.evaluation(name, recognizer)))
        self.evaluated |= {(name, split): output for split, output in evaluated}
        return [
            row
            for split, output in evaluated
            for row in self.decoding.rows(output, model=name, preset=self.preset, split=split)
        ]

    def _warn_of_another_corpus(self) -> None:
        """Warn that results of another corpus are about to be replaced."""
        if not any((self.out / name).exists() for name in (RESULTS, MODELS)):
            return  # an earlier run was stopped before there were any
        path = self.out / CONFIG
        before = read_object(path).get("corpus") if path.is_file() else None
        if before is not None and self.corpus_dir is not None and before != str(self.corpus_dir.absolute()):
            logger.warning("%s was trained from %s; its results and models are replaced", self.out, before)

    def _warn_of_changes(self) -> None:
        """Warn that the corpus is no longer what these results are of."""
        if changed := self.task.changed_files():
            logger.warning(
                "%s: changed after the corpus was read; these results are of what was there before; run the "
                "same command again for those of what is there now",
                listed(changed, 5),
            )

    def _warn_of_splits(self) -> None:
        """Warn of properties of the splits that make the figures of dev or test misleading."""
        if not len(self.task.corpus("dev")):
            logger.warning("there is no dev set: the decoder's weights are not tuned")
        for first, second in combinations(SPLITS, 2):
            shared = sorted(_stretches(self.task.corpus(first)) & _stretches(self.task.corpus(second)))
            if shared:
                logger.warning(
                    "%d recording(s) are in %s and in %s, such as %s: figures of %s are too good",
                    len(shared),
                    first,
                    second,
                    shared[0][0],
                    second,
                )

    def _write_config(self, models: Sequence[str]) -> None:
        corpus = str(self.corpus_dir.absolute()) if self.corpus_dir else None
        record = {"recipe": self.loaded.name, "corpus": corpus, "models": models, "preset": self.preset}
        script = {"script": self.loaded.script} if self.loaded.script else {}
        write_json(self.out / CONFIG, {**record, **script, "config": self.config})


def _stretches(corpus: Corpus) -> set[tuple[str, float]]:
    """Return the recordings, and the start in each, that a corpus is made of."""
    return {(str(u.audio_path), u.start_s) for u in corpus}


def best_model(results: Sequence[Result], models: Sequence[str]) -> str:
    """Return the model that is best on dev (on test where there is no dev), on average over the grammars."""
    split = "dev" if any(r.split == "dev" for r in results) else "test"
    return max(
        models, key=lambda name: sum(r.word_accuracy for r in results if (r.model, r.split) == (name, split))
    )


def _is_same_model(one: Path, other: Path) -> bool:
    """Return whether two directories hold the same acoustic model."""
    names = (JSON_NAME, TENSORS_NAME)
    return all((other / name).is_file() for name in names) and all(
        file_digest(one / name) == file_digest(other / name) for name in names
    )


def _publish(source: Path, target: Path, data: DataRecord) -> None:
    """Put a copy of a finished recogniser in its place, with what it was made from, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        shutil.copytree(source, partial)
        write_data(data, partial)
        if _is_same_model(source, target):
            copy_chosen(target, partial)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def experiment_of(
    loaded: LoadedRecipe,
    corpus: str | Path | None,
    out: Path,
    models: Sequence[str],
    preset: str,
    settings: Sequence[str],
    store: StageStore | None = None,
) -> Experiment:
    """Return the experiment that the arguments of `train` describe; nothing is written yet."""
    check_corpus(loaded, corpus, out)
    config = with_settings(with_preset(loaded.recipe.config, preset, loaded.recipe.thesis), settings)
    check_settings(settings, {name: find_system(name, preset) for name in models}, config)
    return Experiment(loaded, Path(corpus) if corpus is not None else None, out, config, preset, store)
