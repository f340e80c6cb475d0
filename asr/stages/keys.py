"""What a stage is made from, and the key of its output: a hash of that.

Whatever changes an output must change its key: the code that makes it, its configuration and the content of
what it is made from. Where files lie, when they were made and how many workers made them must not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from asr.files import as_plain, text_digest
from asr.version import own_code

_LENGTH = 12
_DIRECTORY = re.compile(rf"(?P<name>[^.].*)-[0-9a-f]{{{_LENGTH}}}")


def made_from(
    name: str, config: object, inputs: Mapping[str, str], other_code: Sequence[str]
) -> dict[str, Any]:
    """Return all that decides the output of a stage.

    Parameters
    ----------
    name : name of the stage
    config : dataclass, mapping or plain value
    inputs : name and digest of each thing the output is made from
    other_code : code besides this package's that makes the output
    """
    return {
        "stage": name,
        "code": [own_code(), *other_code],
        "config": as_plain(config),
        "inputs": dict(inputs),
    }


def key(decisive: Mapping[str, Any]) -> str:
    """Return the key of what `made_from` returns; the order of its entries makes no difference."""
    text = json.dumps(as_plain(decisive), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return text_digest(text)[:_LENGTH]


def name_of(directory: str) -> str | None:
    """Return the name of the stage whose output has a directory of this name; None if no output is called so.

    >>> name_of("gmm-none-8-dev-0123456789ab"), name_of(".fit-8-0123456789ab.partial")
    ('gmm-none-8-dev', None)
    """
    match = _DIRECTORY.fullmatch(directory)
    return None if match is None else match["name"]
