"""Options and constructor arguments of the checkout that Python imports from, as JSON; run by `house`.

The options are the fields of `asr.config.ExperimentConfig` and of the dataclasses within it, by their dotted
names. Where a field may hold one of several dataclasses, an option that several of them have counts once.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import acoustic.discriminants
from asr.config import ExperimentConfig


def options(kind: type, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of a dataclass's options."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        inner = [found for found in dataclasses_in(hints[field.name]) if found is not kind]
        if not inner:
            yield prefix + field.name
        for found in inner:
            yield from options(found, f"{prefix}{field.name}.")


def dataclasses_in(hint: Any) -> list[type]:
    """Return the dataclasses that a type may be: itself, its subclasses, or members of a union."""
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint, *(found for subclass in hint.__subclasses__() for found in dataclasses_in(subclass))]
    return [found for part in get_args(hint) for found in dataclasses_in(part)]


def estimators() -> Iterator[tuple[str, list[str]]]:
    """Yield the public estimators with the arguments of their constructors."""
    for name in acoustic.discriminants.__all__:
        found = getattr(acoustic.discriminants, name)
        if isinstance(found, type) and hasattr(found, "fit"):
            yield name, [p for p in inspect.signature(found).parameters if p != "self"]


def main() -> None:
    """Write the JSON."""
    found = {"options": list(dict.fromkeys(options(ExperimentConfig))), "estimators": dict(estimators())}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
