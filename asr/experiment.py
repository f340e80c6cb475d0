"""An experiment: a recipe's stages in their order, resumed by themselves, ending in ``results.json``.

Directory ``EXP``: ``config.json`` (resolved), ``log.txt``, ``stages/`` (see `asr.stages`), ``models/NAME/`` (all a
recogniser needs), ``default.json``, ``results.json``.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from acoustic.model import AcousticModel, load_model, save_model
from asr.config import ExperimentConfig, GrammarName
from asr.corpus import SPLITS, Corpus, read_corpus
from asr.data import SpeechData, compute_cepstra, load_cepstra, save_cepstra
from asr.errors import ConfigError, CorpusError
from asr.evaluation import decode_corpus, emission_scores, score_decoded
from asr.gmm_stages import align_data, check_vocabulary, fit_front_end, start_flat, start_projected, train_components
from asr.grammars import grammar_names, has_lm_scale, read_grammar, write_grammar
from asr.logs import log_file
from asr.recipe import LoadedRecipe
from asr.recognizer import DEFAULT_MODEL, MODELS, Recognizer, write_recognizer
from asr.results import Result, write_results
from asr.stages import StageOutput, StageStore, as_plain, read_json, source_digest, write_json
from asr.systems import GmmSystem, find_system
from asr.transcripts import write_transcripts
from asr.tuning import tune
from decoder.decoder import Decoder
from decoder.lexicon import Lexicon

logger = logging.getLogger(__name__)

_ALIGNER = GmmSystem(8)  # labels of the discriminant projection


class Experiment:
    """The stages of one recipe on one corpus; each method returns a stage's output and runs it if need be.

    Parameters
    ----------
    loaded : the recipe
    corpus_dir : raw corpus, None if the recipe makes its own
    out : experiment directory
    config : resolved configuration
    preset : its name, for the results
    """

    def __init__(
        self, loaded: LoadedRecipe, corpus_dir: Path | None, out: Path, config: ExperimentConfig, preset: str
    ) -> None:
        self.loaded = loaded
        self.corpus_dir = corpus_dir
        self.out = out
        self.config = config
        self.preset = preset
        self.store = StageStore(out)

    def run(self, models: Sequence[str]) -> tuple[Result, ...]:
        """Train, tune and evaluate models; return the rows of ``results.json``."""
        systems = {name: find_system(name) for name in models}
        with self.store.locked(), log_file(self.out / "log.txt"):
            self._write_config(models)
            results = [row for name, system in systems.items() for row in self._run_model(name, system)]
            write_json(self.out / DEFAULT_MODEL, {"model": _best_model(results)})
            write_results(results, self.out, synthetic=self.loaded.recipe.is_synthetic)
        return tuple(results)

    # ── data ──────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def task(self) -> StageOutput:
        """``train``, ``dev``, ``test``, ``lexicon.txt`` and grammar files, made by the recipe."""
        source = source_digest(self.corpus_dir) if self.corpus_dir else ""
        corpus_dir = self.corpus_dir or self.out
        return self.store.run(
            "task",
            lambda directory: self.loaded.recipe.prepare(corpus_dir, directory),
            inputs={"corpus": source, "recipe": self.loaded.source},
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """The task's lexicon."""
        return Lexicon.read(self.task.path / "lexicon.txt")

    @cached_property
    def grammars(self) -> tuple[GrammarName, ...]:
        """The grammars that are evaluated."""
        return grammar_names(self.config.grammars, self.task.path)

    def corpus(self, split: str) -> Corpus:
        """Return a split, empty where the task has none."""
        directory = self.task.path / split
        return read_corpus(directory) if directory.is_dir() else Corpus(())

    def features(self, split: str) -> StageOutput:
        """Cepstra of one split."""
        corpus = self.corpus(split)

        def compute(directory: Path) -> None:
            save_cepstra(compute_cepstra(corpus, self.config.front_end, f"features of {split}"), directory, split)

        return self.store.run(
            f"features-{split}",
            compute,
            inputs={"task": self.task.digest, "recordings": _recordings_digest(corpus, self.task.path)},
            config=self.config.front_end.mfcc,
        )

    def data(self, splits: Sequence[str]) -> SpeechData:
        """Return the utterances and cepstra of some splits together."""
        total = SpeechData(Corpus(()), ())
        for split in splits:
            corpus = self.corpus(split)
            if len(corpus):
                total = total + load_cepstra(corpus, self.features(split).path, split)
        return total

    def _data_digests(self, splits: Sequence[str]) -> dict[str, str]:
        return {"task": self.task.digest, **{s: self.features(s).digest for s in splits if len(self.corpus(s))}}

    # ── acoustic models ───────────────────────────────────────────────────────────────────────────────────────

    def gmm(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """The acoustic model of a system trained on some splits."""
        schedule = self.config.gmm.mixtures
        if system.n_components not in schedule:
            raise ConfigError(
                f"gmm.mixtures is {', '.join(map(str, schedule))}; expected {system.n_components} among them for this model"
            )
        output = self._start(system, splits)
        for stage, n_components in enumerate(schedule[: schedule.index(system.n_components) + 1]):
            output = self._components(system, splits, output, stage)
        return output

    def alignment(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """The state of each training frame by a system's model."""
        model = self.gmm(system, splits)

        def compute(directory: Path) -> None:
            data = self.data(splits)
            alignments, failures = align_data(data, load_model(model.path), self.lexicon, self.config.gmm.beam)
            unknown = [np.full(len(c), -1, np.int32) for c in data.cepstra]
            labels = [u if a is None else a.states for a, u in zip(alignments, unknown, strict=True)]
            with open(directory / "states.npy", "wb") as file:
                np.save(file, np.concatenate(labels))
            write_json(directory / "failures.json", failures)

        inputs = {"model": model.digest, **self._data_digests(splits)}
        return self.store.run(_name("alignment", system, splits), compute, inputs=inputs, config=self.config.gmm.beam)

    def _start(self, system: GmmSystem, splits: Sequence[str]) -> StageOutput:
        """The model a training begins with."""
        front_end = replace(self.config.front_end, projection=system.projection)
        inputs = self._data_digests(splits)
        if system.projection == "none":

            def compute(directory: Path) -> None:
                data = self.data(splits)
                check_vocabulary(data, self.lexicon)
                save_model(start_flat(data, fit_front_end(front_end, data), self.lexicon), directory)

        else:
            aligner, alignment = self.gmm(_ALIGNER, splits), self.alignment(_ALIGNER, splits)
            inputs |= {"aligner": aligner.digest, "alignment": alignment.digest}

            def compute(directory: Path) -> None:
                data = self.data(splits)
                bounds = np.cumsum([len(c) for c in data.cepstra])[:-1]
                labels = np.split(np.load(alignment.path / "states.npy"), bounds)
                save_model(start_projected(data, load_model(aligner.path), labels, front_end), directory)

        return self.store.run(_name(f"start-{system.projection}", None, splits), compute, inputs=inputs, config=front_end)

    def _components(
        self, system: GmmSystem, splits: Sequence[str], start: StageOutput, stage: int
    ) -> StageOutput:
        """One training stage with a fixed number of Gaussians."""
        gmm = self.config.gmm
        n_components = gmm.mixtures[stage]
        n_iterations = gmm.iterations[min(stage, len(gmm.iterations) - 1)]

        def compute(directory: Path) -> None:
            model, history = train_components(
                self.data(splits), load_model(start.path), self.lexicon, n_components, n_iterations, gmm
            )
            save_model(model, directory)
            write_json(directory / "history.json", [step._asdict() for step in history])

        return self.store.run(
            _name(f"gmm-{system.projection}-{n_components}", None, splits),
            compute,
            inputs={"start": start.digest, **self._data_digests(splits)},
            config={**asdict(gmm), "mixtures": n_components, "iterations": n_iterations},
        )

    # ── decoding ──────────────────────────────────────────────────────────────────────────────────────────────

    def grammar_files(self, splits: Sequence[str]) -> StageOutput:
        """The grammars, n-grams from the text of some splits."""

        def compute(directory: Path) -> None:
            sentences = [u.words for split in splits for u in self.corpus(split)]
            for name in self.grammars:
                write_grammar(
                    name, directory, task_dir=self.task.path, sentences=sentences, lexicon=self.lexicon
                )

        return self.store.run(
            _name("grammars", None, splits), compute, inputs={"task": self.task.digest}, config=self.grammars
        )

    def tuning(self, name: str, model: StageOutput) -> StageOutput:
        """Decoder weights of each grammar, tuned on dev, and the dev score with them."""
        grammars = self.grammar_files(("train",))
        config = self.config

        def compute(directory: Path) -> None:
            data, acoustic_model = self.data(("dev",)), load_model(model.path)
            scores = emission_scores(data, acoustic_model)
            references = [u.words for u in data.corpus]
            for grammar in self.grammars:
                decoder = Decoder(
                    self.lexicon, read_grammar(grammar, grammars.path, self.lexicon), acoustic_model.topology, config.decoder
                )
                tuned = tune(
                    decoder,
                    scores,
                    references,
                    config.tuning,
                    with_lm_scale=has_lm_scale(grammar),
                    label=f"tuning {name}, {grammar}",
                )
                write_json(directory / f"{grammar}.json", asdict(tuned))
                self._write_score(directory, grammar, decoder.with_config(**tuned.weights), data, scores)

        return self.store.run(
            f"tuning-{name}",
            compute,
            inputs={"model": model.digest, "grammars": grammars.digest, **self._data_digests(("dev",))},
            config={"tuning": config.tuning, "decoder": config.decoder},
        )

    def evaluation(self, name: str, recognizer: StageOutput) -> StageOutput:
        """Words and score of the test set for each grammar."""

        def compute(directory: Path) -> None:
            data = self.data(("test",))
            scores = emission_scores(data, load_model(recognizer.path))
            for grammar in self.grammars:
                decoder = Recognizer.load(recognizer.path, grammar=grammar).decoder
                self._write_score(directory, grammar, decoder, data, scores)

        inputs = {"recognizer": recognizer.digest, **self._data_digests(("test",))}
        return self.store.run(f"test-{name}", compute, inputs=inputs)

    def recognizer(self, name: str, model: StageOutput, tuning: StageOutput, splits: Sequence[str]) -> StageOutput:
        """All that decoding needs, in one directory."""
        grammars = self.grammar_files(splits)

        def compute(directory: Path) -> None:
            weights = {g: read_json(tuning.path / f"{g}.json")["weights"] for g in self.grammars}
            shift_s = self.config.front_end.mfcc.shift_ms / 1000
            options = {
                g: asdict(replace(self.config.decoder, frame_shift_s=shift_s, **weights[g])) for g in self.grammars
            }
            write_recognizer(directory, load_model(model.path), self.lexicon, options, self.grammars[-1])
            for file in grammars.path.iterdir():
                if file.suffix in (".arpa", ".txt"):
                    shutil.copyfile(file, directory / file.name)

        inputs = {"model": model.digest, "tuning": tuning.digest, "grammars": grammars.digest}
        return self.store.run(f"recognizer-{name}", compute, inputs=inputs, config=self.config.decoder)

    def _run_model(self, name: str, system: GmmSystem) -> list[Result]:
        """Train, tune, publish and evaluate one model."""
        has_dev, has_test = len(self.corpus("dev")) > 0, len(self.corpus("test")) > 0
        on_train = self.gmm(system, ("train",))
        tuning = self.tuning(name, on_train)
        splits = ("train", "dev") if self.config.retrain_with_dev and has_dev else ("train",)
        final = self.gmm(system, splits)
        recognizer = self.recognizer(name, final, tuning, splits)
        _publish(recognizer.path, self.out / MODELS / name)
        rows = self._rows(name, "dev", tuning.path) if has_dev else []
        return rows + (self._rows(name, "test", self.evaluation(name, recognizer).path) if has_test else [])

    def _write_score(
        self, directory: Path, grammar: GrammarName, decoder: Decoder, data: SpeechData, scores: Any
    ) -> None:
        """Decode a split and write the words and the score."""
        if not len(data.corpus):
            return
        decoded = decode_corpus(data, decoder, scores)
        write_transcripts(directory / f"{grammar}.txt", {i: h.text for i, h in decoded.items()})
        score = score_decoded(data.corpus, decoded)
        row = Result.of(
            score,
            model="",
            preset="",
            split="",
            grammar=grammar,
            incomplete=sum(not h.complete for h in decoded.values()),
        )
        write_json(directory / f"score-{grammar}.json", asdict(row))

    def _rows(self, name: str, split: str, directory: Path) -> list[Result]:
        rows = [read_json(directory / f"score-{grammar}.json") for grammar in self.grammars]
        named = {"model": name, "preset": self.preset, "split": split}
        return [Result(**{**row, **named, "interval": tuple(row["interval"])}) for row in rows]

    def _write_config(self, models: Sequence[str]) -> None:
        write_json(
            self.out / "config.json",
            {
                "recipe": self.loaded.name,
                "corpus": str(self.corpus_dir.absolute()) if self.corpus_dir else None,
                "models": models,
                "preset": self.preset,
                "config": as_plain(self.config),
            },
        )


def _name(stage: str, system: GmmSystem | None, splits: Sequence[str]) -> str:
    """Return a stage's name; training on dev as well is said in it."""
    parts = [stage, *([str(system.n_components)] if system else []), *(s for s in splits if s != "train")]
    return "-".join(parts)


def _recordings_digest(corpus: Corpus, task_dir: Path) -> str:
    """Return a mark of all recordings that lie outside the task directory (those inside are part of its digest)."""
    lines = []
    for utterance in corpus:
        if not utterance.audio_path.is_relative_to(task_dir.absolute()):
            try:
                stat = utterance.audio_path.stat()
                lines.append(f"{utterance.audio_path} {stat.st_size} {stat.st_mtime_ns}")
            except OSError:
                lines.append(f"{utterance.audio_path} missing")
    return json.dumps(lines)


def _publish(source: Path, target: Path) -> None:
    """Put a copy of a finished recogniser in its place, whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(partial, target)


def _best_model(results: Sequence[Result]) -> str:
    """Return the model with the highest accuracy on dev (test if there is no dev), averaged over grammars."""
    split = "dev" if any(r.split == "dev" for r in results) else "test"
    names = list(dict.fromkeys(r.model for r in results))
    return max(names, key=lambda name: sum(r.word_accuracy for r in results if (r.model, r.split) == (name, split)))
