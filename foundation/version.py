"""Which code this is: the installed version, a digest of all sources, and of those behind one module.

What a training step makes follows from the module of its function and from what that imports of ours,
directly or through other modules; a page of the report or the command line is not among that. `code_behind`
finds these modules by reading import statements, also those within functions.

Modules are imported, and their sources read, when they are needed: in a training of hours that may be after
somebody has installed another version. `one_version` keeps a run from taking parts of two.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from foundation.errors import AsrError

DISTRIBUTION = "asr-sparse-kernel"
PACKAGES = ("acoustic", "asr", "decoder", "features", "foundation", "recipes")
_DIGEST_LENGTH = 16


def package_version() -> str:
    """Return the version, "unknown" in a source tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"


def how_to_install(extra: str = "") -> str:
    """Return the command that installs the package, with an extra: from where it came, as pip has noted it.

    The package is on no index: its name alone is found nowhere.
    """
    try:
        noted = distribution(DISTRIBUTION).read_text  # UTF-8 everywhere
        record = json.loads(noted("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        record = {}
    url, extras = str(record.get("url", "")), f"[{extra}]" if extra else ""
    if "vcs_info" in record:
        return f'pip install "{DISTRIBUTION}{extras} @ {record["vcs_info"].get("vcs", "git")}+{url}"'
    place = url2pathname(urlsplit(url).path) if url.startswith("file:") else ""
    if not place or not Path(place).exists():
        return f'pip install ".{extras}" in the directory of its source'
    return f'pip install "{"." if Path(place).resolve() == Path.cwd() else place}{extras}"'


class ChangedCodeError(AsrError):
    """Another version of the program was installed while it ran."""


# Size and checksum of each file of ours when a run began; empty where nobody asked for that. The same version
# may be installed again, or checked out, meanwhile: times say nothing.
_marks: dict[str, tuple[int, int] | None] = {}


@contextmanager
def one_version() -> Iterator[None]:
    """Raise `ChangedCodeError` where a source of ours is imported or read that has changed since."""
    if _marks:
        yield
        return
    paths = (path for package in PACKAGES for root in _roots(package) for path in _sources_below(root))
    _marks.update((path, _mark(path)) for path in paths)
    watch = _Watch()
    sys.meta_path.insert(0, watch)
    try:
        yield
    finally:
        sys.meta_path.remove(watch)
        _marks.clear()


class _Watch(MetaPathFinder):
    """Finds no module, but looks at the sources of those of ours before others find them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> None:
        if path is not None and fullname.partition(".")[0] in PACKAGES:
            inner = [os.path.join(place, fullname.rpartition(".")[2]) for place in path]
            for place in inner:
                _check_mark(f"{place}.py")
                _check_mark(os.path.join(place, "__init__.py"))


def _sources_below(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in names if name.endswith((".py", ".pyi")))


def _mark(path: str) -> tuple[int, int] | None:
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    return len(content), zlib.crc32(content)


def _check_mark(path: str) -> None:
    """Raise an error if a source was changed, added or removed since a run began."""
    if _marks and _mark(path) != _marks.get(path):
        name = "/".join(Path(path).parts[-3:])  # not where it lies, for servers say this as well
        raise ChangedCodeError(
            f"{name}: changed while the program ran, expected one version from the beginning to the end; run "
            "the same command again, training goes on where it was"
        )


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


def code_behind(module: str) -> str:
    """Return the name of a module, and a digest of its source and of all of ours that it imports.

    A module of somebody else, such as a recipe script, counts with its own source and with what it imports of
    ours. Where a source cannot be read, all of our code counts.
    """
    if module.partition(".")[0] in PACKAGES:
        return f"{module} {_digest_behind(module)}"
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or not Path(path).is_file():
        return f"{module} {own_code()}"
    text = Path(path).read_text(encoding="utf-8")
    return f"{module} {_digest(_reached(_imported(text)), text)}"


@cache
def _digest_behind(module: str) -> str:
    return _digest(modules_behind(module))


def modules_behind(module: str) -> frozenset[str]:
    """Return the names of a module of ours and of all of ours that it imports, directly or through others."""
    return _reached([module])


def _reached(modules: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imports_of(module)
    return frozenset(found)


def _digest(modules: Iterable[str], text: str = "") -> str:
    lines = [f"{module} {_source_digest(module)}" for module in sorted(modules)]
    return _sha256("\n".join([*lines, text]).encode())[:_DIGEST_LENGTH]


@cache
def _source_digest(module: str) -> str:
    path = _source_of(module)
    return own_code() if path is None else _sha256(_own_source(path))


@cache
def imports_of(module: str) -> tuple[str, ...]:
    """Return the modules of ours that a module of ours imports itself; not those for its types alone."""
    path = _source_of(module)
    return () if path is None else tuple(sorted(set(_imported(_own_source(path).decode()))))


def _own_source(path: Path) -> bytes:
    """Return a source of ours."""
    _check_mark(str(path))
    return path.read_bytes()


def _imported(text: str) -> Iterator[str]:
    """Yield the names of our modules that a source imports; of public names of packages, their modules."""
    tree = ast.parse(text)
    for node in _that_run(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in PACKAGES:
                    yield alias.name
                    # ``import asr`` and then ``asr.read_corpus``
                    known = _public(alias.name)
                    used = (n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute))
                    yield from (known[name] for name in used if name in known)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES:
            package = node.module or ""
            for alias in node.names:
                inner = f"{package}.{alias.name}"
                is_module = _source_of(inner) is not None
                yield inner if is_module else _public(package).get(alias.name, package)


def _that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a module at all depths, but those that only a type checker sees."""
    blocks = (getattr(node, field, ()) for field in ("body", "orelse", "finalbody", "handlers", "cases"))
    for inner in (inner for block in blocks for inner in (block if isinstance(block, list) else ())):
        if not (isinstance(inner, ast.If) and "TYPE_CHECKING" in ast.dump(inner.test)):
            yield inner
            yield from _that_run(inner)


@cache
def _public(package: str) -> dict[str, str]:
    """Return the module of each name that a package's ``__init__.pyi`` offers."""
    path = _source_of(package)
    stub = path.with_suffix(".pyi") if path is not None else None
    if stub is None or not stub.is_file():
        return {}
    nodes = ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module]
    return {alias.asname or alias.name: f"{package}.{n.module}" for n in froms for alias in n.names}


@cache
def _source_of(module: str) -> Path | None:
    """Return the file of a module or package of ours, None if there is none."""
    package, *rest = module.split(".")
    for root in _roots(package):
        inner = root.joinpath(*rest)
        for path in (inner.with_suffix(".py"), inner / "__init__.py"):
            if path.is_file():
                return path
    return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _described(names: Iterable[str], packages: Iterable[str]) -> str:
    lines = [line for package in packages for line in _source_lines(package)]
    return " ".join([*names, _sha256("\n".join(lines).encode())[:_DIGEST_LENGTH]] if lines else names)


def _source_lines(package: str) -> list[str]:
    """Return name and digest of each source file of a top-level package or module, none if it has none."""
    return [
        f"{package} {path.relative_to(root).as_posix()} {_sha256(path.read_bytes())}"
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
