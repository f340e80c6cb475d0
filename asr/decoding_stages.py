"""The stages that tune, assemble and evaluate a recogniser."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from acoustic.model import load_model
from asr.config import GrammarName
from asr.data import SpeechData
from asr.evaluation import Scores, decode_corpus, emission_scores, score_decoded
from asr.grammars import has_lm_scale, read_grammar
from asr.recognizer import TRAINED_ON, Recognizer, write_recognizer
from asr.results import Result
from asr.stages import StageOutput, read_json, write_json
from asr.task_stages import TaskStages
from asr.transcripts import write_transcripts
from asr.tuning import tune
from decoder.decoder import Decoder


class DecodingStages:
    """What follows a trained acoustic model."""

    def __init__(self, task: TaskStages) -> None:
        self.task = task
        self.store = task.store
        self.config = task.config

    def tuning(self, name: str, model: StageOutput) -> StageOutput:
        """Return the decoder weights of each grammar, tuned on dev, and the dev score with them."""
        grammars = self.task.grammar_files(("train",))

        def compute(directory: Path) -> None:
            data, acoustic_model = self.task.data(("dev",)), load_model(model.path)
            scores = emission_scores(data, acoustic_model)
            for grammar in self.task.grammars:
                loaded = read_grammar(grammar, grammars.path, self.task.lexicon)
                decoder = Decoder(self.task.lexicon, loaded, acoustic_model.topology, self.config.decoder)
                self._tune_one(directory, name, grammar, decoder, data, scores)

        return self.store.run(
            f"tuning-{name}",
            compute,
            inputs={"model": model.digest, "grammars": grammars.digest, **self.task.digests(("dev",))},
            config={
                "tuning": self.config.tuning,
                "decoder": self.config.decoder,
                "grammars": self.task.grammars,
            },
        )

    def recognizer(
        self, name: str, model: StageOutput, tuning: StageOutput, splits: Sequence[str]
    ) -> StageOutput:
        """Return all that decoding needs, in one directory."""
        grammars = self.task.grammar_files(splits)

        def compute(directory: Path) -> None:
            shift_s = self.config.front_end.mfcc.shift_ms / 1000
            options = {}
            for grammar in self.task.grammars:
                weights = read_json(tuning.path / f"{grammar}.json")["weights"]
                options[grammar] = asdict(replace(self.config.decoder, frame_shift_s=shift_s, **weights))
            write_recognizer(
                directory, load_model(model.path), self.task.lexicon, options, self.task.grammars[-1]
            )
            heard = [u.utterance_id for split in splits for u in self.task.corpus(split)]
            write_json(directory / TRAINED_ON, sorted(heard))
            for file in sorted(grammars.path.iterdir()):
                if file.suffix in (".arpa", ".txt"):
                    shutil.copyfile(file, directory / file.name)

        inputs = {"model": model.digest, "tuning": tuning.digest, "grammars": grammars.digest}
        config = {"decoder": self.config.decoder, "grammars": self.task.grammars}
        return self.store.run(f"recognizer-{name}", compute, inputs=inputs, config=config)

    def evaluation(self, name: str, recognizer: StageOutput) -> StageOutput:
        """Return words and score of the test set for each grammar."""

        def compute(directory: Path) -> None:
            data = self.task.data(("test",))
            scores = emission_scores(data, load_model(recognizer.path))
            for grammar in self.task.grammars:
                decoder = Recognizer.load(recognizer.path, grammar=grammar).decoder
                _write_score(directory, grammar, decoder, data, scores)

        inputs = {"recognizer": recognizer.digest, **self.task.digests(("test",))}
        return self.store.run(f"test-{name}", compute, inputs=inputs)

    def rows(self, output: StageOutput, *, model: str, preset: str, split: str) -> list[Result]:
        """Return the rows of ``results.json`` from a tuning (dev) or an evaluation (test)."""
        rows = [read_json(output.path / f"score-{grammar}.json") for grammar in self.task.grammars]
        named = {"model": model, "preset": preset, "split": split}
        return [Result(**{**row, **named, "interval": tuple(row["interval"])}) for row in rows]

    def _tune_one(
        self,
        directory: Path,
        name: str,
        grammar: GrammarName,
        decoder: Decoder,
        data: SpeechData,
        scores: Scores,
    ) -> None:
        """Tune one grammar; write the weights, all trials, and the dev score."""
        tuned = tune(
            decoder,
            scores,
            [u.words for u in data.corpus],
            self.config.tuning,
            with_lm_scale=has_lm_scale(grammar),
            label=f"tuning {name}, {grammar}",
        )
        write_json(directory / f"{grammar}.json", asdict(tuned))
        if len(data.corpus):
            _write_score(directory, grammar, decoder.with_config(**tuned.weights), data, scores)


def _write_score(
    directory: Path, grammar: GrammarName, decoder: Decoder, data: SpeechData, scores: Scores
) -> None:
    """Decode a split and write the words (Kaldi text) and the score."""
    decoded = decode_corpus(data, decoder, scores)
    write_transcripts(directory / f"{grammar}.txt", {i: h.text for i, h in decoded.items()})
    incomplete = sum(not h.complete for h in decoded.values())
    score = score_decoded(data.corpus, decoded)
    row = Result.of(score, model="", preset="", split="", grammar=grammar, incomplete=incomplete)
    write_json(directory / f"score-{grammar}.json", asdict(row))
