"""The steps from an acoustic model to results: tuning on dev, the whole recogniser, its test."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acoustic.hmm.graph import utterance_graph
from acoustic.model import AcousticModel, load_model
from asr.config import TuningConfig
from asr.corpora.corpus import SPLITS, Corpus
from asr.corpora.wording import spelling
from asr.errors import ExperimentError
from asr.files import as_stage_wrote, read_object, write_json
from asr.formats.model_directories import CURVES, TRAINED_ON, write_recognizer
from asr.formats.transcripts import write_transcripts
from asr.language.grammars import has_lm_scale, read_commands, read_grammar
from asr.recognizer import Recognizer
from asr.scoring.results import Result
from asr.scoring.scoring import accuracy_of
from asr.spotting.evidence import ScoredSound
from asr.spotting.learning import HeardTake, hear_take, learn_commands, learned_rule
from asr.spotting.rejection import COMMAND_RULE, USUAL_REJECTION, CommandRule, as_kept, command_rule_as_kept
from asr.systems import GrammarName
from asr.training.speech import Speech, read_corpus_of, read_left_out, read_lexicon, read_speech
from asr.training.tuning import TunedDecoding, tune
from asr.transcribe import ScoredSpeech, Scores, adapted, scored_speech
from decoder.decoder import Decoder, DecoderConfig, Hypothesis
from decoder.lexicon import Lexicon
from foundation.records import record_of

_TUNED, _FIRST_PASS = "{}.json", "{}-first-pass.json"  # weights of a grammar


def tune_decoder(
    directory: Path,
    dev: Speech,
    model: Path,
    grammars: Path,
    *,
    name: str,
    names: Sequence[GrammarName],
    decoder: DecoderConfig,
    tuning: TuningConfig,
    learns_rejection: bool,
) -> None:
    """Write the decoder weights of each grammar, tuned on dev, all trials, and the word accuracy with them.

    With them goes the rule that says which words were not spoken, unless nobody will ask for it, or there is
    too little to learn it from. Without a dev set the weights are those nearest to what suits most tasks.
    """
    data, trained, lexicon = read_speech(dev), load_model(model), read_lexicon(dev)
    speech = scored_speech(data.cepstra, data.speakers, trained, data.corpus.ids)
    for grammar in names:
        loaded = read_grammar(grammar, grammars, lexicon)
        with_grammar = Decoder(lexicon, loaded, trained.topology, decoder)
        _tune_one(directory, (name, grammar), with_grammar, data.corpus, speech, trained, tuning, lexicon)
    if learns_rejection and len(data.corpus):
        adapts = trained.adaptation is not None
        tuned, first = (
            with_grammar.with_config(**asdict(_weighted(decoder, directory / file.format(grammar))))
            for file in (_TUNED, _FIRST_PASS if adapts else _TUNED)
        )
        recognizer = Recognizer(name, trained, lexicon, grammar, tuned, first_pass=first if adapts else None)
        if found := learned_rule(recognizer, data):
            write_json(directory / USUAL_REJECTION, as_kept(found))


def _tune_one(
    directory: Path,
    names: tuple[str, GrammarName],
    decoder: Decoder,
    corpus: Corpus,
    speech: ScoredSpeech,
    model: AcousticModel,
    tuning: TuningConfig,
    lexicon: Lexicon,
) -> None:
    """Tune one model's decoder for one grammar; write the weights, all trials, and the word accuracy."""
    grammar = names[1]

    def tuned(scores: Scores, label: str) -> TunedDecoding:
        references, with_lm_scale = [u.spoken for u in corpus], has_lm_scale(grammar)
        return tune(decoder, scores, references, tuning, with_lm_scale=with_lm_scale, label=label)

    found, decoded = tuned(speech.scores, f"tuning {', '.join(names)}")
    if model.adaptation is not None:
        write_json(directory / _FIRST_PASS.format(grammar), asdict(found))
        speech = adapted(speech, model, decoder.with_config(**found.weights), lexicon)
        found, decoded = tuned(speech.scores, f"tuning {', '.join(names)}, adapted")
    write_json(directory / _TUNED.format(grammar), asdict(found))
    if len(corpus):
        _write_accuracy(directory, grammar, corpus, decoded)


