"""Every test states a value, every error a message, and every example of a docstring is run."""

from __future__ import annotations

import ast
import doctest
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("foundation", "features", "acoustic", "decoder", "asr", "recipes", "benchmarks/papers")

# What an assertion may look at without saying anything of a value.
SHAPES = {"shape", "dtype", "ndim", "size", "nbytes"}
SHAPE_CALLS = {"len", "isinstance", "issubclass", "hasattr", "callable", "type"}
RAISES = {"raises", "warns"}
# Calls of other libraries that assert by themselves.
ASSERTING_CALLS = {"check_estimator", "parametrize_with_checks", "fail"}
# And our own checks for authors of plugins.
ASSERTING_CALLS |= {"check_emission_model", "check_grammar", "check_recipe"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(node: ast.expr) -> str:
    """Return the last part of a dotted name, or of the function that is called."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield all functions of a module, methods and nested ones included."""
    yield from (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def is_shape(node: ast.expr) -> bool:
    """Say whether an expression is a shape, a type, a length or a truth about one of them."""
    if isinstance(node, ast.BoolOp):
        return all(map(is_shape, node.values))
    if isinstance(node, ast.UnaryOp):
        return is_shape(node.operand)
    if isinstance(node, ast.Subscript):
        return is_shape(node.value)
    if isinstance(node, ast.Compare):
        return any(map(is_shape, [node.left, *node.comparators])) or is_not_none(node)
    if isinstance(node, ast.Call) and name_of(node) in {"all", "any"} and node.args:
        argument = node.args[0]
        return is_shape(argument.elt if isinstance(argument, ast.GeneratorExp | ast.ListComp) else argument)
    if isinstance(node, ast.Call):
        return name_of(node) in SHAPE_CALLS
    return isinstance(node, ast.Attribute) and node.attr in SHAPES


def is_not_none(node: ast.Compare) -> bool:
    """Say whether a comparison says no more than that something is there."""
    (operator, *_), (other, *_) = node.ops, node.comparators
    return isinstance(operator, ast.IsNot) and isinstance(other, ast.Constant) and other.value is None


def says_which_message(call: ast.Call) -> bool:
    """Say whether a call of `pytest.raises` or `pytest.warns` says which message is expected."""
    return any(keyword.arg == "match" for keyword in call.keywords)


def own_checks(function: Function) -> Iterator[bool]:
    """Yield for each assertion of a function itself whether it states a value."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield not is_shape(node.test)
        elif isinstance(node, ast.Call) and name_of(node).startswith("assert_"):
            yield not any(map(is_shape, node.args))
        elif isinstance(node, ast.Call) and name_of(node) in RAISES | ASSERTING_CALLS:
            yield True


def checks(
    function: Function, helpers: dict[str, Function], seen: frozenset[str] = frozenset()
) -> list[bool]:
    """Return for each assertion of a test and of the helpers it calls whether it states a value."""
    found = list(own_checks(function))
    called = {name_of(node) for node in ast.walk(function) if isinstance(node, ast.Call)}
    for name in sorted((called & helpers.keys()) - seen - {function.name}):
        found += checks(helpers[name], helpers, seen | {function.name, name})
    return found


def helpers_of(path: Path, tree: ast.AST) -> dict[str, Function]:
    """Return the functions a test module may call: those of the conftests above it and its own."""
    conftests = [folder / "conftest.py" for folder in reversed(path.parents)]
    found = {
        name: f for conftest in conftests if conftest != path for name, f in functions_in(conftest).items()
    }
    return found | {f.name: f for f in functions(tree)}


@cache
def functions_in(path: Path) -> dict[str, Function]:
    """Return the functions of a module by name; none where there is no such file."""
    return (
        {f.name: f for f in functions(ast.parse(path.read_text(encoding="utf-8")))} if path.is_file() else {}
    )


def is_test(function: Function) -> bool:
    """Say whether a function is a test."""
    is_fixture = any(name_of(decorator) == "fixture" for decorator in function.decorator_list)
    return function.name.startswith("test") and not is_fixture


class Complaint(NamedTuple):
    """What is weak, and where."""

    path: str
    line: int
    function: str
    what: str


def complaints(path: Path, root: Path = ROOT) -> Iterator[Complaint]:
    """Yield what is weak in a test module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    helpers = helpers_of(path, tree)
    name = path.relative_to(root).as_posix()
    for function in functions(tree):
        found = checks(function, helpers)
        if is_test(function) and not any(found):
            what = "asserts only shapes, types or lengths" if found else "asserts nothing"
            yield Complaint(name, function.lineno, function.name, what)
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and name_of(node) in RAISES and not says_which_message(node):
                yield Complaint(name, node.lineno, function.name, f"pytest.{name_of(node)} without match=")


def modules(folder: Path) -> list[Path]:
    """Return the Python files below a folder, in order."""
    return sorted(folder.rglob("*.py"))


def test_every_test_states_a_value_and_every_error_a_message() -> None:
    found = {complaint for path in modules(ROOT / "tests") for complaint in complaints(path)}
    assert [f"{c.path}:{c.line}: {c.function}: {c.what}" for c in sorted(found)] == []


def test_every_example_of_a_docstring_is_run() -> None:
    """Doctest sees all examples: not those of compiled functions, for one."""
    for path in (path for package in PACKAGES for path in modules(ROOT / package)):
        text = path.read_text(encoding="utf-8")
        if ">>>" not in text:
            continue
        assert "doctest: +SKIP" not in text, path
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
        n_written = sum(">>>" in (ast.get_docstring(node) or "") for node in nodes)
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        n_found = sum(bool(test.examples) for test in doctest.DocTestFinder().find(module))
        assert n_found == n_written, path


WEAK_EXAMPLES = {
    "asserts nothing": [
        "def test_x(): f()",
        "def test_x():\n    helper()\ndef helper(): f()",
    ],
    "asserts only shapes": [
        "def test_x(): assert f().shape == (3,)",
        "def test_x(): assert f() is not None and isinstance(f(), int)",
        "def test_x(): assert len(f()) == 3",
        "def test_x(): assert all(x.dtype == float for x in f())",
        "def test_x(): assert_array_equal(f().shape, (3,))",
        "class TestX:\n    def test_x(self): self.look(3)\n    def look(self, x): assert len(x) == 3",
    ],
    "without match=": [
        "def test_x():\n    with pytest.raises(ValueError): f()",
        "def test_x():\n    with pytest.warns(UserWarning):\n        assert f() == 3",
        "def helper():\n    return pytest.raises(ValueError)",
    ],
}
GOOD_EXAMPLES = [
    "def test_x(): assert f() == 3",
    "def test_x(): assert f() is None",
    "def test_x():\n    helper()\ndef helper(): assert_allclose(f(), 3)",
    "def test_x():\n    assert len(f()) == 3\n    assert f()[0] == 3",
    "def test_x():\n    with pytest.raises(ValueError, match='x'): f()",
    "@pytest.fixture\ndef test_data(): return 3",
]


@pytest.mark.parametrize(
    ("message", "text"), [(message, text) for message, texts in WEAK_EXAMPLES.items() for text in texts]
)
def test_weak_tests_are_found(message: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(text)
    (complaint,) = complaints(tmp_path / "test_x.py", tmp_path)
    assert complaint.path == "test_x.py"
    assert message in complaint.what


@pytest.mark.parametrize("text", GOOD_EXAMPLES)
def test_good_tests_pass(text: str, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(text)
    assert list(complaints(tmp_path / "test_x.py", tmp_path)) == []
