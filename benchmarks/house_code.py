"""What can be counted in the product's source: modules, functions, and places where one idea is done again.

The rules by which places are found:

machine checks
    ``isinstance``, ``type(…) is`` or a ``case`` that asks which class of machines an object is: a class of
    the product whose name ends with ``Machines``.
greedy loops
    a loop of the discriminants' rooms that chooses the best (``argmax``, ``argmin``, ``argsort``) and marks
    the choice as taken (``taken[chosen] = constant``), in its body or in what that calls of these rooms. What
    lies in a function that holds such a loop does not speak for a loop that calls it. A loop that lets a
    scorer choose (``….choose()``) is one, too; who calls it is none.
kernel implementations
    a function that calls an exponential function itself and says in its docstring, or by its class, that what
    comes back is a kernel: ``k(x`` or ``Gaussian of``, or a class named ``…Kernel`` or ``…Gaussian``.
BLAS limiters
    calls of ``threadpool_limits`` or ``ThreadpoolController``.
array aliases
    names of a module that are set to ``NDArray[…]``.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("foundation", "features", "acoustic", "decoder", "asr", "recipes")
GREEDY_ROOMS = ("acoustic/discriminants", "acoustic/kernels", "acoustic/pairs")
CHOICES = ("argmax", "argmin", "argsort")
LIMITERS = ("threadpool_limits", "ThreadpoolController")
KERNEL_WORDS = ("k(x", "Gaussian of")
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.While
Place = tuple[str, str]  # module's path, and what is there
LoopPlace = tuple[str, Function, Loop]


@dataclass(frozen=True)
class Module:
    """A source file.

    Attributes
    ----------
    path : below the checkout, with slashes
    text : text of the file
    """

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return what the parser makes of it."""
        return ast.parse(self.text, self.path)

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """Return the numbers of lines that hold code: no docstring, comment or blank."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        kept = (t for t in tokens if t.type not in _NO_CODE)
        lines = {n for t in kept for n in range(t.start[0], t.end[0] + 1)}
        return frozenset(lines - {n for node in ast.walk(self.tree) for n in _docstring_lines(node)})

    @cached_property
    def functions(self) -> list[tuple[str, Function]]:
        """Return all functions and methods with their names, as ``Class.method``."""
        return list(_functions(self.tree, ""))

    def size(self, node: Function) -> int:
        """Return a function's lines of code."""
        return sum(node.lineno <= n <= (node.end_lineno or 0) for n in self.code_lines)


def read_modules(checkout: Path, folders: Iterable[str] = PACKAGES) -> list[Module]:
    """Return the Python files of these folders, sorted."""
    paths = sorted(p for folder in folders for p in (checkout / folder).rglob("*.py"))
    return [Module(p.relative_to(checkout).as_posix(), p.read_text(encoding="utf-8")) for p in paths]


def modules_by_folder(modules: Iterable[Module]) -> dict[str, int]:
    """Return how many modules each folder holds itself, without ``__init__``."""
    counts: dict[str, int] = {}
    for module in modules:
        folder, _, name = module.path.rpartition("/")
        if name != "__init__.py":
            counts[folder] = counts.get(folder, 0) + 1
    return counts


def longest_modules(modules: Iterable[Module]) -> list[tuple[str, int]]:
    """Return the modules by their lines of code, the longest first."""
    return sorted(((m.path, len(m.code_lines)) for m in modules), key=lambda item: (-item[1], item[0]))


def longest_functions(modules: Iterable[Module]) -> list[tuple[str, int]]:
    """Return the functions by their lines of code, the longest first."""
    sizes = [(f"{m.path}: {name}", m.size(node)) for m in modules for name, node in m.functions]
    return sorted(sizes, key=lambda item: (-item[1], item[0]))


def machine_checks(modules: list[Module]) -> list[Place]:
    """Return where the class of machines is asked for."""
    classes = {
        node.name
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Machines")
    }
    return [
        (module.path, f"line {node.lineno}: {ast.unparse(asked)}")
        for module in modules
        for node in ast.walk(module.tree)
        for asked in _asked_classes(node)
        if classes & set(_names(asked))
    ]


def greedy_loops(modules: list[Module]) -> list[Place]:
    """Return the loops that select greedily."""
    rooms = [m for m in modules if m.path.startswith(GREEDY_ROOMS)]
    defined = _Defined(rooms)
    loops = [
        (module.path, function, loop)
        for module in rooms
        for _, function in module.functions
        for loop in ast.walk(function)
        if isinstance(loop, Loop)
    ]
    found: list[LoopPlace] = [place for place in loops if _asks_a_scorer(place[2])]
    scored = {id(function) for _, function, _ in found}
    loops = [place for place in loops if not _calls(place, scored, defined)]
    while place := _smallest_greedy(loops, found, defined):
        found.append(place)
    return sorted((path, f"line {loop.lineno}: in {function.name}") for path, function, loop in found)


