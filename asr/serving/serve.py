"""``asr serve``: a page on this machine to talk, to transcribe recordings, and to make a recogniser."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from asr.errors import ConfigError
from asr.serving.limits import Limits
from foundation.version import how_to_install

FOLDER = "my_commands"
_PACKAGES = ("fastapi", "uvicorn", "websockets")
UVICORN = "0.53"  # the lowest version, as in pyproject.toml


def serve(
    experiment: str | Path | None = None,
    *,
    model: str | None = None,
    grammar: str | None = None,
    reject: bool | None = None,
    keywords: bool = False,
    host: str = "127.0.0.1",
    port: int = 8000,
    folder: str | Path = FOLDER,
    limits: Limits | None = None,
    when_ready: Callable[[str, bool], None] | None = None,
) -> None:
    """Serve the page and the interface for programs until a signal ends it.

    Parameters
    ----------
    experiment : directory that ``asr train`` wrote, or that the page is to train; ``exp/`` and the folder's
        name by default
    model, grammar : names; the experiment's own by default
    reject : whether words that were probably not spoken are left out; None: as by default, where the model
        has a list of commands
    keywords : find the keywords that `asr.keywords` has chosen, and nothing else
    host : address; other machines reach only those that are not loopback
    port : 0 for any that is free
    folder : of the recordings that are made on the page
    limits : of what clients may ask
    when_ready : told the page's address, and whether there is a model already
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError(f"serve: needs {', '.join(missing)}, not installed; run: {how_to_install('serve')}")
    if not 0 <= port <= 65535:
        raise ConfigError(f"--port: {port}, expected 0 to 65535; 8000 is usual")
    takes = Path(folder)
    if os.path.lexists(takes) and not takes.is_dir():
        what = "a link to nothing" if takes.is_symlink() and not takes.exists() else "a file"
        raise ConfigError(f"--folder: {takes} is {what}, expected a folder; choose another name")
    place = Path(experiment) if experiment is not None else Path("exp") / takes.absolute().name
    check_uvicorn()
    import_module("asr.serving.app").run(  # it imports what the extra brings
        place,
        model=model,
        grammar=grammar,
        reject=reject,
        keywords=keywords,
        host=host,
        port=port,
        folder=takes,
        limits=limits or Limits(),
        when_ready=when_ready or (lambda address, is_ready: None),
    )


def check_uvicorn() -> None:
    """Raise `ConfigError` if the installed uvicorn lacks what is used of it."""
    try:
        lacking = import_module("asr.serving.connections").lacking()
    except ImportError as error:
        if not (error.name or "").startswith("uvicorn"):
            raise
        lacking = [error.name]
    if lacking:
        found = version("uvicorn")
        is_older = [int(n) for n in re.findall(r"\d+", found)[:2]] < [int(n) for n in UVICORN.split(".")]
        cure = f"pip install 'uvicorn{'>=' if is_older else '=='}{UVICORN}'"
        raise ConfigError(
            f"serve: uvicorn {found} lacks {', '.join(lacking)}, expected {UVICORN}; run: {cure}"
        )
