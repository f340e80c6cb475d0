"""What each verb of the command line does: calls the function of the same name and prints what it returns.

For a person it prints text; with ``--json`` one record for programs (`asr.formats.records`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from asr import progress, verbs
from asr.config import check_text
from asr.endings import say
from asr.engines.clusters import running_on
from asr.errors import ConfigError
from asr.evaluation import evaluate
from asr.experiment import CONFIG
from asr.exports import export
from asr.files import as_plain, check_target, read_json
from asr.formats import records, terminal
from asr.formats.alignments import ONE_EACH, write_aligned
from asr.formats.colour import with_severity
from asr.formats.heard import heard_json, heard_text
from asr.formats.hypotheses import (
    CAPTIONS,
    Decoded,
    decoded,
    json_words,
    write_decoded,
    write_hypotheses,
)
from asr.formats.sweep_table import format_sweep
from asr.formats.transcripts import text_or_file
from asr.imports import import_model
from asr.keywords import as_record, format_keywords, keywords
from asr.leftovers import clean, format_leftovers
from asr.listen import listen
from asr.model_info import format_info
from asr.planning.plan import plan
from asr.planning.table import plan_json, plan_table
from asr.reports.report import report
from asr.scoring.results import RESULTS
from asr.serving.limits import Limits
from asr.serving.serve import serve
from asr.sparsity import format_sparsity, sparsity
from asr.stages.store import STAGES
from asr.sweeps import sweep
from foundation.errors import AsrError

_N_OF_A_KIND = 10


def _print(options: argparse.Namespace, record: Callable[[], object], text: Callable[[], str]) -> None:
    """Print a result: for programs with ``--json``, otherwise for people."""
    print(records.to_json(record()) if options.json else text())


def _demo(options: argparse.Namespace) -> int:
    results, hypothesis, spoken = verbs.demo(options.out)

    def text() -> str:
        heard = f"a new synthetic recording, spoken: {spoken}\n{terminal.word_times(hypothesis)}"
        after = terminal.after_demo(options.out, verbs.new_recording(options.out))
        return f"{terminal.results_table(results, options.out)}\n\n{heard}\n\n{after}"

    new = {"spoken": spoken, **json_words(hypothesis)}
    _print(options, lambda: {**read_json(options.out / RESULTS), "new": new}, text)
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
    _print(
        options,
        lambda: read_json(options.out / RESULTS),
        lambda: terminal.results_table(results, options.out),
    )
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
    _print(
        options,
        lambda: found,
        lambda: format_sweep(found.rows, found.against, found.place, width=width, synthetic=found.synthetic),
    )
    return 2 if any(row.error for row in found.rows) else 0


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

    return _print_found(options.recordings, found, write, is_json=options.json)


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
    _print(options, lambda: as_record(found), lambda: format_keywords(found))
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

    def write(good) -> str:  # type: ignore[no-untyped-def]
        found = [aligned for _, aligned in good]
        if output == "json":
            return records.to_json(records.alignments(found)) + "\n"
        return write_aligned(found, output, options.out, rows=options.rows)

    code = _print_found(
        [name for name, _ in pairs], [result for _, result in pairs], write, is_json=options.json
    )
    if options.out is not None:
        n_aligned = sum(not isinstance(result, AsrError) for _, result in pairs)
        progress.say(f"{n_aligned} of {len(pairs)} utterances aligned: {options.out}")
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
    code = _tell_of_failed(found.values())
    if options.hypotheses is not None:
        write_hypotheses(found, options.hypotheses)
    return code


def _export(options: argparse.Namespace) -> int:
    found = export(
        options.experiment,
        what=options.what,
        out=options.out,
        corpus=options.corpus,
        format=options.format,
        model=options.model,
        grammar=options.grammar,
    )
    what = f"{found.path}: {found.n_utterances} utterance(s)"
    _print(
        options,
        lambda: {
            "path": found.path,
            "n_utterances": found.n_utterances,
            "failed": list(map(str, found.errors)),
        },
        lambda: str(found.path) if options.what == "model" else what,
    )
    for error in found.errors:
        say(str(error))
    return 2 if found.errors else 0


def _import(options: argparse.Namespace) -> int:
    path = import_model(
        options.mmf,
        dictionary=options.dictionary,
        out=options.out,
        config=options.config,
        grammar=options.grammar,
        sample_rate=options.sample_rate,
        normalize=options.normalize,
        lm_scale=options.lm_scale,
        word_penalty=options.word_penalty,
    )
    _print(options, lambda: {"path": path}, lambda: str(path))
    return 0


def _validate(options: argparse.Namespace) -> int:
    if options.suspicious:
        found, n_utterances = verbs.suspicious(options.corpus)
        _print(
            options,
            lambda: {"n_utterances": n_utterances, "suspicious": found},
            lambda: terminal.suspicious(found, n_utterances, options.corpus),
        )
        return 0
    check_text(options.text)
    if all((options.corpus / name).exists() for name in (CONFIG, STAGES)):
        raise ConfigError(
            f"{options.corpus}: an experiment, expected a corpus; give the corpus, or --suspicious to list "
            "what looks wrong in the data of the experiment"
        )
    arguments = (options.corpus, options.lexicon, options.text)
    if options.show_text:
        _print(
            options,
            lambda: records.changed_transcripts(terminal.transcripts_of(*arguments)),
            lambda: "\n".join(terminal.changed_transcripts(*arguments)),
        )
        return 0
    if options.json:
        found_problems = terminal.problems_of(*arguments)
        print(records.to_json(records.problems(found_problems, options.corpus)))
        return 2 if any(problem.severity == "error" for problem in found_problems) else 0
    # A person sees the first of each kind, a file gets all.
    n_of_a_kind = _N_OF_A_KIND if sys.stdout.isatty() else None
    lines, has_errors = terminal.problems(*arguments, n_of_a_kind=n_of_a_kind)
    print("\n".join(with_severity(line, sys.stdout) for line in lines))
    return 2 if has_errors else 0


def _lexicon(options: argparse.Namespace) -> int:
    lexicon = verbs.make_lexicon(
        options.corpus, english=options.english, source=options.source, variants=options.variants
    )
    print(records.to_json(records.lexicon(lexicon)) + "\n" if options.json else lexicon.format(), end="")
    return 0


def _lm(options: argparse.Namespace) -> int:
    if options.out is None and options.test is None:
        raise ConfigError("lm: expected --out FILE.arpa to write the model, --test TEXT to test it, or both")
    if options.out is not None:
        check_target(options.out, "--out")
    model = verbs.lm(
        options.text,
        order=options.order,
        vocabulary=options.vocabulary,
        prune=options.prune,
        test=options.test,
        out=options.out,
        reading=options.reading,
    )
    _print(options, lambda: records.language_model(model), lambda: terminal.language_model(model))
    return 0


def _info(options: argparse.Namespace) -> int:
    found = verbs.info(options.experiment, model=options.model, measure=options.measure)
    _print(options, lambda: found, lambda: format_info(found))
    return 0


def _sparsity(options: argparse.Namespace) -> int:
    rows = sparsity(options.experiment, model=options.model, sizes=options.centers, recipe=options.recipe)
    _print(
        options,
        lambda: {"model": options.model, "rows": rows},
        lambda: format_sparsity(rows, options.experiment),
    )
    return 0


def _plan(options: argparse.Namespace) -> int:
    found = plan(
        options.recipe,
        corpus=options.corpus,
        out=options.out,
        models=options.model,
        preset=options.preset,
        settings=options.settings,
        workers=options.workers,
    )
    _print(options, lambda: plan_json(found), lambda: plan_table(found))
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
    _print(options, lambda: {"path": page}, lambda: str(page))
    return 0


def _clean(options: argparse.Namespace) -> int:
    leftovers = clean(options.experiment, yes=options.yes)
    _print(
        options,
        lambda: {**as_plain(leftovers), "n_bytes": leftovers.n_bytes},
        lambda: format_leftovers(leftovers, options.experiment),
    )
    return 0


def _serve(options: argparse.Namespace) -> int:
    def ready(address: str, has_model: bool) -> None:
        # One line, for whoever reads it does not wait for the end.
        print(json.dumps({"address": address, "ready": has_model}) if options.json else address, flush=True)
        if not has_model:
            progress.say("there is no model yet: record commands on the page, and train there")
        progress.say("stop with Ctrl-C")

    serve(
        options.experiment,
        model=options.model,
        grammar=options.grammar,
        reject=options.reject,
        keywords=options.keywords,
        host=options.host,
        port=options.port,
        folder=options.folder,
        limits=Limits(streams=options.streams),
        when_ready=ready,
    )
    progress.say("stopped")
    return 0


def _listen(options: argparse.Namespace) -> int:
    found = listen(
        options.experiment,
        source=options.input,
        sample_rate=options.rate,
        device=options.device,
        model=options.model,
        grammar=options.grammar,
        reject=options.reject,
        keywords=options.keywords,
    )
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for heard in found:
        if options.json:
            line = heard_json(heard.kind, heard.words, heard.heard_s)
        else:
            line = heard_text(heard.kind, heard.words, width)
        print(line, end="", flush=True)
    return 0


def _print_found(names, results, write, *, is_json: bool) -> int:  # type: ignore[no-untyped-def]
    """Write what was found, name on standard error what was not, and return the exit code."""
    good = [
        (name, result)
        for name, result in zip(names, results, strict=True)
        if not isinstance(result, AsrError)
    ]
    if good or is_json:
        print(write(good), end="")
    return _tell_of_failed(results)


def _tell_of_failed(results: Iterable[object]) -> int:
    """Name on standard error what failed, and return the exit code."""
    failed = [result for result in results if isinstance(result, AsrError)]
    for error in failed:
        say(str(error))
    return 2 if failed else 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "train": _train,
    "sweep": _sweep,
    "decode": _decode,
    "keywords": _keywords,
    "align": _align,
    "score": _score,
    "evaluate": _evaluate,
    "export": _export,
    "import": _import,
    "validate": _validate,
    "lexicon": _lexicon,
    "lm": _lm,
    "info": _info,
    "sparsity": _sparsity,
    "report": _report,
    "clean": _clean,
    "plan": _plan,
    "serve": _serve,
    "listen": _listen,
}