def _asks_a_scorer(loop: Loop) -> bool:
    """Return whether a loop calls a method ``choose``."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "choose"
        for node in ast.walk(loop)
    )


def _calls(place: LoopPlace, functions: set[int], defined: _Defined) -> bool:
    """Return whether a loop, in what it calls, reaches one of some functions."""
    return any(id(node) in functions for node in _reached(place[0], place[2], defined, set()))


def _smallest_greedy(loops: list[LoopPlace], found: list[LoopPlace], defined: _Defined) -> LoopPlace | None:
    """Return the greedy loop that reaches least, outside of the functions that hold those found already."""
    known = {id(function) for _, function, _ in found}
    reached = [
        (_reached(place[0], place[2], defined, known), place) for place in loops if id(place[1]) not in known
    ]
    greedy = [(len(nodes), k) for k, (nodes, _) in enumerate(reached) if _chooses(nodes) and _marks(nodes)]
    return reached[min(greedy)[1]][1] if greedy else None


class _Defined:
    """Functions and methods of some modules by name: those of the module that calls come first."""

    def __init__(self, modules: Iterable[Module]) -> None:
        self._by_name: dict[str, list[tuple[str, Function]]] = {}
        for module in modules:
            for name, function in module.functions:
                self._by_name.setdefault(name.rpartition(".")[2], []).append((module.path, function))

    def of(self, name: str, path: str) -> list[tuple[str, Function]]:
        """Return what a call in a module may mean."""
        found = self._by_name.get(name, [])
        return [item for item in found if item[0] == path] or found


def kernel_implementations(modules: Iterable[Module]) -> list[Place]:
    """Return the functions that compute a Gaussian kernel."""
    return [
        (module.path, name)
        for module in modules
        for name, node in module.functions
        if any(n.lstrip("_").endswith("exp") for n in called_names(node))
        and (
            any(word in (ast.get_docstring(node) or "") for word in KERNEL_WORDS)
            or name.rpartition(".")[0].endswith(("Kernel", "Gaussian"))
        )
    ]


def blas_limiters(modules: Iterable[Module]) -> list[Place]:
    """Return where the number of BLAS threads is limited."""
    return [
        (module.path, f"line {node.lineno}: {ast.unparse(node)}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and last_name(node.func) in LIMITERS
    ]


def array_aliases(modules: Iterable[Module]) -> list[Place]:
    """Return the names of modules that stand for an array type."""
    return [
        (module.path, ast.unparse(node))
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Subscript)
        and last_name(node.value.value) == "NDArray"
    ]


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if isinstance(child, Function):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def _docstring_lines(node: ast.AST) -> range:
    """Return the lines of a docstring."""
    has_one = isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node) is not None
    return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1) if has_one else range(0)


def _asked_classes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an object's class is compared with."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("isinstance", "issubclass"):
        yield node.args[1]
    elif isinstance(node, ast.Compare) and "type" in called_names(node.left):
        yield from node.comparators
    elif isinstance(node, ast.MatchClass):
        yield node.cls


def _reached(path: str, loop: Loop, defined: _Defined, known: set[int]) -> list[ast.AST]:
    """Return the nodes of a loop and of the functions it calls, and those they call, without known ones."""
    waiting: list[tuple[str, ast.AST]] = [(path, loop)]
    seen: set[int] = set()
    nodes: list[ast.AST] = []
    while waiting:
        module, node = waiting.pop()
        if id(node) in seen | known:
            continue
        seen.add(id(node))
        own = list(_walk_without(node, known))
        nodes += own
        called = {last_name(n.func) for n in own if isinstance(n, ast.Call)}
        waiting += [item for name in sorted(called) for item in defined.of(name, module)]
    return nodes


def _walk_without(node: ast.AST, known: set[int]) -> Iterator[ast.AST]:
    """Yield a node and all below it, but for known ones."""
    if id(node) not in known:
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _walk_without(child, known)


def _chooses(nodes: Iterable[ast.AST]) -> bool:
    """Return whether the best of something is chosen."""
    names = (last_name(n.func) for n in nodes if isinstance(n, ast.Call))
    return any(name.lstrip("_") in CHOICES for name in names)


def _marks(nodes: Iterable[ast.AST]) -> bool:
    """Return whether one element, given by name, is set to a constant."""
    return any(
        isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name) and _is_constant(node.value)
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _is_constant(node: ast.AST) -> bool:
    """Return whether a value is a literal, infinity, or a name in capitals."""
    negated = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(negated, ast.Constant) or last_name(negated) == "inf" or last_name(negated).isupper()


def called_names(node: ast.AST) -> set[str]:
    """Return the last names of all functions called below a node."""
    return {last_name(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)} - {""}


def last_name(node: ast.AST) -> str:
    """Return ``c`` of ``a.b.c``, nothing of other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> Iterator[str]:
    yield from (last_name(n) for n in ast.walk(node))
