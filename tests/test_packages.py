"""What the packages offer by name, and that it is imported when it is asked for and no sooner."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ("asr", "acoustic", "acoustic.discriminants", "decoder", "features")
ALIASES = {"acoustic.discriminants": {"GaussianProjection": "GaussianCurve"}}  # an earlier name that is kept
SLOW = ("joblib", "numba", "numpy", "safetensors", "scipy", "sklearn", "soundfile", "soxr", "tqdm")


def modules_after(code: str) -> set[str]:
    """Return the modules a new process has imported after some code."""
    report = "import atexit, sys; atexit.register(lambda: print('modules:', *sys.modules))\n"
    done = subprocess.run([sys.executable, "-c", report + code], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("modules:")[2].split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["train", "--help"], ["decode", "--help"]])
def test_help_and_version_import_nothing_slow(arguments: list[str]) -> None:
    code = f"import asr.cli\ntry: asr.cli.main({arguments})\nexcept SystemExit as end: assert end.code == 0"
    modules = modules_after(code)
    assert "asr.cli" in modules
    assert modules.isdisjoint(SLOW)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_nothing_slow(package: str) -> None:
    modules = modules_after(f"import {package}; dir({package})")
    assert package in modules
    assert modules.isdisjoint(SLOW)


@pytest.mark.parametrize("package", PACKAGES)
def test_stub_and_package_agree(package: str) -> None:
    """A type checker reads ``__all__`` and the imports of the stub; the package has just these names."""
    module = importlib.import_module(package)
    tree = ast.parse(Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    (public,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(imported) == sorted(public) == sorted(module.__all__) == sorted(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_no_module(package: str) -> None:
    """Some modules have the name of their function; even when they were imported first it is the function."""
    module = importlib.import_module(package)
    for path in Path(str(module.__file__)).parent.glob("*.py"):
        if not path.stem.startswith("__"):
            importlib.import_module(f"{package}.{path.stem}")
    objects = {name: getattr(module, name) for name in module.__all__}
    assert [name for name, found in objects.items() if inspect.ismodule(found)] == []
    named = {name: found.__name__ for name, found in objects.items() if hasattr(found, "__name__")}
    aliases = {name: own for name, own in named.items() if name != own}
    assert aliases == ALIASES.get(package, {})


@pytest.mark.parametrize("package", PACKAGES)
def test_unknown_name(package: str) -> None:
    with pytest.raises(AttributeError, match=f"No {package} attribute nothing"):
        _ = importlib.import_module(package).nothing
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {package} import nothing")


def test_a_function_named_as_its_module() -> None:
    import features.mfcc

    assert inspect.isfunction(features.mfcc)
    assert features.mfcc is getattr(sys.modules[features.mfcc.__module__], features.mfcc.__name__)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "ResidualSampledClassifier",
            "; it is elsewhere: from acoustic.discriminants import ResidualSampledClassifier",
        ),
        ("NGram", "; it is elsewhere: from decoder import NGram"),
        ("mfcc", "; it is elsewhere: from features import mfcc"),
        ("recognizer_", ' (did you mean "Recognizer"?)'),
        ("qqqq", "qqqq"),
    ],
)
def test_a_name_of_another_package_is_found_there(name: str, said: str) -> None:
    import asr

    with pytest.raises(AttributeError, match=f"{re.escape(said)}$"):
        getattr(asr, name)
    match = re.search(r"from (\S+) import (\w+)", said)
    assert match is None or hasattr(importlib.import_module(match[1]), match[2])
