"""What each verb of the command line does: calls the function of the same name and prints what it returns."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from asr import verbs
from asr.engines.clusters import running_on
from asr.errors import ConfigError
from asr.formats import terminal
from asr.formats.alignments import write_aligned
from asr.formats.hypotheses import decoded, write_hypotheses
from asr.formats.sweep_table import format_sweep
from asr.formats.transcripts import text_or_file
from asr.leftovers import clean, format_leftovers
from asr.reports.report import report
from asr.sparsity import format_sparsity, sparsity
from asr.sweeps import sweep
from foundation.errors import AsrError

_N_OF_A_KIND = 10


def _demo(options: argparse.Namespace) -> int:
    results, hypothesis, spoken = verbs.demo(options.out)
    print(terminal.results_table(results, options.out))
    print(f"\na new synthetic recording, spoken: {spoken}\n{terminal.word_times(hypothesis)}")
    return 0


def _engine(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Return a context in which is computed where the options say."""
    return running_on(options.workers, options.scheduler, options.cluster)


def _train(options: argparse.Namespace) -> int:
    with _engine(options):
        results = verbs.train(
            options.recipe,
            corpus=options.corpus,
            out=options.out,
            models=options.model,
            preset=options.preset,
            settings=options.settings,
        )
    print(terminal.results_table(results, options.out))
    return 0


def _sweep(options: argparse.Namespace) -> int:
    with _engine(options):
        found = sweep(
            options.recipe,
            corpus=options.corpus,
            out=options.out,
            settings=options.settings,
            models=options.model,
            preset=options.preset,
            against=options.against,
        )
    # A file or a pipe takes lines of any length.
    width = shutil.get_terminal_size(fallback=(sys.maxsize, 24)).columns
    print(format_sweep(found.rows, found.against, found.place, width=width, synthetic=found.synthetic))
    return 2 if any(row.error for row in found.rows) else 0


def _decode(options: argparse.Namespace) -> int:
    found = verbs.decode(
        options.experiment,
        options.recordings,
        model=options.model,
        grammar=options.grammar,
        n_best=options.nbest,
        same_speaker=options.same_speaker,
    )
    several = len(options.recordings) > 1
    return _print_found(
        options.recordings,
        found,
        lambda pairs: decoded(pairs, options.format, with_path=several, with_rank=options.nbest > 1),
    )


def _align(options: argparse.Namespace) -> int:
    if options.corpus is not None:
        if options.recording is not None:
            raise ConfigError("align: got both WAV and --corpus; expected one of them")
        if options.format == "textgrid" and options.out is None:
            raise ConfigError("align: TextGrid is one file an utterance; expected --out DIR for a corpus")
        pairs = list(verbs.align_corpus(options.experiment, options.corpus, model=options.model))
    else:
        if options.recording is None or options.text is None:
            raise ConfigError("align: expected WAV and TEXT, or --corpus DIR")
        text = text_or_file(options.text)
        aligned = verbs.align(options.experiment, options.recording, text, model=options.model)
        pairs = [(aligned.utterance_id, aligned)]
    return _print_found(
        [name for name, _ in pairs],
        [result for _, result in pairs],
        lambda good: write_aligned([a for _, a in good], options.format, options.out),
    )


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


def _evaluate(options: argparse.Namespace) -> int:
    accuracy, found = verbs.evaluate(
        options.experiment, options.corpus, model=options.model, grammar=options.grammar
    )
    if options.hypotheses is not None:
        write_hypotheses(found, options.hypotheses)
    print(terminal.evaluation(accuracy, found, as_json=options.json))
    return 0


def _validate(options: argparse.Namespace) -> int:
    if options.suspicious:
        print(terminal.suspicious(*verbs.suspicious(options.corpus), options.corpus))
        return 0
    if options.show_text:
        print("\n".join(terminal.changed_transcripts(options.corpus, options.lexicon, options.text)))
        return 0
    # A person sees the first of each kind, a file gets all.
    n_of_a_kind = _N_OF_A_KIND if sys.stdout.isatty() else None
    lines, has_errors = terminal.problems(
        options.corpus, options.lexicon, options.text, n_of_a_kind=n_of_a_kind
    )
    print("\n".join(lines))
    return 2 if has_errors else 0


def _lexicon(options: argparse.Namespace) -> int:
    lexicon = verbs.make_lexicon(
        options.corpus, english=options.english, source=options.source, variants=options.variants
    )
    print(lexicon.format(), end="")
    return 0


def _lm(options: argparse.Namespace) -> int:
    if options.out is None and options.test is None:
        raise ConfigError("lm: expected --out FILE.arpa to write the model, --test TEXT to test it, or both")
    model = verbs.lm(
        options.text,
        order=options.order,
        vocabulary=options.vocabulary,
        prune=options.prune,
        test=options.test,
        out=options.out,
        reading=options.reading,
    )
    print(terminal.language_model(model))
    return 0


def _info(options: argparse.Namespace) -> int:
    print(terminal.description(verbs.info(options.experiment, model=options.model)))
    return 0


def _sparsity(options: argparse.Namespace) -> int:
    rows = sparsity(options.experiment, model=options.model, sizes=options.centers)
    print(format_sparsity(rows, options.experiment))
    return 0


def _report(options: argparse.Namespace) -> int:
    page = report(
        options.experiment,
        model=options.model,
        out=options.out,
        split=options.split,
        utterances=options.utterances,
        audio=options.audio,
    )
    print(page)
    return 0


def _clean(options: argparse.Namespace) -> int:
    leftovers = clean(options.experiment, yes=options.yes)
    print(format_leftovers(leftovers, options.experiment))
    return 0


def _print_found(names, results, write) -> int:  # type: ignore[no-untyped-def]
    """Write what was found, name on standard error what was not, and return the exit code."""
    good = [
        (name, result)
        for name, result in zip(names, results, strict=True)
        if not isinstance(result, AsrError)
    ]
    if good:
        print(write(good), end="")
    failed = [result for result in results if isinstance(result, AsrError)]
    for error in failed:
        print(f"asr: {error}", file=sys.stderr)
    return 2 if failed else 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "train": _train,
    "sweep": _sweep,
    "decode": _decode,
    "align": _align,
    "score": _score,
    "evaluate": _evaluate,
    "validate": _validate,
    "lexicon": _lexicon,
    "lm": _lm,
    "info": _info,
    "sparsity": _sparsity,
    "report": _report,
    "clean": _clean,
}
