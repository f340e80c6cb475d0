"""What the verbs do that hear speech while it is spoken: ``serve``, ``listen``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping

from asr import progress
from asr.commands.heard import heard_json, heard_text
from asr.commands.printing import Command
from asr.live.listen import listen
from asr.serving.limits import Limits
from asr.serving.serve import serve


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


COMMANDS: Mapping[str, Command] = {
    "serve": _serve,
    "listen": _listen,
}
