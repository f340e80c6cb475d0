"""The stages that tune, assemble and evaluate a recogniser."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acoustic.model import AcousticModel, load_model
from asr.corpora.corpus import Corpus
from asr.corpora.speech_data import SpeechData
from asr.corpora.wording import spelling
from asr.decoding.model_directories import CURVES, TRAINED_ON, write_recognizer
from asr.decoding.tuning import TunedDecoding, tune
from asr.errors import ExperimentError
from asr.files import as_stage_wrote, read_object, write_json
from asr.formats.transcripts import write_transcripts
from asr.language.grammars import has_lm_scale, read_grammar
from asr.recognizer import Recognizer
from asr.scoring.results import Result
from asr.scoring.scoring import accuracy_of
from asr.spotting.learning import learned_rule
from asr.spotting.rejection import USUAL_REJECTION, as_kept
from asr.stages.store import StageOutput
from asr.stages.task import TaskStages
from asr.systems import GrammarName
from asr.transcribe import ScoredSpeech, Scores, adapted, scored_speech
from decoder.decoder import Decoder, DecoderConfig, Hypothesis
from foundation.records import record_of

_TUNED, _FIRST_PASS = "{}.json", "{}-first-pass.json"  # weights of a grammar


class DecodingStages:
    """The stages that follow the training of an acoustic model."""

    def __init__(self, task: TaskStages) -> None:
        self.task = task
        self.store = task.store
        self.config = task.config

    @property
    def _decoder(self) -> DecoderConfig:
        """The decoder's configuration before its weights are tuned."""
        return self.config.decoder.decoder(self.config.front_end.shift_ms / 1000)

    def tuning(self, name: str, model: StageOutput, *, learns_rejection: bool = True) -> StageOutput:
        """Return the decoder weights of each grammar, tuned on dev, and the word accuracy with them.

        With them goes the rule that says which words were not spoken, unless nobody will ask for it.
        """
        grammars = self.task.grammar_files(("train",))

        def compute(directory: Path) -> None:
            data, acoustic_model = self.task.data(("dev",)), load_model(model.path)
            speech = scored_speech(data.cepstra, data.speakers, acoustic_model, data.corpus.ids)
            for grammar in self.task.grammars:
                loaded = read_grammar(grammar, grammars.path, self.task.lexicon)
                decoder = Decoder(self.task.lexicon, loaded, acoustic_model.topology, self._decoder)
                self._tune_one(directory, (name, grammar), decoder, data.corpus, speech, acoustic_model)
            if learns_rejection:
                self._learn_rejection(directory, (name, grammar), decoder, data, acoustic_model)

        return self.store.run(
            f"tuning-{name}",
            compute,
            inputs={"model": model, "grammars": grammars, **self.task.digests(("dev",))},
            config={
                "tuning": self.config.tuning,
                "decoder": self.config.decoder,
                "grammars": self.task.grammars,
                "learns_rejection": learns_rejection,
            },
        )

    def recognizer(
        self,
        name: str,
        model: StageOutput,
        tuning: StageOutput,
        splits: Sequence[str],
        fit: StageOutput | None = None,
    ) -> StageOutput:
        """Return all that decoding needs, in one directory; with a ``fit``, alignments have confidences."""
        grammars = self.task.grammar_files(splits)

        def compute(directory: Path) -> None:
            acoustic_model = load_model(model.path)
            options = self._options(tuning.path, _TUNED)
            adapts, default = acoustic_model.adaptation is not None, self.task.grammars[-1]
            first_pass = self._options(tuning.path, _FIRST_PASS) if adapts else {}
            write_recognizer(
                directory,
                acoustic_model,
                self.task.lexicon,
                options,
                first_pass,
                default,
                text=self.config.text,
                spelling=spelling(self.task.corpus(split) for split in splits),
            )
            heard = [u.utterance_id for split in splits for u in self.task.corpus(split)]
            write_json(directory / TRAINED_ON, sorted(heard))
            if fit is not None:
                shutil.copyfile(fit.path / CURVES, directory / CURVES)
            if (tuning.path / USUAL_REJECTION).is_file():
                shutil.copyfile(tuning.path / USUAL_REJECTION, directory / USUAL_REJECTION)
            for file in sorted(grammars.path.iterdir()):
                if file.suffix in (".arpa", ".slf", ".txt"):
                    shutil.copyfile(file, directory / file.name)

        # The lexicon and the ids of the utterances are of the task.
        made_from: dict[str, str | StageOutput] = {
            "model": model,
            "tuning": tuning,
            "grammars": grammars,
            **self.task.digests(splits),
            **({} if fit is None else {"fit": fit}),
        }
        config = {
            "decoder": self.config.decoder,
            "grammars": self.task.grammars,
            "text": self.config.text,
        }
        return self.store.run(f"recognizer-{name}", compute, inputs=made_from, config=config)

    def evaluation(self, name: str, recognizer: StageOutput) -> StageOutput:
        """Return words and word accuracy of the test set for each grammar."""

        def compute(directory: Path) -> None:
            data = self.task.data(("test",))
            speech = scored_speech(data.cepstra, data.speakers, load_model(recognizer.path), data.corpus.ids)
            for grammar in self.task.grammars:
                decoded = Recognizer.load(recognizer.path, grammar=grammar).decode(speech)
                _write_accuracy(directory, grammar, data.corpus, decoded)

        return self.store.run(
            f"test-{name}", compute, inputs={"recognizer": recognizer, **self.task.digests(("test",))}
        )

    def rows(self, output: StageOutput, *, model: str, preset: str, split: str) -> list[Result]:
        """Return the rows of ``results.json`` from a tuning (dev) or an evaluation (test)."""
        named = {"model": model, "preset": preset, "split": split}
        return [_row(output.path / f"score-{grammar}.json", named) for grammar in self.task.grammars]

    def _options(self, tuning: Path, file: str) -> dict[GrammarName, dict[str, Any]]:
        """Return the decoder options of each grammar with the weights in a tuning's files."""
        return {g: asdict(_weighted(self._decoder, tuning / file.format(g))) for g in self.task.grammars}

    def _tune_one(
        self,
        directory: Path,
        names: tuple[str, GrammarName],
        decoder: Decoder,
        corpus: Corpus,
        speech: ScoredSpeech,
        model: AcousticModel,
    ) -> None:
        """Tune one model's decoder for one grammar; write the weights, all trials, and the word accuracy."""
        grammar = names[1]

        def tuned(scores: Scores, label: str) -> TunedDecoding:
            references, with_lm_scale = [u.spoken for u in corpus], has_lm_scale(grammar)
            tuning = self.config.tuning
            return tune(decoder, scores, references, tuning, with_lm_scale=with_lm_scale, label=label)

        found, decoded = tuned(speech.scores, f"tuning {', '.join(names)}")
        if model.adaptation is not None:
            write_json(directory / _FIRST_PASS.format(grammar), asdict(found))
            speech = adapted(speech, model, decoder.with_config(**found.weights), self.task.lexicon)
            found, decoded = tuned(speech.scores, f"tuning {', '.join(names)}, adapted")
        write_json(directory / _TUNED.format(grammar), asdict(found))
        if len(corpus):
            _write_accuracy(directory, grammar, corpus, decoded)

    def _learn_rejection(
        self,
        directory: Path,
        names: tuple[str, GrammarName],
        decoder: Decoder,
        data: SpeechData,
        model: AcousticModel,
    ) -> None:
        """Learn on dev which words of one grammar were spoken, and write the rule if there is enough."""
        adapts = model.adaptation is not None
        tuned, first = (
            decoder.with_config(**asdict(_weighted(self._decoder, directory / file.format(names[1]))))
            for file in (_TUNED, _FIRST_PASS if adapts else _TUNED)
        )
        recognizer = Recognizer(
            names[0], model, self.task.lexicon, names[1], tuned, first_pass=first if adapts else None
        )
        if len(data.corpus) and (found := learned_rule(recognizer, data)):
            write_json(directory / USUAL_REJECTION, as_kept(found))


def _row(path: Path, named: Mapping[str, str]) -> Result:
    """Return the row that `_write_accuracy` wrote, of a model, preset and split."""
    with as_stage_wrote(path):
        return record_of(Result, {**read_object(path), **named}, ExperimentError)


def _weighted(decoder: DecoderConfig, path: Path) -> DecoderConfig:
    """Return a decoder's configuration with the weights in a file of a tuning."""
    with as_stage_wrote(path):
        return record_of(
            DecoderConfig, {**asdict(decoder), **read_object(path)["weights"]}, ExperimentError, "weights."
        )


def _write_accuracy(
    directory: Path, grammar: GrammarName, corpus: Corpus, decoded: Sequence[Hypothesis]
) -> None:
    """Write the words of a split (Kaldi text) and their accuracy."""
    texts = {i: h.text for i, h in zip(corpus.ids, decoded, strict=True)}
    write_transcripts(directory / f"{grammar}.txt", texts)
    incomplete = sum(not h.complete for h in decoded)
    accuracy = accuracy_of(corpus, decoded)
    row = Result.of(accuracy, model="", preset="", split="", grammar=grammar, incomplete=incomplete)
    write_json(directory / f"score-{grammar}.json", asdict(row))
