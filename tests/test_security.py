"""The product runs no code but its own and the recipes it is told of: no shell, no eval, no unpickling."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("foundation", "features", "acoustic", "decoder", "asr", "recipes")
RUNS_CODE = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "os.execv",
    "subprocess.getoutput",
}
READS_CODE = {
    *(
        f"{module}.{name}"
        for module in ("pickle", "cloudpickle", "marshal", "dill")
        for name in ("load", "loads")
    ),
    *("joblib.load", "shelve.open", "torch.load", "yaml.load", "pickling.load", "pickling.loads"),
}
# Where each may stand all the same.
EXCUSED = {
    # A recipe's script, which the command line names.
    ("asr/recipe.py", "spec.loader.exec_module"),
    # What was pickled in the line above, to see whether a plugin can go to another process.
    ("foundation/conformance.py", "pickling.load"),
    # Machine code beside the modules it was compiled from, or in the user's own cache.
    ("foundation/compiled.py", "pickle.loads"),
}
# Modules that import pickle: blocks of a run, read back by a reader that builds nothing but records of this
# package; functions for the workers of a user's own cluster; the check of plugins; compiled code.
PICKLE = {
    "foundation/packing.py",
    "foundation/compiled.py",
    "asr/engines/dask_engine.py",
    "foundation/conformance.py",
}


def dotted(node: ast.expr) -> str:
    """Return the name that is called, such as ``os.system``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def dangers(tree: ast.AST) -> Iterator[str]:
    """Yield what runs code, reads code, or gives a line to a shell."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in RUNS_CODE | READS_CODE or name.endswith(".exec_module"):
                yield name
            for keyword in node.keywords:
                is_on = not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
                if keyword.arg in ("shell", "allow_pickle") and is_on:
                    yield f"{name}({keyword.arg})"


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def test_no_code_is_run_but_recipes() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), danger)
        for path in modules()
        for danger in dangers(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == EXCUSED


def test_pickle_is_imported_where_its_reader_is_bounded() -> None:
    importing = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if {name.partition(".")[0] for name in names} & {
                "pickle",
                "cloudpickle",
                "marshal",
                "dill",
                "shelve",
            }:
                importing.add(path.relative_to(ROOT).as_posix())
    assert importing == PICKLE


@pytest.mark.parametrize(
    ("line", "danger"),
    [
        ("eval(text)", "eval"),
        ("os.system(line)", "os.system"),
        ("subprocess.run(line, shell=True)", "subprocess.run(shell)"),
        ("np.load(path, allow_pickle=True)", "np.load(allow_pickle)"),
        ("pickle.loads(data)", "pickle.loads"),
        ("spec.loader.exec_module(module)", "spec.loader.exec_module"),
    ],
)
def test_dangers_are_seen(line: str, danger: str) -> None:
    assert list(dangers(ast.parse(line))) == [danger]


@pytest.mark.parametrize(
    "line", ["re.compile(text)", "np.load(path, allow_pickle=False)", "run(line, shell=False)"]
)
def test_what_is_no_danger(line: str) -> None:
    assert list(dangers(ast.parse(line))) == []
