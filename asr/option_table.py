"""The page of all options, made from the configuration: ``python -m asr.option_table > docs/options.md``."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

from asr.config import ExperimentConfig, home_of, known_keys, with_preset

_HEAD = """# Options

`asr train … --set KEY=VALUE` changes one of these; a key may leave out its section where no other has it. A
recipe may have defaults of its own; `EXP/config.json` holds what a run used. An option that belongs
to none of the models that are trained is an error. This page is made by `python -m asr.option_table`.
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
    return "\n".join([_HEAD, *rows, ""])


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


if __name__ == "__main__":
    print(option_page(), end="")
