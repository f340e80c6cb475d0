"""What can be counted in the tests: those that assert little, errors not looked at, modules without a file.

A test that asserts nothing has no ``assert``, no ``assert_…`` of numpy or its own, no ``raises`` or
``warns``, and calls no function of its file that has. One that asserts only form has only assertions about
shapes and types, or that numbers are finite or something is not None. A module without a test file has
functions, but no ``test_NAME.py`` is in the folder of the tests that mirrors its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from house_code import Function, Module, Place, called_names, last_name

FORM_ATTRIBUTES = ("shape", "dtype", "ndim")
FORM_CALLS = ("isinstance", "issubclass", "type", "hasattr", "callable", "isfinite")
CONTEXTS = ("raises", "warns", "deprecated_call")


def tests_of(modules: Iterable[Module]) -> Iterator[tuple[Module, str, Function]]:
    """Yield the tests with their names."""
    for module in modules:
        for name, function in module.functions:
            if function.name.startswith("test"):
                yield module, name, function


def tests_without_assertion(modules: list[Module]) -> list[Place]:
    """Return the tests that assert nothing."""
    return [
        (module.path, name)
        for module, name, function in tests_of(modules)
        if not any(True for _ in _assertions(function, module))
    ]


def tests_of_form_only(modules: list[Module]) -> list[Place]:
    """Return the tests that assert only form."""
    found = []
    for module, name, function in tests_of(modules):
        assertions = list(_assertions(function, module))
        if assertions and all(_is_of_form(node) for node in assertions):
            found.append((module.path, name))
    return found


def raises_without_match(modules: Iterable[Module]) -> list[Place]:
    """Return the uses of ``pytest.raises`` that look at no message: without ``match`` and without ``as``."""
    return [
        (module.path, f"line {call.lineno}")
        for module in modules
        for call in _raises_calls(module.tree)
        if not any(keyword.arg == "match" for keyword in call.keywords)
    ]


def modules_without_tests(modules: Iterable[Module], tests: Iterable[Module]) -> list[tuple[str]]:
    """Return the modules without a test file of their name in the mirrored folder."""
    files = {module.path for module in tests}
    return [
        (module.path,)
        for module in modules
        for folder, _, name in [module.path.rpartition("/")]
        if module.functions
        and name != "__init__.py"
        and f"tests/{folder}/test_{name.lstrip('_')}" not in files
    ]


def _raises_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of ``raises`` whose error is not kept for a look at it."""
    kept = {
        id(item.context_expr)
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if item.optional_vars is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node.func) == "raises" and id(node) not in kept:
            yield node


def _assertions(function: Function, module: Module) -> Iterator[ast.AST]:
    """Yield what a test asserts, also through functions of its file."""
    own = {f.name: f for _, f in module.functions if not f.name.startswith("test")}
    waiting, seen = [function], set()
    while waiting:
        current = waiting.pop()
        for node in ast.walk(current):
            if _is_assertion(node):
                yield node
        called = {name for name in called_names(current) & own.keys() if name not in seen}
        seen |= called
        waiting += [own[name] for name in sorted(called)]


def _is_assertion(node: ast.AST) -> bool:
    """Return whether a node is an ``assert`` or calls what by its name asserts."""
    name = last_name(node.func) if isinstance(node, ast.Call) else ""
    return (
        isinstance(node, ast.Assert)
        or name.lstrip("_").startswith(("assert", "check", "approx", "fail"))
        or name in CONTEXTS
    )


def _is_of_form(node: ast.AST) -> bool:
    """Return whether an assertion is about form alone."""
    if not isinstance(node, ast.Assert):
        return False
    parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return all(_is_form(part) for part in parts)


def _is_form(node: ast.AST) -> bool:
    """Return whether an expression, or one side of a comparison, is a form."""
    if isinstance(node, ast.UnaryOp):
        return _is_form(node.operand)
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        return isinstance(node.ops[0], ast.IsNot) or any(_is_form(side) for side in sides)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(_is_form(e) for e in node.elts)
    if isinstance(node, ast.Subscript):
        return _is_form(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr in FORM_ATTRIBUTES
    if isinstance(node, ast.Call):
        return _is_form_call(node)
    return False


def _is_form_call(node: ast.Call) -> bool:
    """Return whether a call says something about form; ``all`` and ``any`` of what does, too."""
    name = last_name(node.func)
    if name not in ("all", "any", "set"):
        return name in FORM_CALLS
    if node.args:  # all(… for …), or np.all(…)
        inner = node.args[0]
        return _is_form(
            inner.elt if isinstance(inner, ast.GeneratorExp | ast.SetComp | ast.ListComp) else inner
        )
    return isinstance(node.func, ast.Attribute) and _is_form(node.func.value)
