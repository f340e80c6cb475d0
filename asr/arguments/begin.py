"""What the verbs take that one begins with: ``doctor``, ``demo``, ``completion``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.completion import SHELLS
from asr.parsing import Entry, Verbs


def _add_doctor(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "doctor",
        help="check this installation, and train and decode on it",
        description="Check packages, cores, memory, disk, audio formats and compiled code, then train, "
        "decode and align on a few synthetic tones. A line a finding: ok, warning or error, with what to do. "
        "Exit code 2 if there is an error.",
    )
    command.add_argument("--brief", action="store_true", help="leave out training, decoding and aligning")


def _add_demo(verbs: Verbs) -> None:
    command = verbs.add_parser("demo", help="train and test on a small synthetic corpus, made on the spot")
    command.add_argument("--out", type=Path, default=Path("exp/demo"), help="experiment directory (exp/demo)")


def _add_completion(verbs: Verbs) -> None:
    command = verbs.add_parser(
        "completion",
        help="print a script that completes verbs and options in a shell",
        description="Print a script that completes verbs, options, their values, names of recipes and "
        "models, and the keys of --set. It belongs, for bash, into the file "
        "~/.local/share/bash-completion/completions/asr, for zsh into a file _asr in a folder of $fpath, for "
        "fish into ~/.config/fish/completions/asr.fish. Print it again after an update.",
    )
    command.add_argument("shell", choices=SHELLS, help="the shell")


VERBS: Mapping[str, Entry] = {
    "doctor": Entry(_add_doctor, "asr doctor"),
    "demo": Entry(_add_demo, "asr demo --out exp/demo"),
    "completion": Entry(
        _add_completion, "asr completion bash > ~/.local/share/bash-completion/completions/asr"
    ),
}
