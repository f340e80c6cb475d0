"""What a finished experiment holds on disk, found without running any of its stages, and what is shown of it.

``EXP/used.json`` says which stages the results were made from: those of the last run that came to its end.
Where it is missing (experiments of earlier versions), the newest output of each stage counts. The stages of a
sweep's point lie in the sweep's directory.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from acoustic.emissions.emission_model import uncombined
from acoustic.emissions.kinds import describe
from acoustic.model import AcousticModel, load_model
from acoustic.ways import meant
from asr.corpora.amounts import read_data
from asr.corpora.corpus import Corpus, read_corpus
from asr.corpora.speech_data import SpeechData, load_cepstra
from asr.corpora.wording import read_wording
from asr.errors import ConfigError, ExperimentError
from asr.experiment import CONFIG
from asr.files import as_stage_wrote, as_train_wrote, read_json, read_object
from asr.formats.model_directories import DEFAULT_MODEL, MODELS, trained_in_words
from asr.formats.transcripts import read_transcripts
from asr.pipeline import on_splits
from asr.scoring.edit_distance import WordPair
from asr.scoring.results import RESULTS, Result, is_synthetic, read_results
from asr.scoring.scoring import Transcripts, WordAccuracy, score
from asr.store import RECORD, STAGES, USED, name_of, outputs_behind, read_used, stage_cpu_s
from asr.systems import GrammarName
from asr.training.speech import read_left_out
from foundation.errors import AsrError, suggestion

_EVALUATED_BY = {"test": "test", "dev": "tuning"}  # the stage that decodes a split


@dataclass(frozen=True)
class Finished:
    """The results of an experiment and the stages they were made from.

    Attributes
    ----------
    directory : the experiment directory
    results : rows of ``results.json``
    stages : directory of each stage, by its name without the key; the newest, where models of several runs
        have stages of one name
    synthetic : whether the speech is synthetic
    all_stages : the directories of all stages in use
    """

    directory: Path
    results: tuple[Result, ...]
    stages: Mapping[str, Path]
    synthetic: bool
    all_stages: tuple[Path, ...] = ()

    @classmethod
    def read(cls, directory: Path) -> Finished:
        """Return what lies in an experiment directory that ``asr train`` has finished."""
        results, root = read_results(directory), _root(directory)
        found = list(_stages(root, directory))
        stages = dict(found)
        if not results or not stages:
            missing = "no stages" if results else "no results of dev or test"
            raise ExperimentError(
                f"{directory}: {missing}, expected those that asr train keeps there; run asr train again"
            )
        return cls(directory, results, stages, is_synthetic(directory), tuple(path for _, path in found))

    def of_model(self, model: str) -> Finished:
        """Return the same with the stages that a model was made from, where there are several of one name."""
        names = {f"{stage}-{model}" for stage in ("recognizer", *_EVALUATED_BY.values())}
        return replace(self, stages={**self.stages, **self._behind(names)})

    def _behind(self, names: Collection[str]) -> dict[str, Path]:
        """Return the directories of stages of some names, and of what these were made from, by name."""
        behind = outputs_behind(self.all_stages, names)
        return {str(name_of(path.name)): path for path in self.all_stages if path in behind}

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What ``config.json`` says: recipe, preset, configuration."""
        return read_object(self.directory / CONFIG)

    @property
    def typed(self) -> str:
        """The experiment directory as one types it; no page tells where on the machine that lies."""
        return shlex.quote(self.directory.name if self.directory.is_absolute() else str(self.directory))

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order of the results."""
        return tuple(dict.fromkeys(row.model for row in self.results))

    def split(self, asked: str | None) -> str:
        """Return the split that is asked for; test by default, dev where there is no test."""
        known = sorted({row.split for row in self.results}, reverse=True)
        return _one_of(self.directory, "results of split", asked, known, known[0])

    def model(self, asked: str | None) -> str:
        """Return the model that is asked for; by default the one that was best on dev."""
        if asked is not None and asked not in self.models:
            other = meant(asked, str(self.config.get("preset")))
            asked = other if other in self.models else asked
        default = self._best_model() if asked is None else asked
        return _one_of(self.directory, "model", asked, self.models, default)

    def in_words(self, model: str) -> str:
        """Return what a model is."""
        place = self.directory / MODELS / model
        return trained_in_words(place) if place.is_dir() else "its directory is gone"

    def _best_model(self) -> str:
        """Return the model that was best on dev, the first one where nothing says which it was."""
        path = self.directory / DEFAULT_MODEL
        if not path.is_file():
            return self.models[0]
        record = read_json(path)
        with as_train_wrote(path):
            best = str(record["model"])
        if best not in self.models:
            raise ExperimentError(
                f'{path}: no results of model "{best}", expected one of: {", ".join(self.models)}; '
                "run asr train again, or choose with --model"
            )
        return best

    def grammars(self, split: str, model: str | None = None) -> tuple[GrammarName, ...]:
        """Return the grammars that a split was decoded with, by one model or by any."""
        rows = (row for row in self.results if row.split == split and model in (None, row.model))
        return tuple(dict.fromkeys(row.grammar for row in rows))

    def models_with(self, split: str, grammar: str) -> tuple[str, ...]:
        """Return the models that have decoded a split with a grammar."""
        return tuple(r.model for r in self.results if (r.split, r.grammar) == (split, grammar))

    def stage(self, name: str) -> Path:
        """Return the directory of a stage; raise an error if it is missing."""
        if name not in self.stages:
            raise ExperimentError(
                f"{self.directory}: no output of the stage {name}, expected it among {STAGES}; "
                "run asr train again"
            )
        return self.stages[name]

    def evaluation(self, model: str, split: str) -> Path:
        """Return the stage that has decoded a split."""
        return self.stage(f"{_EVALUATED_BY[split]}-{model}")

    def recognised(self, model: str, split: str, grammar: str) -> Transcripts:
        """Return the words that a model has recognised, by utterance."""
        return read_transcripts(self.evaluation(model, split) / f"{grammar}.txt", "kaldi")

    def corpus(self, split: str) -> Corpus:
        """Return the utterances of a split in the words of the lexicon."""
        return read_wording(read_corpus(self.stage("task") / split), self.stage("words") / f"{split}.json")

    def data(self, split: str) -> SpeechData:
        """Return the utterances of a split with their cepstra."""
        return load_cepstra(self.corpus(split), self.stage(f"features-{split}"), split)

    def made_from(self, stage: Path, label: str) -> Path:
        """Return the stage whose output another one was made from, by the label of that input."""
        wanted = _record(stage)["inputs"].get(label)
        for path in self.stages.values():
            if _record(path)["digest"] == wanted:
                return path
        raise ExperimentError(
            f"{stage}: the {label} that it was made from is not there, expected it in {STAGES}; "
            "run asr train again"
        )

    def records(self) -> dict[str, Mapping[str, Any]]:
        """Return ``stage.json`` of each stage, by its name."""
        return {name: _record(path) for name, path in self.stages.items()}

    @cached_property
    def sizes(self) -> dict[str, ModelSize]:
        """What each model costs, by its name, in the order of the results."""
        return {model: self._size(model) for model in self.models}

    def _size(self, model: str) -> ModelSize:
        place = self.directory / MODELS / model
        if not place.is_dir():
            return ModelSize(model)
        n_bytes = sum(path.stat().st_size for path in place.iterdir() if path.is_file())
        behind = self._behind({f"recognizer-{model}"}).values()
        return ModelSize(
            model,
            self._n_centers(place),
            round(n_bytes / 1e6, 2),
            round(sum(map(stage_cpu_s, behind)), 1) or None,
            self.decoding_cpu_s_per_s(model),
        )

    def _n_centers(self, place: Path) -> int | None:
        """Return the number of a model's centres; nothing of one that cannot be read."""
        try:
            return n_centers_of(load_model(place))
        except AsrError:
            return None

    def decoding_cpu_s_per_s(self, model: str) -> float | None:
        """Return CPU seconds for a second of the test set and a grammar, without those for the cepstra."""
        data, n_grammars = read_data(self.directory / MODELS / model), len(self.grammars("test", model))
        if data is None or "test" not in data.amounts:
            return None
        tested = [path for path in self.all_stages if name_of(path.name) == f"test-{model}"]
        cpu_s, heard_s = sum(map(stage_cpu_s, tested[-1:])), 3600 * data.amounts["test"].hours * n_grammars
        return round(cpu_s / heard_s, 4) if cpu_s and heard_s else None

    def left_out(self, model: str) -> LeftOut:
        """Return the utterances of the training data that a model has not learned from."""
        data = read_data(self.directory / MODELS / model)
        splits = ["train"] if data is None else list(data.trained_on)
        stages = self._behind({f"recognizer-{model}"})
        name = on_splits("fitting" if on_splits("fitting", splits) in stages else "usable", splits)
        ids = read_left_out(stages[name]) if name in stages else frozenset[str]()
        by_hand = tuple(name for split in splits for name in self._left_out_by_hand(split))
        n_all = sum(len(self.corpus(split)) for split in splits)
        n_read = n_all if data is None else sum(amount.n_utterances for amount in data.training)
        n_unread = max(n_all - n_read, 0)
        return LeftOut(tuple(splits), tuple(sorted(ids)), n_unread, n_all + len(by_hand), by_hand)

    def unread(self, splits: Iterable[str]) -> tuple[str, ...]:
        """Return the utterances of splits whose recordings could not be used, where that is known."""
        known = [split for split in splits if f"features-{split}" in self.stages]
        every = {name for split in known for name in self.corpus(split).ids}
        return tuple(sorted(every.difference(*(self.data(split).corpus.ids for split in known))))

    def corrected_by_hand(self, splits: Iterable[str]) -> tuple[str, ...]:
        """Return the utterances of splits whose transcripts a person had corrected before this training."""
        path = self.stage("words")
        with as_stage_wrote(path / RECORD):
            # Not what ``EXP/corrections.txt`` says now: that may be for the next training.
            corrections = _record(path).get("config", {}).get("corrections", {})
            corrected = {name for name, words in corrections.items() if words is not None}
        return tuple(sorted(corrected.intersection(name for s in splits for name in self.corpus(s).ids)))

    def _left_out_by_hand(self, split: str) -> tuple[str, ...]:
        """Return the utterances that a person has left out of a split."""
        prepared = read_corpus(self.stage("task") / split)
        return tuple(sorted(set(prepared.ids) - set(self.corpus(split).ids)))


