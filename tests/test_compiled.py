"""Compiled code on disk is never older than its source.

A kernel that calls a compiled function of another module must not keep the old machine code of it after that
module has changed; nor a constant of another module, nor the order of a record's fields. Machine code says of
which sources it is (`foundation.compiled.files_of_kernels`): those of the kernel's module, and of all modules
with compiled functions that it imports. Hence the rule for all our packages: whatever goes into a cached
kernel stands in a module that imports `njit`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import get_type_hints

import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher

from foundation.compiled import files_of_kernels

PACKAGES = ("acoustic", "asr", "decoder", "features", "foundation", "recipes")


def our_modules() -> Iterator[ModuleType]:
    for package in map(importlib.import_module, PACKAGES):
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def cached_kernels(module: ModuleType) -> dict[str, Dispatcher]:
    """Return the functions of a module whose compiled code is kept on disk."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher)
        and value.py_func.__module__ == module.__name__
        and value.stats.cache_path is not None
    }


def imported_names(module: ModuleType) -> dict[str, str]:
    """Return the names that a module takes from our other modules, or that are such a module, and whose."""
    names = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            origin = node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
            if origin.partition(".")[0] in (*PACKAGES, "plain_example"):
                names[alias.asname or alias.name.partition(".")[0]] = origin
    return names


def names_in(code: CodeType) -> set[str]:
    inner = (names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def file_of(module: str) -> str:
    return str(sys.modules[module].__file__)


def foreign_parts(module: ModuleType, name: str, kernel: Dispatcher) -> Iterator[str]:
    """Yield what goes into a kernel from our other modules, and whose change the kernel does not see."""
    function, imported = kernel.py_func, imported_names(module)
    seen = {str(file) for file in files_of_kernels(Path(str(module.__file__)))}
    for used in sorted(names_in(function.__code__)):
        value = function.__globals__.get(used)
        if used in imported and file_of(imported[used]) not in seen:
            yield f"{module.__name__}.{name}: {used} of {imported[used]}"
        elif isinstance(value, Dispatcher) and file_of(value.py_func.__module__) not in seen:
            yield f"{module.__name__}.{name}: {used} of {value.py_func.__module__}"
    for kind in get_type_hints(function).values():
        if hasattr(kind, "_fields") and file_of(kind.__module__) not in seen:
            yield f"{module.__name__}.{name}: {kind.__name__} of {kind.__module__}"


def test_a_change_of_what_goes_into_a_cached_kernel_is_seen() -> None:
    found, n_kernels = set(), 0
    for module in our_modules():
        kernels = cached_kernels(module)
        n_kernels += len(kernels)
        found |= {part for name, kernel in kernels.items() for part in foreign_parts(module, name, kernel)}
    assert n_kernels > 50
    assert sorted(found) == []


PLAIN = """
from typing import NamedTuple
from numba import njit

BY_SILENCE = 3

class Weights(NamedTuple):
    lm_scale: float

@njit
def best_way(scores, x):
    return x
"""
FOREIGN = """
from numba import njit
from decoder.search.compiled import BY_SILENCE as known, _best_way as good_way
from plain_example import BY_SILENCE, Weights, best_way as better
import plain_example as elsewhere

def borrowed(scores):
    def inner(x):
        return better(scores, x)
    return inner(0) + BY_SILENCE

def attribute(scores):
    return elsewhere.best_way(scores, 0)

def record(weights: Weights, scores):
    return weights.lm_scale

@njit
def own(x):
    return x

def good(x):
    return own(x) + good_way(x, known)
"""


def written(directory: Path, name: str, source: str) -> ModuleType:
    path = directory / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    directory = tmp_path_factory.mktemp("example")
    written(directory, "plain_example", PLAIN)
    yield written(directory, "foreign_parts_example", FOREIGN)
    del sys.modules["plain_example"], sys.modules["foreign_parts_example"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("borrowed", ["BY_SILENCE of plain_example", "better of plain_example"]),
        ("attribute", ["elsewhere of plain_example"]),
        ("record", ["Weights of plain_example"]),
        ("good", []),
    ],
)
def test_the_rule_sees_functions_constants_and_records(
    name: str, expected: list[str], example: ModuleType
) -> None:
    kernel = njit(cache=True)(getattr(example, name))
    assert kernel.stats.cache_path is not None
    found = list(foreign_parts(example, name, kernel))
    assert found == [f"foreign_parts_example.{name}: {part}" for part in expected]
