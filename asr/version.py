"""Which code this is: the installed version, and a digest of the sources that run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

from asr.files import file_digest, text_digest

DISTRIBUTION = "asr-sparse-kernel"
PACKAGES = ("acoustic", "asr", "decoder", "features", "foundation", "recipes")
_DIGEST_LENGTH = 16


def package_version() -> str:
    """Return the version, "unknown" in a source tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


@cache
def own_code() -> str:
    """Return which code of this package runs: name, version, and a digest of its sources where they are."""
    return _described([f"{DISTRIBUTION} {package_version()}"], PACKAGES)


@cache
def code_of(module: str) -> str:
    """Return which code a module of another package is: distribution, version, digest of the sources.

    The whole top-level package counts, since any of its modules may take part. The digest also changes where
    the version does not, for example while its author is working on the package.

    Parameters
    ----------
    module : full name, as the ``__module__`` of a class
    """
    package = module.partition(".")[0]
    names = sorted(set(packages_distributions().get(package, ())))
    return _described([f"{name} {version(name)}" for name in names] or [package], [package])


def _described(names: Iterable[str], packages: Iterable[str]) -> str:
    lines = [line for package in packages for line in _source_lines(package)]
    return " ".join([*names, text_digest("\n".join(lines))[:_DIGEST_LENGTH]] if lines else names)


def _source_lines(package: str) -> list[str]:
    """Return name and digest of each source file of a top-level package or module, none if it has none."""
    return [
        f"{package} {path.relative_to(root).as_posix()} {file_digest(path)}"
        for root in _roots(package)
        for path in sorted([root] if root.is_file() else root.rglob("*.py"))
    ]


def _roots(package: str) -> list[Path]:
    """Return the directories of a package, or the file of a module that is one file of Python."""
    try:
        spec = find_spec(package)
    except ValueError:  # __main__
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
