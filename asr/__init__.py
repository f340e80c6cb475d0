"""Speech recognition and forced alignment from small transcribed corpora, on a CPU."""

import os
import sys
from importlib.util import find_spec

import lazy_loader


def _hidden_package() -> str:
    """Return what to do about a file that is found in place of a package beside this one; "" if none is."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in ("foundation", "features", "acoustic", "decoder", "recipes"):
        own = os.path.join(root, name, "__init__.py")
        try:
            spec = find_spec(name)
        except ValueError:  # a module that says nothing of its origin
            spec = None
        found = spec.origin if spec is not None else getattr(sys.modules.get(name), "__file__", None)
        if found and os.path.isfile(own) and os.path.realpath(found) != os.path.realpath(own):
            return (
                f'{found} hides the package "{name}" that asr needs, expected {own}; '
                "rename what hides it, or move it to another folder"
            )
    return ""


def _is_command_line() -> bool:
    """Return whether ``asr`` or ``python -m asr`` is being started, and not a script that imports this."""
    program = os.path.splitext(os.path.basename(sys.argv[0]))[0] if getattr(sys, "argv", None) else ""
    return program == "asr" or (program == "-m" and any(w.split(".")[0] == "asr" for w in sys.orig_argv))


if _said := _hidden_package():
    if not _is_command_line():
        raise ImportError(_said)
    print(f"asr: {_said}", file=sys.stderr)
    raise SystemExit(2)

# What __init__.pyi lists is imported when it is first asked for.
_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Return what is imported when it is asked for; an error says in which other package a name is."""
    try:
        return _attribute(name)
    except AttributeError as error:
        if name.startswith("_"):
            raise
        from importlib import import_module

        from foundation.errors import suggestion

        for package in ("acoustic.discriminants", "acoustic", "decoder", "features"):
            if name in import_module(package).__all__:
                raise AttributeError(f"{error}; it is elsewhere: from {package} import {name}") from None
        raise AttributeError(f"{error}{suggestion(name, __all__)}") from None