@dataclass(frozen=True)
class ModelSize:
    """What a model costs; None is not known.

    Attributes
    ----------
    model : its name
    n_centers : distinct centres of its discriminants (support vectors of an SVM), or its Gaussians
    megabytes : what decoding needs of it on disk
    training_cpu_s : CPU seconds of all steps that it was made from, with those that models share
    decoding_cpu_s_per_s : CPU seconds for a second of the test set and a grammar, without its cepstra
    """

    model: str
    n_centers: int | None = None
    megabytes: float | None = None
    training_cpu_s: float | None = None
    decoding_cpu_s_per_s: float | None = None


@dataclass(frozen=True)
class LeftOut:
    """What of the training data was not learned from.

    Attributes
    ----------
    splits : those that are learned from
    ids : utterances without a known word, or whose text is far off what is heard
    n_unread : utterances whose recordings could not be used
    n_all : utterances that there are
    by_hand : utterances that a person has left out
    """

    splits: tuple[str, ...]
    ids: tuple[str, ...]
    n_unread: int
    n_all: int
    by_hand: tuple[str, ...] = ()


def n_centers_of(model: AcousticModel) -> int | None:
    """Return the number of distinct centres of a model's discriminants; of a GMM that of its Gaussians."""
    found = describe(uncombined(model.emissions))
    return found.get("centers", found.get("gaussians"))