def hear_commands(
    directory: Path,
    speech: Speech,
    grammars: Path,
    models: Mapping[str, Path],
    left_out: Mapping[str, Path],
) -> None:
    """Write what models hear in takes that did not train them, and the rule of what is no command.

    Parameters
    ----------
    directory : gets ``commands.json``
    speech : all takes
    grammars : with the list of commands
    models : model of each fold
    left_out : what each of them was not trained on, as ``models``; beside the fold that is what is unusable
    """
    data, lexicon, commands = read_speech(speech), read_lexicon(speech), read_commands(grammars)
    takes: list[HeardTake] = []
    for fold, of_left_out in zip(models, left_out.values(), strict=True):
        trained, ids = load_model(models[fold]), read_left_out(of_left_out)
        mine = data.without(set(data.corpus.ids) - ids)
        scored = scored_speech(mine.cepstra, mine.corpus.ids, trained)  # each by itself, as it is heard live
        graphs = [utterance_graph(lexicon.spoken(words), trained.topology) for words in commands]
        shift_s = trained.front_end.frame_shift_s
        for utterance, scores in zip(mine.corpus, scored.scores, strict=True):
            said = commands.index(utterance.spoken) if utterance.spoken in commands else None
            takes.append(hear_take(utterance.utterance_id, said, ScoredSound(scores, trained), graphs))
    rule = learn_commands(takes, commands, shift_s)
    kept = {} if rule is None else command_rule_as_kept(rule)
    write_json(
        directory / COMMAND_RULE,
        {
            **kept,
            "takes": [
                _as_told(t, commands[t.said], commands, rule, shift_s) for t in takes if t.said is not None
            ],
        },
    )


def _as_told(
    take: HeardTake,
    said: tuple[str, ...],
    commands: Sequence[tuple[str, ...]],
    rule: CommandRule | None,
    shift_s: float,
) -> dict[str, Any]:
    """Return what was heard in a take as JSON holds it."""
    heard = take.heard
    is_kept = heard is not None and (rule is None or rule.log_odds(heard, shift_s) >= rule.threshold)
    return {
        "id": take.utterance_id,
        "said": " ".join(said),
        "heard": "" if heard is None else " ".join(commands[heard.place]),
        "kept": is_kept,
    }


def assemble_recognizer(
    directory: Path,
    speech: Speech,
    model: Path,
    tuning: Path,
    grammars: Path,
    fit: Path | None = None,
    heard: Path | None = None,
    *,
    names: Sequence[GrammarName],
    decoder: DecoderConfig,
    text: str,
) -> None:
    """Write all that decoding needs into one directory; with a ``fit``, alignments have confidences."""
    trained = load_model(model)
    corpora = [read_corpus_of(speech["task"], speech["words"], s) for s in SPLITS if s in speech]
    first_pass = options_tuned(decoder, tuning, names, _FIRST_PASS) if trained.adaptation is not None else {}
    write_recognizer(
        directory,
        trained,
        read_lexicon(speech),
        options_tuned(decoder, tuning, names),
        first_pass,
        names[-1],
        text=text,
        spelling=spelling(corpora),
    )
    write_json(directory / TRAINED_ON, sorted(u.utterance_id for corpus in corpora for u in corpus))
    if fit is not None:
        shutil.copyfile(fit / CURVES, directory / CURVES)
    if heard is not None:
        shutil.copyfile(heard / COMMAND_RULE, directory / COMMAND_RULE)
    if (tuning / USUAL_REJECTION).is_file():
        shutil.copyfile(tuning / USUAL_REJECTION, directory / USUAL_REJECTION)
    for file in sorted(grammars.iterdir()):
        if file.suffix in (".arpa", ".slf", ".txt"):
            shutil.copyfile(file, directory / file.name)


def decode_test(directory: Path, test: Speech, recognizer: Path, *, names: Sequence[GrammarName]) -> None:
    """Write words and word accuracy of the test set for each grammar."""
    data = read_speech(test)
    speech = scored_speech(data.cepstra, data.speakers, load_model(recognizer), data.corpus.ids)
    for grammar in names:
        decoded = Recognizer.load(recognizer, grammar=grammar).decode(speech)
        _write_accuracy(directory, grammar, data.corpus, decoded)


def read_rows(
    directory: Path, names: Sequence[GrammarName], *, model: str, preset: str, split: str
) -> list[Result]:
    """Return the rows of ``results.json`` that a tuning (dev) or a test has written."""
    rows = []
    for grammar in names:
        path = directory / f"score-{grammar}.json"
        with as_stage_wrote(path):
            row = {**read_object(path), "model": model, "preset": preset, "split": split}
            rows.append(record_of(Result, row, ExperimentError))
    return rows


def options_tuned(
    decoder: DecoderConfig, tuning: Path, names: Sequence[GrammarName], file: str = _TUNED
) -> dict[GrammarName, dict[str, Any]]:
    """Return the decoder options of each grammar with the weights in a tuning's files."""
    return {grammar: asdict(_weighted(decoder, tuning / file.format(grammar))) for grammar in names}


def _weighted(decoder: DecoderConfig, path: Path) -> DecoderConfig:
    """Return a decoder's configuration with the weights in a file of a tuning."""
    with as_stage_wrote(path):
        record = {**asdict(decoder), **read_object(path)["weights"]}
        return record_of(DecoderConfig, record, ExperimentError, "weights.")


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
