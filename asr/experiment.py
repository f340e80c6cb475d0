"""An experiment: the steps of a training (`asr.pipeline`) done one after the other, and their results.

Directory ``EXP``: ``config.json`` (resolved), ``log.txt``, ``stages/`` (outputs of the steps) and
``used.json`` (which of them the results need; see `asr.store`), ``models/NAME/`` (all a recogniser needs, and
``data.json``, which says how much it was made from), ``default.json``, ``results.json``, ``suspicious.json``
(utterances of the training data that look as if something were wrong with them).

Runs into one directory add up: the results of models that earlier runs have trained stay, as long as they are
of the same recordings, transcripts and lexicon, and the default is the best of all.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

from acoustic.model import JSON_NAME, TENSORS_NAME
from acoustic.ways import meant
from asr.config import (
    ExperimentConfig,
    Speakers,
    check_settings,
    split_setting,
    trained_in_words,
    with_preset,
    with_settings,
)
from asr.corpora.amounts import DataRecord, amount_of, judgement, write_data
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.problems import leave_out
from asr.corpora.speech_data import SpeechData
from asr.errors import ConfigError, ExperimentError
from asr.files import directory_digest, file_digest, read_object, storage_errors, write_json
from asr.formats.model_directories import DEFAULT_MODEL, LEXICON, MODELS, SWEEP
from asr.formats.transcripts import read_transcripts
from asr.pipeline import beginning, check_system, final_splits, judge_of, on_splits, pieces, pipeline
from asr.progress import duration, log_file, say, warnings_once, whole
from asr.recipe import LoadedRecipe, check_corpus, is_known_recipe, load_recipe
from asr.scoring.results import RESULTS, Result, best_model, rows_before, write_results
from asr.scoring.scoring import Transcripts
from asr.spotting.rejection import copy_chosen, rows_of_chosen
from asr.store import RECORD, STAGES, Outlook, StageStore, Step, key, name_of, outputs_behind
from asr.systems import HybridSystem, System, find_system
from asr.training.choice import values_of
from asr.training.fit import in_order, read_suspicious, verdict, write_suspicious
from asr.training.recognition import read_rows
from asr.training.speech import forget, read_lexicon, read_speech
from asr.training.task import Found, Source, found_in
from decoder.lexicon import Lexicon
from foundation.errors import AsrError, listed
from foundation.files import put_in_place

CONFIG, LOG = "config.json", "log.txt"
# Files of a model that are ours; others, which somebody has put beside them, stay when another model comes.
_SUFFIXES, _TEXTS = (".json", ".safetensors", ".arpa", ".slf"), (LEXICON, "word_pairs.txt", "commands.txt")

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
    store : outputs of the steps; those of ``out`` itself by default, of a sweep those that its points share

    Attributes
    ----------
    begun : the first two steps, which prepare the task; none before `begin`
    found : what these have found
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
        self.begun: list[Step] = []
        self._before_it_began: list[Outlook] = []
        self.found = Found({}, (), (), {})
        self.evaluated: dict[tuple[str, str], Path] = {}

    def systems(self, models: Sequence[str]) -> dict[str, System]:
        """Return the systems of some models by name; raise an error if the configuration does not allow one.

        The names are those of directories: without a colon, which Windows does not allow in one.
        """
        names = dict.fromkeys(meant(name, self.preset) for name in models)
        systems = {name.replace(":", "-"): find_system(name, self.preset) for name in names}
        for name, system in systems.items():
            check_system(name, system, self.config)
        return systems

    def begin(self) -> Found:
        """Prepare the task and return what is in it."""
        self.begun = beginning(self.loaded, self.corpus_dir, self.store.root, self.config)
        self._before_it_began = self.store.outlook(self.begun)
        task, words = (self.store.output(step).path for step in self.begun)
        self.found = found_in(task, words, self.config.grammars)
        return self.found

    def steps(self, systems: Mapping[str, System], *, learns_rejection: bool = True) -> list[Step]:
        """Return the steps that train some systems; those that prepare the task are done then."""
        if not self.begun:
            self.begin()
        return pipeline(self.begun, self.found, self.config, systems, learns_rejection=learns_rejection)

    def outlook(self, systems: Mapping[str, System]) -> list[Outlook]:
        """Return which steps are done, those that prepare the task as they were before `begin`."""
        steps = self.steps(systems)
        return [*self._before_it_began, *self.store.outlook(steps)[len(self.begun) :]]

    def path(self, step: Step) -> Path:
        """Return the directory of a step's output; it is made if it is not there yet."""
        return self.store.output(step).path

    def run(self, models: Sequence[str], *, briefly: bool = False) -> tuple[Result, ...]:
        """Train, tune and evaluate models; return the rows of ``results.json``, of earlier runs' models, too.

        With ``briefly`` it is not said what is trained, from how much.
        """
        systems = self.systems(models)
        for name in systems:
            _check_place(self.out / MODELS / name)
        with self.store.locked(), storage_errors(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
            # What cannot be used is found anew with each number of Gaussians.
            with log_file(self.out / LOG), warnings_once(), self.store.used.counted_for(self.out / RESULTS):
                forget()
                try:
                    return self._run(systems, briefly)
                finally:
                    forget()

    def _run(self, systems: Mapping[str, System], briefly: bool) -> tuple[Result, ...]:
        models = tuple(systems)
        may_be_done = (self.out / RESULTS).is_file()
        if not briefly and not may_be_done:
            self._say_what(systems)
        self._warn_of_another_corpus()
        self._write_config(models)
        self.begin()
        outlook = self.outlook(systems)
        earlier = self._earlier_rows(models)
        if all(each.path is not None for each in outlook) and not briefly:
            say(f"{self.out}: {', '.join(models)} is already done, with this corpus and these options")
            briefly = True
        if not briefly and may_be_done:
            self._say_what(systems)
            tell_of_changes(outlook, self.store.root)
        started_s = time.monotonic()
        n_utterances = {split: len(corpus) for split, corpus in self.found.corpora.items()}
        with whole(pieces(outlook, n_utterances), briefly=briefly):
            steps = self._made(systems, briefly)
        if not briefly:
            say(f"done in {duration(time.monotonic() - started_s)}")
        # 3. The results.
        results = [*earlier, *(row for name in models for row in self._rows(name, steps))]
        self._list_suspicious(steps, systems, briefly=briefly)
        self._choose_default(results, models, briefly=briefly)
        write_results(
            results,
            self.out,
            synthetic=self.loaded.recipe.is_synthetic,
            inputs=self._inputs(),
            keywords=rows_of_chosen(self.out / RESULTS, self.out / MODELS),
        )
        self._warn_of_changes()
        return tuple(results)

    def _say_what(self, systems: Mapping[str, System]) -> None:
        """Say what is trained, and where that is told in detail."""
        say(f"{', '.join(systems)} by the recipe {self.loaded.name}; the log is {self.out / LOG}")
        for name, system in systems.items():
            say(f"{name}: {trained_in_words(system, self.config)}")

    def _made(self, systems: Mapping[str, System], briefly: bool) -> dict[str, Step]:
        """Make what is not there yet, publish the models, and return the steps."""
        steps = {step.name: step for step in self.steps(systems)}
        # 1. The task: what is wrong with recordings or grammars is known before hours of training.
        names = list(steps)
        self.store.run(steps[name] for name in names[: names.index("grammars") + 1])
        self._warn_of_splits(systems)
        self._tell_of_letters()
        data = {split: self._read(steps, split) for split in self.found.splits}
        self._check_usable(data)
        seconds = {split: self._seconds(part) for split, part in data.items()}
        if not briefly:
            corpora = {split: part.corpus for split, part in data.items()}
            for note in judgement(corpora, seconds, self._lexicon(steps)):
                say(str(note))
        # 2. The models, each published as soon as it is there.
        amounts = {split: amount_of(part.corpus, seconds[split]) for split, part in data.items()}
        final = final_splits(self.found, self.config)
        record = DataRecord(self.loaded.name, self.preset, amounts, final, self.config.speakers)
        published = {f"recognizer-{name}": self.out / MODELS / name for name in systems}
        for step in steps.values():
            path = self.path(step)
            if step.name in published:
                _publish(path, published[step.name], record)
        return steps

    def _inputs(self) -> str:
        """Return what stands for the recordings, transcripts and lexicon that results are of."""
        digests = {step.name: self.store.output(step).digest for step in self.begun}
        return key({**digests, "recordings": [self.found.marks_of(split) for split in self.found.splits]})

    def _earlier_rows(self, models: Sequence[str]) -> list[Result]:
        """Return the rows that earlier runs have left, of other models on the same inputs; these are kept.

        Which rows go, and why, is said.
        """
        before, inputs = rows_before(self.out)
        others = list(dict.fromkeys(row.model for row in before if row.model not in models))
        replaced = dict.fromkeys(r.model for r in before if r.model in models and r.preset != self.preset)
        if replaced:
            say(f"{listed([*replaced])}: of another preset until now, trained again with {self.preset}")
        if others and inputs != self._inputs():
            say(
                f"results of {listed(others)} go: they are of other recordings, transcripts, words or splits "
                "than these, or of an earlier version; train them again to compare them"
            )
            return []
        known = [self.store.directory / name for name in self.store.used.of_before]
        kept = []
        for model in others:
            evaluations = {"dev": f"tuning-{model}", "test": f"test-{model}"}
            needed = {evaluations[row.split] for row in before if row.model == model}
            behind = outputs_behind(known, {*needed, f"recognizer-{model}"})
            there = {name_of(path.name) for path in behind if path.is_dir()}
            if (self.out / MODELS / model).is_dir() and needed <= there:
                self.store.used.keep(path.name for path in behind)
                kept.append(model)
        if gone := [model for model in others if model not in kept]:
            say(f"results of {listed(gone)} go: what they were made from is no longer in {self.out}")
        return [row for row in before if row.model in kept]

    def _choose_default(self, results: Sequence[Result], models: Sequence[str], *, briefly: bool) -> None:
        """Write which model is the best of all that have results, and say which it is, if that is news."""
        path = self.out / DEFAULT_MODEL
        before = None
        with suppress(AsrError):  # a damaged file is about to be replaced
            before = read_object(path).get("model") if path.is_file() else None
        present = list(dict.fromkeys(row.model for row in results)) or list(models)
        best, accuracies = best_model(results, present, str(before))
        if len(present) > 1 and (best != before or not briefly):
            split = "dev" if "dev" in self.found.splits else "test"
            others = ", ".join(f"{name} {accuracies[name]:.1f}" for name in present if name != best)
            reached = f"{accuracies[best]:.1f} % of words right on {split}"
            say(f"the default model is {best}: {reached}; {others} (--model takes another)")
        write_json(path, {"model": best})

    def transcripts(self, result: Result) -> tuple[Transcripts, Transcripts]:
        """Return what was said and what was recognised, of a row that `run` has returned."""
        path = self.evaluated[result.model, result.split]
        recognised = read_transcripts(path / f"{result.grammar}.txt", "kaldi")
        spoken = self.found.corpora[result.split].text
        return {name: spoken[name] for name in recognised}, recognised

    def _read(self, steps: Mapping[str, Step], split: str) -> SpeechData:
        """Return the usable recordings of a split."""
        parts = {"task": "task", "words": "words", split: f"features-{split}"}
        return read_speech({part: self.path(steps[name]) for part, name in parts.items()})

    def _check_usable(self, data: Mapping[str, SpeechData]) -> None:
        """Raise an error if more of the whole corpus is left out than may be."""
        n_all, most = self.found.n_utterances, self.config.most_unusable
        used = {split: set(part.corpus.ids) for split, part in data.items()}
        left_out = [f"{s}/{i}" for s in used for i in self.found.corpora[s].ids if i not in used[s]]
        if len(left_out) > most * n_all:
            leave_out("recordings cannot be used", left_out, len(left_out), n_all, most)

    def _seconds(self, data: SpeechData) -> dict[str, float]:
        """Return the duration of each utterance by its id."""
        shift_s = self.config.front_end.shift_ms / 1000
        return {u.utterance_id: len(cepstra) * shift_s for u, cepstra in data}

    def _lexicon(self, steps: Mapping[str, Step]) -> Lexicon:
        return read_lexicon({"lexicon": self.path(steps.get("pronunciations", steps["words"]))})

    def _rows(self, model: str, steps: Mapping[str, Step]) -> Iterator[Result]:
        """Yield the rows of one model, of the splits that there are."""
        for split, name in (("dev", f"tuning-{model}"), ("test", f"test-{model}")):
            if split in self.found.splits:
                path = self.evaluated[model, split] = self.path(steps[name])
                yield from read_rows(path, self.found.grammars, model=model, preset=self.preset, split=split)

    def _list_suspicious(
        self, steps: Mapping[str, Step], systems: Mapping[str, System], *, briefly: bool
    ) -> None:
        """Write what looks as if it were wrong in any split, and say how much there is."""
        judge, final = judge_of(systems.values(), self.config), final_splits(self.found, self.config)
        names = [on_splits(f"fit-{judge.n_components}", final)]
        names += [f"judged-{split}" for split in self.found.splits if split not in final]
        judged = [read_suspicious(self.path(steps[name])) for name in names]
        found, n_utterances = in_order(s for rows, _ in judged for s in rows), sum(n for _, n in judged)
        write_suspicious(found, n_utterances, self.out)
        if not briefly and (line := verdict(len(found), n_utterances)):
            say(f"{line}: asr validate {self.out} --suspicious")

    def _warn_of_another_corpus(self) -> None:
        """Warn that results of another corpus are about to be replaced."""
        if not any((self.out / name).exists() for name in (RESULTS, MODELS)):
            return  # an earlier run was stopped before there were any
        path = self.out / CONFIG
        before = read_object(path).get("corpus") if path.is_file() else None
        if before is not None and self.corpus_dir is not None and before != str(self.corpus_dir.absolute()):
            logger.warning("%s was trained from %s; its results are replaced", self.out, before)

    def _warn_of_changes(self) -> None:
        """Warn that the corpus is no longer what these results are of."""
        source: Source = self.begun[0].arguments["source"]
        if changed := source.changed():
            logger.warning(
                "%s: changed after the corpus was read; these results are of what was there before; run the "
                "same command again for those of what is there now",
                listed(changed, 5),
            )

    def _warn_of_splits(self, systems: Mapping[str, System]) -> None:
        """Warn of what the splits do not allow, and of what makes the figures of dev or test misleading."""
        if "dev" not in self.found.splits:
            logger.warning("there is no dev set: the decoder's weights are not tuned")
            for way in dict.fromkeys(s.way for s in systems.values() if isinstance(s, HybridSystem)):
                if values := values_of(way, self.config):
                    named = ", ".join(values)
                    logger.warning("%s: no dev set to choose %s on; they are used as configured", way, named)
        for first, second in combinations(SPLITS, 2):
            shared = sorted(_stretches(self.found.corpora[first]) & _stretches(self.found.corpora[second]))
            if shared:
                logger.warning(
                    "%d recording(s) are in %s and in %s, such as %s: figures of %s are too good",
                    len(shared),
                    first,
                    second,
                    shared[0][0],
                    second,
                )

    def _tell_of_letters(self) -> None:
        """Say why words are learned by their letters, or that a choice changes nothing."""
        wanted, found = self.config.without_lexicon, self.found
        if found.lexicon == "lexicon" and wanted == "words":
            logger.warning("without_lexicon=words changes nothing: the corpus brings a lexicon.txt")
        elif found.lexicon == "letters" and wanted == "auto" and found.why_letters:
            say(f"without a lexicon, words are learned by their letters: {found.why_letters}")

    def _write_config(self, models: Sequence[str]) -> None:
        corpus = str(self.corpus_dir.absolute()) if self.corpus_dir else None
        record = {"recipe": self.loaded.name, "corpus": corpus, "models": models, "preset": self.preset}
        script = {"script": self.loaded.script} if self.loaded.script else {}
        write_json(self.out / CONFIG, {**record, **script, "config": self.config})


def settings_as_begun(
    loaded: LoadedRecipe, corpus: str | Path | None, out: Path, settings: Sequence[str]
) -> tuple[str, ...]:
    """Return the settings, and with them who speaks as an experiment was begun, if they do not say it.

    That is kept where the same corpus was trained from into ``out`` before, and a line says so.
    """
    given = tuple(settings)
    path = out / CONFIG
    if (
        corpus is None
        or not loaded.recipe.asks_for_speakers
        or any(split_setting(setting)[0] == "speakers" for setting in given)
        or not path.is_file()
    ):
        return given
    record: Mapping[str, Any] = {}
    with suppress(AsrError):  # a damaged file is about to be replaced
        record = read_object(path)
    begun = record.get("config")
    before = begun.get("speakers") if isinstance(begun, dict) else None
    usual = loaded.recipe.config.speakers
    is_same = Path(str(record.get("corpus"))).resolve() == Path(corpus).resolve()
    if not is_same or before == usual or before not in get_args(Speakers):
        return given
    say(f"speakers: {before}, as this experiment was begun; --set speakers={usual} changes it")
    return (*given, f"speakers={before}")


def default_out(recipe: str, corpus: Path | None) -> Path:
    """Return where an experiment goes for which nothing else is said: ``exp/NAME``, and say so.

    NAME is that of the recordings, or of the recipe that knows its corpus. That something else lies there is
    an error: nothing that was not named is replaced.
    """
    if not (is_known_recipe(recipe) or recipe.endswith(".py")):
        load_recipe(recipe)  # an error
    is_own = recipe == "folder" and corpus is not None
    named = corpus.resolve() if is_own and corpus is not None else Path(recipe)
    out = Path("exp") / (named.name if named.is_dir() else named.stem)
    records = [read_object(out / name) for name in (CONFIG, SWEEP) if (out / name).is_file()]
    wanted = None if corpus is None else corpus.resolve()
    found = [(r.get("recipe"), Path(r["corpus"]).resolve() if r.get("corpus") else None) for r in records]
    others = [r for r, each in zip(records, found, strict=True) if each != (Path(recipe).stem, wanted)]
    if others:
        what = f"an experiment of {others[0].get('corpus') or 'the recipe ' + str(others[0].get('recipe'))}"
    elif not records and out.exists() and not (out / STAGES).is_dir():
        what = "something else"
    else:
        say(f"no --out is given: models and results go into {out}")
        return out
    raise ConfigError(
        f"{out}: holds {what}, expected a new place or one of {wanted or recipe}; choose another with --out"
    )


def tell_of_changes(outlook: Sequence[Outlook], root: Path) -> None:
    """Say which steps were made before, and are made again, and why."""
    again = [each for each in outlook if each.is_again]
    if not again:
        return
    whys: dict[str, list[str]] = {}
    for each in again:
        whys.setdefault(each.why, []).append(each.step.name)
    first = {why: names for why, names in whys.items() if not why.startswith("made from")}
    n_following = len(again) - sum(map(len, first.values()))
    said = [f"{listed(names, 5)} ({why})" for why, names in first.items()]
    if n_following:
        said.append(f"{n_following} that follow from them, unless these come out as before")
    say(
        f"{len(again)} of {len(outlook)} steps are made again: {'; '.join(said)}; "
        f"asr clean {root} removes what is not needed once this run is done"
    )


def _stretches(corpus: Corpus) -> set[tuple[str, float]]:
    """Return the recordings, and the start in each, that a corpus is made of."""
    return {(str(u.audio_path), u.start_s) for u in corpus}


def _is_same_model(one: Path, other: Path) -> bool:
    """Return whether two directories hold the same acoustic model."""
    names = (JSON_NAME, TENSORS_NAME)
    return all((other / name).is_file() for name in names) and all(
        file_digest(one / name) == file_digest(other / name) for name in names
    )


def _check_place(target: Path) -> None:
    """Raise an error if what lies in the place of a model is none: it would make way for the model."""
    if not target.exists() or (target / RECORD).is_file():
        return
    if not target.is_dir() or any(target.iterdir()):
        raise ExperimentError(
            f"{target}: no model of a training, expected one or nothing, for a model will take its place; "
            "move it away, or choose another --out"
        )


def _remove_earlier(earlier: Path, target: Path) -> None:
    """Remove a model whose place another one has taken, but what somebody else has put beside it."""
    for path in earlier.iterdir():
        is_ours = path.is_file() and (path.suffix in _SUFFIXES or path.name in _TEXTS)
        if not is_ours and not (target / path.name).exists():
            put_in_place(path, target / path.name)
    shutil.rmtree(earlier, ignore_errors=True)


def _publish(source: Path, target: Path, data: DataRecord) -> None:
    """Put a copy of a finished recogniser in its place, with what it was made from, whole or not at all.

    Who decodes with the model meanwhile finds the one of before or this one, never half of one.
    """
    target = target.resolve()  # a link stays one
    target.parent.mkdir(parents=True, exist_ok=True)
    partial, earlier = (target.with_name(f".{target.name}{end}.partial") for end in ("", ".earlier"))
    if earlier.is_symlink():
        earlier.unlink()
    if earlier.is_dir() and not target.exists():  # a run was killed between the two renames below
        put_in_place(earlier, target)
    elif earlier.is_dir():  # or after them
        _remove_earlier(earlier, target)
    shutil.rmtree(partial, ignore_errors=True)
    try:
        shutil.copytree(source, partial)
        write_data(data, partial)
        if _is_same_model(source, target):
            copy_chosen(target, partial)
        if target.is_dir() and directory_digest(partial) == directory_digest(target):
            return  # nobody who reads it is disturbed
        if target.exists():  # removed in place, it would be half a model for a while
            put_in_place(target, earlier)
        put_in_place(partial, target)
        if earlier.exists():
            _remove_earlier(earlier, target)
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
    settings = settings_as_begun(loaded, corpus, out, settings)
    config = with_settings(with_preset(loaded.recipe.config, preset, loaded.recipe.thesis), settings)
    check_settings(settings, {name: find_system(name, preset) for name in models}, config)
    if config.speakers != "auto" and not loaded.recipe.asks_for_speakers:
        raise ConfigError(
            f'speakers={config.speakers}: the recipe "{loaded.name}" knows who speaks, expected one that '
            "asks, such as folder; leave it out"
        )
    return Experiment(loaded, Path(corpus) if corpus is not None else None, out, config, preset, store)