@dataclass(frozen=True)
class Choice:
    """What a page looks into: a model, a split and a grammar of a finished experiment."""

    finished: Finished
    model: str
    split: str
    grammar: str

    @classmethod
    def of(cls, finished: Finished, model: str | None, split: str | None) -> Choice:
        """Return the choice asked for, with the last of the grammars, which is the recipe's default."""
        part, chosen = finished.split(split), finished.model(model)
        return cls(finished.of_model(chosen), chosen, part, finished.grammars(part, chosen)[-1])

    @cached_property
    def corpus(self) -> Corpus:
        """The utterances of the split."""
        return self.finished.corpus(self.split)

    @cached_property
    def is_one_person(self) -> bool:
        """Whether all recordings were taken as those of one person, who has no name then."""
        data = read_data(self.finished.directory / MODELS / self.model)
        return data is not None and data.speakers == "one"

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


def spoken_in(corpus: Corpus, recognised: Transcripts) -> dict[str, tuple[str, ...]]:
    """Return what was said in the utterances that were decoded."""
    return {name: words for name, words in corpus.text.items() if name in recognised}


def scored(finished: Finished, split: str, grammar: str, corpus: Corpus) -> dict[str, WordAccuracy]:
    """Return the word accuracy of each model with a grammar, by speaker too."""
    speakers = {u.utterance_id: u.speaker for u in corpus}
    found = {}
    for model in finished.models_with(split, grammar):
        recognised = finished.recognised(model, split, grammar)
        found[model] = score(spoken_in(corpus, recognised), recognised, speakers=speakers)
    return found


def _record(stage: Path) -> Mapping[str, Any]:
    record = read_json(stage / RECORD)
    with as_train_wrote(stage / RECORD):
        return {"inputs": dict(record["inputs"]), "digest": str(record["digest"]), **record}


def _root(directory: Path) -> Path:
    """Return the directory that holds the stages: the experiment's own, or that of its sweep."""
    places = (directory, directory.resolve().parent.parent)
    return next((place for place in places if (place / STAGES).is_dir()), directory)


def _stages(root: Path, directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield names and directories of the stages in use, the newest of a name last."""
    found = sorted((root / STAGES).glob(f"[!.]*/{RECORD}"), key=lambda path: path.stat().st_mtime_ns)
    used = _used(root, directory)
    for path in (record.parent for record in found):
        name = name_of(path.name)
        if name is not None and (used is None or path.name in used):
            yield name, path


def _used(root: Path, directory: Path) -> frozenset[str] | None:
    """Return the stages of an experiment's results; None where nothing says which they are."""
    if not (root / USED).is_file():
        return None
    name = (directory.resolve() / RESULTS).relative_to(root.resolve()).as_posix()
    entry = read_used(root).get(name)
    if entry is None:
        return None
    return entry.stages if entry.finished is None else entry.finished


def _one_of(directory: Path, what: str, asked: str | None, known: Any, default: str) -> str:
    if asked is not None and asked not in known:
        hint = suggestion(asked, known)
        raise ConfigError(f'{directory}: no {what} "{asked}"{hint}; expected one of: {", ".join(known)}')
    return asked or default
