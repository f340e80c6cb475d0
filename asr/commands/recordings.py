"""What the verbs do that use a model on recordings, from ``decode`` to ``score``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from asr import progress, verbs
from asr.commands import records, terminal
from asr.commands.printing import Command, print_found, print_result, tell_of_failed
from asr.errors import ConfigError
from asr.evaluation import evaluate
from asr.files import check_target
from asr.formats.aligned import AlignedUtterance
from asr.formats.outputs import (
    CAPTIONS,
    ONE_EACH,
    Decoded,
    decoded,
    write_aligned,
    write_decoded,
    write_hypotheses,
)
from asr.formats.transcripts import text_or_file
from asr.spotting.keywords import as_record, format_keywords, keywords
from foundation.errors import AsrError


def _decode(options: argparse.Namespace) -> int:
    output = _or_json(options, "text")
    if output in CAPTIONS and options.out is None and len(options.recordings) > 1:
        raise ConfigError(f"decode: {output} is one file a recording; expected --out DIR for several")
    found = verbs.decode(
        options.experiment,
        options.recordings,
        model=options.model,
        grammar=options.grammar,
        n_best=options.nbest,
        same_speaker=options.same_speaker,
        reject=options.reject,
        keywords=options.keywords,
    )
    several = len(options.recordings) > 1

    def write(pairs: Decoded) -> str:
        if options.out is not None:
            write_decoded(pairs, output, options.out)
            return ""
        return decoded(pairs, output, with_path=several, with_rank=options.nbest > 1)

    return print_found(options.recordings, found, write, is_json=options.json)


def _or_json(options: argparse.Namespace, default: str) -> str:
    """Return the format of the output; ``--json`` stands for ``--format json``."""
    if options.json and options.format not in (default, "json"):
        raise ConfigError(f"{options.verb}: got --json and --format {options.format}; expected one of them")
    if options.json and options.out is not None:
        raise ConfigError(f"{options.verb}: --json prints what is found; expected no --out with it")
    return "json" if options.json else str(options.format)


def _keywords(options: argparse.Namespace) -> int:
    found = keywords(
        options.experiment,
        options.words,
        corpus=options.corpus,
        other=options.other,
        false_alarms=options.false_alarms,
        detection=options.detection,
        model=options.model,
    )
    print_result(options, lambda: as_record(found), lambda: format_keywords(found))
    return 0


def _align(options: argparse.Namespace) -> int:
    output = _or_json(options, "textgrid")
    if options.corpus is not None:
        if options.recording is not None:
            raise ConfigError("align: got both WAV and --corpus; expected one of them")
        if output in ONE_EACH and options.out is None:
            raise ConfigError(f"align: {output} is one file an utterance; expected --out DIR for a corpus")
        pairs = list(verbs.align_corpus(options.experiment, options.corpus, model=options.model))
    else:
        if options.recording is None or options.text is None:
            raise ConfigError("align: expected WAV and TEXT, or --corpus DIR")
        text = text_or_file(options.text)
        aligned = verbs.align(options.experiment, options.recording, text, model=options.model)
        pairs = [(aligned.utterance_id, aligned)]

    def write(good: list[tuple[str, AlignedUtterance]]) -> str:
        found = [aligned for _, aligned in good]
        if output == "json":
            return records.to_json(records.alignments(found)) + "\n"
        return write_aligned(found, output, options.out, rows=options.rows)

    code = print_found(
        [name for name, _ in pairs], [result for _, result in pairs], write, is_json=options.json
    )
    if options.out is not None:
        n_aligned = sum(not isinstance(result, AsrError) for _, result in pairs)
        progress.say(f"{n_aligned} of {len(pairs)} utterances aligned: {options.out}")
    return code


def _evaluate(options: argparse.Namespace) -> int:
    if options.hypotheses is not None:
        check_target(options.hypotheses, "--hypotheses")
    accuracy, found = evaluate(
        options.experiment,
        options.corpus,
        model=options.model,
        grammar=options.grammar,
        reject=options.reject,
    )
    print(terminal.evaluation(accuracy, found, as_json=options.json), flush=True)
    code = tell_of_failed(found.values())
    if options.hypotheses is not None:
        write_hypotheses(found, options.hypotheses)
    return code


def _score(options: argparse.Namespace) -> int:
    print(
        terminal.accuracy_of_files(
            options.reference,
            options.hypothesis,
            against=options.against,
            file_format=options.format,
            utt2spk=options.utt2spk,
            ignore_case=options.ignore_case,
            in_plain_form=options.plain,
            as_json=options.json,
        )
    )
    return 0


COMMANDS: Mapping[str, Command] = {
    "decode": _decode,
    "keywords": _keywords,
    "align": _align,
    "evaluate": _evaluate,
    "score": _score,
}
