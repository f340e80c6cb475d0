"""What the verbs do that look at data before a training: ``validate``, ``lexicon``, ``lm``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from asr import verbs
from asr.commands.printing import Command, print_result
from asr.config import check_text
from asr.errors import ConfigError
from asr.experiment import CONFIG
from asr.files import check_target
from asr.formats import records, terminal
from asr.formats.colour import with_severity
from asr.store import STAGES

_N_OF_A_KIND = 10


def _validate(options: argparse.Namespace) -> int:
    if options.suspicious:
        found, n_utterances = verbs.suspicious(options.corpus)
        print_result(
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
        print_result(
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
    print_result(options, lambda: records.language_model(model), lambda: terminal.language_model(model))
    return 0


COMMANDS: Mapping[str, Command] = {
    "validate": _validate,
    "lexicon": _lexicon,
    "lm": _lm,
}
