"""What the verbs do that exchange files with other tools: ``export``, ``import``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from asr.commands.printing import Command, print_result
from asr.endings import say
from asr.exports import export
from asr.imports import import_model


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
    print_result(
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
    print_result(options, lambda: {"path": path}, lambda: str(path))
    return 0


COMMANDS: Mapping[str, Command] = {
    "export": _export,
    "import": _import,
}
