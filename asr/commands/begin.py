"""What ``demo`` does; `asr.own_commands` has the other verbs of its group, which need less."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from asr import verbs
from asr.commands import terminal
from asr.commands.printing import Command, print_result
from asr.files import read_json
from asr.formats.outputs import json_words
from asr.scoring.results import RESULTS


def _demo(options: argparse.Namespace) -> int:
    results, hypothesis, spoken = verbs.demo(options.out)

    def text() -> str:
        heard = f"a new synthetic recording, spoken: {spoken}\n{terminal.word_times(hypothesis)}"
        after = terminal.after_demo(options.out, verbs.new_recording(options.out))
        return f"{terminal.results_table(results, options.out)}\n\n{heard}\n\n{after}"

    new = {"spoken": spoken, **json_words(hypothesis)}
    print_result(options, lambda: {**read_json(options.out / RESULTS), "new": new}, text)
    return 0


COMMANDS: Mapping[str, Command] = {
    "demo": _demo,
}
