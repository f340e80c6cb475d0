"""The verbs about the program itself: they run, too, where packages that `asr.commands` needs are missing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import get_args

from asr.parsing import CommandLine


def _doctor(options: argparse.Namespace, line: CommandLine) -> int:
    from asr.doctor import as_record, diagnosed
    from asr.logs import with_severity

    findings = []
    for finding in diagnosed(with_self_test=not options.brief):
        findings.append(finding)
        if not options.json:
            print(with_severity(str(finding), sys.stdout), flush=True)
    record = as_record(findings)
    summary = f"{record['errors']} error(s), {record['warnings']} warning(s)"
    print(json.dumps(record, indent=1, ensure_ascii=False) if options.json else summary)
    return 2 if record["errors"] else 0


def _completion(options: argparse.Namespace, line: CommandLine) -> int:
    from asr.completion import described, script
    from asr.config import ExperimentConfig, GrammarName, known_keys
    from asr.recipe import built_in_recipes
    from asr.systems import SYSTEMS

    values = {
        ("", "recipe"): built_in_recipes(),
        ("", "settings"): [f"{key}=" for key in known_keys(ExperimentConfig())],
        ("", "grammar"): get_args(GrammarName),
        ("", "model"): list(SYSTEMS),
    }
    print(script(options.shell, described(line, values)), end="")
    return 0


OWN_COMMANDS: dict[str, Callable[[argparse.Namespace, CommandLine], int]] = {
    "doctor": _doctor,
    "completion": _completion,
}
