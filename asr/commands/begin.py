"""The verbs that one begins with: ``doctor``, ``demo``, ``completion``."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from asr.commands.completion import SHELLS
from asr.commands.parsing import Verb
from asr.commands.printing import print_result, put
from asr.files import read_json

if TYPE_CHECKING:
    from asr.scoring.results import Result
    from decoder.decoder import Hypothesis


def _takes_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--brief", action="store_true", help="leave out training, decoding and aligning")


def _run_doctor(options: argparse.Namespace) -> int:
    from asr.commands.doctor import diagnosed, findings_record
    from asr.progress import say, with_severity

    findings = []
    for finding in diagnosed(with_self_test=not options.brief, tell=say):
        findings.append(finding)
        if not options.json:
            print(with_severity(str(finding), sys.stdout), flush=True)
    record = findings_record(findings)
    summary = f"{record['errors']} error(s), {record['warnings']} warning(s)"
    put(json.dumps(record, indent=1, ensure_ascii=False) if options.json else summary)
    return 2 if record["errors"] else 0


def _takes_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("exp/demo"), help="experiment directory (exp/demo)")


def demo(out: str | Path) -> tuple[tuple[Result, ...], Hypothesis, str]:
    """Train and test on synthetic speech made on the spot, and decode one new recording.

    Returns
    -------
    The rows of ``OUT/results.json``, the hypothesis of the new recording and what was said in it
    """
    from asr.commands.models import train
    from asr.commands.recordings import decode
    from foundation.errors import AsrError

    results = train("demo", out=out)
    new = new_recording(out)
    (found,) = decode(out, [new])
    if isinstance(found, AsrError):
        raise found
    return results, found, new.with_suffix(".txt").read_text(encoding="utf-8").strip()


def new_recording(out: str | Path) -> Path:
    """Return the recording of a demo that is in none of its splits, with ``new.txt`` beside it."""
    from asr.experiment import Experiment
    from asr.recipe import load_recipe

    task = load_recipe("demo")
    experiment = Experiment(task, None, Path(out), task.recipe.config, "best")
    experiment.begin()
    return experiment.path(experiment.begun[0]) / "new.wav"


def _run_demo(options: argparse.Namespace) -> int:
    if not options.quiet:  # what is imported next takes seconds
        print("a small corpus is synthesised, two models are trained and tested: minutes", file=sys.stderr)
    from asr.commands.models import results_table
    from asr.formats.outputs import json_words
    from asr.scoring.results import RESULTS

    results, hypothesis, spoken = demo(options.out)

    def text() -> str:
        heard = f"a new synthetic recording, spoken: {spoken}\n{word_times(hypothesis)}"
        after = after_demo(options.out, new_recording(options.out))
        return f"{results_table(results, options.out)}\n\n{heard}\n\n{after}"

    new = {"spoken": spoken, **json_words(hypothesis)}
    print_result(options, lambda: {**read_json(options.out / RESULTS), "new": new}, text)
    return 0


def word_times(hypothesis: Hypothesis) -> str:
    """Return a table of words with their times and confidences."""
    lines = [f"{'start s':>8} {'end s':>8}  {'confidence':>10}  word"]
    for w in hypothesis.words:
        sure = "" if w.confidence is None else f"{w.confidence:.2f}"
        lines.append(f"{w.start_s:8.2f} {w.end_s:8.2f}  {sure:>10}  {w.word}")
    return "\n".join(lines)


def after_demo(directory: Path, recording: Path) -> str:
    """Return what to do next."""
    out = shlex.quote(str(directory))
    commands = {
        f"asr info {out}": "what the best model is made from, and how good it is",
        f"asr decode {out} {shlex.quote(str(recording))}": "the words of a recording, this one or yours",
        "asr train MY_RECORDINGS --out exp/mine": "of name.wav with name.txt beside it",
    }
    width = max(map(len, commands))
    return "\n".join(["next:", *(f"  {command:{width}}  # {why}" for command, why in commands.items())])


def _takes_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def _run_completion(options: argparse.Namespace) -> int:
    from asr.cli import command_line
    from asr.commands.completion import script
    from asr.config import ExperimentConfig, known_keys
    from asr.recipe import built_in_recipes
    from asr.systems import SYSTEMS, GrammarName

    offered = {
        "recipe": built_in_recipes(),
        "settings": [f"{key}=" for key in known_keys(ExperimentConfig())],
        "grammar": get_args(GrammarName),
        "model": list(SYSTEMS),
    }
    print(script(options.shell, command_line(), offered), end="")
    return 0


VERBS: Mapping[str, Verb] = {
    "doctor": Verb(
        "check this installation, and train and decode on it",
        _takes_doctor,
        _run_doctor,
        "asr doctor",
        prints={
            "errors": "number of errors",
            "warnings": "number of warnings",
            "findings": "of each `severity` (ok, note, warning, error), `what`, `cure` (null: nothing to do)",
        },
        description="Check packages, cores, memory, disk, audio formats and compiled code, then train, "
        "decode and align on a few synthetic tones. A line a finding: ok, note, warning or error, with what "
        "to do. Exit code 2 if there is an error.",
    ),
    "demo": Verb(
        "train and test on a small synthetic corpus, made on the spot",
        _takes_demo,
        _run_demo,
        "asr demo --out exp/demo",
        prints={
            "results": "as of train",
            "inputs": "as of train",
            "synthetic": "true: the speech is synthetic",
            "new": "the new recording: `spoken`, and the keys of decode but for `recording`",
        },
    ),
    "completion": Verb(
        "print a script that completes verbs and options in a shell",
        _takes_completion,
        _run_completion,
        "asr completion bash > ~/.local/share/bash-completion/completions/asr",
        description="Print a script that completes verbs, options, their values, names of recipes and "
        "models, and the keys of --set. It belongs, for bash, into the file "
        "~/.local/share/bash-completion/completions/asr, for zsh into a file _asr in a folder of $fpath, for "
        "fish into ~/.config/fish/completions/asr.fish. Print it again after an update.",
    ),
}
