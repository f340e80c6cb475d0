"""The pages of documentation that are made from the code: all verbs, and all options of a training.

``python -m asr.commands.pages commands > docs/commands.md``, ``… options > docs/options.md``.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from asr.cli import command_line
from asr.commands.parsing import Verb, VerbParser
from asr.config import ExperimentConfig, home_of, known_keys, with_preset

_COMMANDS = """# Commands

`asr VERB …`. Options may stand before, between and behind the other arguments. Results go to standard output,
everything else to standard error. This page is made by `python -m asr.commands.pages commands`.

| exit code | meaning |
|---|---|
| 0 | done |
| 2 | bad input or a wrong command line, said in one line `asr: …` |
| 2, with results | `validate` or `doctor` found errors; points of `sweep` or single recordings failed |
| 130, 143, 129 | ended by the interrupt key, SIGTERM, SIGHUP; the same command goes on where it was |

`--quiet` leaves errors alone on standard error: no warnings and no progress (an experiment's `log.txt` has
them). At terminals a few words are coloured that say the same without: never with `NO_COLOR`, in files and
pipes, too, with `FORCE_COLOR`.

With `--json` standard output holds one JSON text and nothing else; exit codes and errors are the same. Names
of times end in `_s`, accuracies are in percent, an `interval` is [low, high] (95 %), a number that is not
finite is null. `decode --json` is `decode --format json`. Keys may be added; the changelog says if one goes.

`asr completion bash > ~/.local/share/bash-completion/completions/asr` lets new shells complete verbs,
options, their values and the keys of `--set`.
"""


def command_page() -> str:
    """Return the page: each verb with its arguments, an example and the JSON that it prints."""
    line = command_line()
    parts = [_COMMANDS]
    for group, verbs in line.groups.items():
        parts.append(f"## {group.capitalize()}\n")
        parts += [_section(verb, line.parsers[name]) for name, verb in verbs.items()]
    return "\n".join(parts)


def _section(verb: Verb, parser: VerbParser) -> str:
    """Return what is said of a verb."""
    lines = [
        f"### asr {parser.verb}\n",
        f"{parser.description}\n",
        f"```bash\n{verb.example}\n```\n",
        "| argument | what it is |",
        "|---|---|",
        *(_row(action) for action in parser.actions if action.dest not in _COMMON),
        "",
    ]
    shapes = {"": verb.prints, **verb.also_prints} if verb.prints else {}
    for option, keys in shapes.items():
        said = f" with `{option}`" if option else ""
        named = (f"- `{key}`: {what}" if what else f"- {key.strip('()')}" for key, what in keys.items())
        lines += [f"`--json`{said} prints {verb.each}:\n", *named, ""]
    return "\n".join(lines)


_COMMON = ("help", "json", "quiet", "verbose")


def _row(action: argparse.Action) -> str:
    """Return the row of an argument."""
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices:
        value = " or ".join(map(str, action.choices))
    if not action.option_strings:
        name = value if not action.choices else action.dest
        shown = f"`{name}{' …' if action.nargs == '+' else ''}`"
        what = f"{value}; {action.help}" if action.choices else action.help
    else:
        shown = (
            f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else ' ' + _short(action, value)}`"
        )
        choices = f": {', '.join(map(str, action.choices))}" if action.choices else ""
        what = f"{action.help}{choices}{' (required)' if action.required else ''}"
    return f"| {shown} | {str(what).replace('|', chr(92) + '|')} |"


def _short(action: argparse.Action, value: str) -> str:
    return action.dest.upper() if action.choices else value + (" …" if action.nargs == "+" else "")


_OPTIONS = """# Options

`asr train … --set KEY=VALUE` changes one of these; a key may leave out its section where no other has it. A
recipe may have defaults of its own; `EXP/config.json` holds what a run used. An option that belongs
to none of the models that are trained is an error. This page is made by
`python -m asr.commands.pages options`.
"""


def option_page() -> str:
    """Return the page: each option's meaning, its value in both presets, and the models it belongs to."""
    best, thesis = (with_preset(ExperimentConfig(), preset) for preset in ("best", "thesis"))
    meanings = _meanings(best)
    rows = ["| option | default | thesis | what it is | belongs to |", "|---|---|---|---|---|"]
    for key in known_keys(best):
        default, other = _value(best, key), _value(thesis, key)
        home = home_of(key)
        cells = (
            f"`{key}`",
            default,
            "" if other == default else other,
            meanings[key],
            "all models" if home is None else home.models,
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([_OPTIONS, *rows, ""])


def _value(config: Any, key: str) -> str:
    """Return an option's value as it is written on the command line."""
    for name in key.split("."):
        config = getattr(config, name)
    parts = config if isinstance(config, tuple) else (config,)
    text = ",".join(f"{part:g}" if isinstance(part, float) else str(part).lower() for part in parts)
    return f"`{text}`" if text else "empty"


def _meanings(config: Any, prefix: str = "") -> dict[str, str]:
    """Return the description of each option from the docstrings of a configuration and its parts."""
    said = _attributes(type(config))
    found: dict[str, str] = {}
    for option in fields(config):
        value = getattr(config, option.name)
        if is_dataclass(value):
            found |= _meanings(value, f"{prefix}{option.name}.")
        else:
            found[prefix + option.name] = said.get(option.name, "")
    return found


def _attributes(kind: type) -> dict[str, str]:
    """Return the descriptions below "Attributes" in a class's docstring, by name.

    >>> _attributes(type(ExperimentConfig().decoder))["beam"].startswith("paths this much worse")
    True
    """
    _, _, section = inspect.cleandoc(kind.__doc__ or "").partition("Attributes\n----------\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if entry := re.match(r"(\w+(?:, \w+)*) : (.*)", line):
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2])
        elif line.startswith("    "):
            found |= {name: f"{found[name]} {line.strip()}" for name in names}
        elif line:
            break
    return {name: text.replace("``", "`") for name, text in found.items()}


PAGES: Mapping[str, Callable[[], str]] = {"commands": command_page, "options": option_page}

if __name__ == "__main__":
    print(PAGES[sys.argv[1]](), end="")
