"""How many places the code has, and how many of them a reader or a command passes through.

    python benchmarks/house.py ../base . --exp exp/fsdd --wav one.wav --corpus recordings --out house.json

One column for each checkout. Modules, lines and functions are counted in the files that git tracks. Modules
that a command imports are counted in a process of its own. A walk counts the modules of which a function is
called while a model is trained on ``--corpus`` (a folder of recordings), one recording is decoded, or the
scores of one block of frames are computed; what is merely imported does not count.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath
from statistics import median

from checkouts import Checkout
from report import argument_parser, print_table, write_report

PACKAGES = ("asr", "acoustic", "features", "decoder", "foundation", "recipes")
_PAPERS = ("benchmarks/papers/", "recipes/tables/")  # where the papers' tables are, and were
SMALL = 60  # lines of a module that is perhaps a part of its only importer

# Runs in a process of the checkout: argv is its root, a walk's name, and what the walk needs.
_PROBE = """
import json, sys, threading
from pathlib import Path
root, walk, *arguments = sys.argv[1:]
entered = {}
def hook(frame, event, _):
    code = frame.f_code
    is_function = code.co_flags & 1  # bodies of modules and classes are none
    if event == "call" and is_function and code.co_filename.startswith(root):
        entered.setdefault(code.co_filename[len(root):].strip("/"))
if walk == "scores":
    import numpy as np
    from acoustic import load_model
    model, block = load_model(Path(arguments[0])), None
    for n_dims in range(1, 400):  # the front end's own number is a matter of its configuration
        try:
            block = np.zeros((100, n_dims), np.float32)
            model.scores(block)
            break
        except Exception:
            continue
    run = lambda: model.scores(block)
else:
    from asr.__main__ import main
    sys.argv = ["asr", *arguments]
    run = main
threading.setprofile(hook); sys.setprofile(hook)
try:
    run()
except SystemExit:
    pass
sys.setprofile(None); threading.setprofile(None)
ours = [m for m in sys.modules if m.partition(".")[0] in %r]
with open(%r, "w") as file:
    json.dump({"entered": list(entered), "imported": len(ours)}, file)
"""


def main() -> None:
    """Count, print and write."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("checkouts", type=_checkout, nargs="+", metavar="DIR")
    parser.add_argument("--exp", type=Path, help="an experiment, for the walks of decoding and scores")
    parser.add_argument("--model", default="pools", help="of the experiment")
    parser.add_argument("--wav", type=Path, help="a recording, for the walk of decoding")
    parser.add_argument("--corpus", type=Path, help="a folder of recordings, for the walk of training")
    arguments = parser.parse_args()
    checkouts = [Checkout(directory) for directory in arguments.checkouts]
    counted = [_counted(c.directory) | _walked(c, arguments) for c in checkouts]
    heads = [f"{c.directory.resolve().name} ({c.revision()})" for c in checkouts]
    names = list(dict.fromkeys(name for counts in counted for name in counts if name != "walks"))
    print_table(["", *heads], [[name, *(counts.get(name) for counts in counted)] for name in names])
    write_report(arguments.out, dict(zip(heads, counted, strict=True)))


def _checkout(text: str) -> Path:
    """Return a directory that holds the packages."""
    if not (Path(text) / "asr").is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no folder asr in it, expected a checkout of the product")
    return Path(text)


def _counted(root: Path) -> dict[str, object]:
    """Return the figures of a checkout's files."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True)
    files = {f: (root / f).read_text(encoding="utf-8") for f in listed.stdout.split() if f.endswith(".py")}
    product = {f: text for f, text in files.items() if f.split("/")[0] in PACKAGES}
    trees = {f: ast.parse(text) for f, text in product.items()}
    importers = _importers(trees)
    functions = [
        node.end_lineno - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    imports = sum(isinstance(n, ast.Import | ast.ImportFrom) for t in trees.values() for n in ast.walk(t))
    lines = {f: text.count("\n") for f, text in product.items()}
    folders = Counter(str(PurePosixPath(f).parent) for f in product if not f.endswith("__init__.py"))
    alone = [f for f in product if len(importers[f]) == 1 and _folder(f) == _folder(*importers[f])]
    return {
        "product modules": len(product),
        **{f"  {package}": sum(f.startswith(f"{package}/") for f in product) for package in PACKAGES},
        "lines of the product": sum(lines.values()),
        "functions": len(functions),
        "lines of a function, median": median(functions),
        "lines of a module, median": median(lines.values()),
        "import lines": imports,
        "modules with one importer, in the same folder": len(alone),
        f"  of these under {SMALL} lines": sum(lines[f] < SMALL for f in alone),
        "largest folders": ", ".join(f"{name} {n}" for name, n in folders.most_common(4)),
        "modules at the root of asr": folders["asr"],
        "lines of benchmarks": _total(files, "benchmarks/") - _total(files, _PAPERS[0]),
        "lines of the papers' tables": _total(files, "benchmarks/papers/")
        + _total(files, "benchmarks/papers/"),
        "lines of tests": _total(files, "tests/"),
        "lines of README": (root / "README.md").read_text(encoding="utf-8").count("\n"),
    }


def _importers(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return for each file the files that import it."""
    of_module = {f.removesuffix(".py").removesuffix("/__init__").replace("/", "."): f for f in trees}
    found: dict[str, set[str]] = defaultdict(set)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                if name in of_module and of_module[name] != file:
                    found[of_module[name]].add(file)
    return found


def _folder(file: str) -> str:
    return str(PurePosixPath(file).parent)


def _total(files: dict[str, str], folder: str) -> int:
    return sum(text.count("\n") for f, text in files.items() if f.startswith(folder))


def _walked(checkout: Checkout, arguments: argparse.Namespace) -> dict[str, object]:
    """Return what commands import, and the modules that each walk enters."""
    with tempfile.TemporaryDirectory() as scratch:
        walks = {"--help": ("--help",)}
        if arguments.exp and arguments.wav:
            walks["decode"] = ("decode", arguments.exp.absolute(), arguments.wav.absolute())
            walks["decode"] += ("--model", arguments.model)
            walks["scores"] = (arguments.exp.absolute() / "models" / arguments.model,)
        if arguments.corpus:
            new = Path(scratch) / "exp"
            walks["train"] = ("train", "folder", "--corpus", arguments.corpus.absolute(), "--out", new)
            walks["train"] += ("--model", arguments.model)
        found = {walk: _probed(checkout, walk, rest, Path(scratch)) for walk, rest in walks.items()}
    return {
        **{f"modules that {walk} imports": counts["imported"] for walk, counts in found.items()},
        **{f"modules that {walk} enters": len(counts["entered"]) for walk, counts in found.items()},
        "walks": found,
    }


def _probed(checkout: Checkout, walk: str, rest: tuple[object, ...], scratch: Path) -> dict[str, list[str]]:
    out = scratch / f"{walk}.json"
    root = checkout.directory.resolve()
    script = scratch / "probe.py"
    script.write_text(_PROBE % (PACKAGES, str(out)), encoding="utf-8")
    checkout.run(script, root, walk, *rest)
    found: dict[str, list[str]] = json.loads(out.read_text(encoding="utf-8"))
    ours = tuple(f"{package}/" for package in PACKAGES)
    return {**found, "entered": [name for name in found["entered"] if name.startswith(ours)]}


if __name__ == "__main__":
    sys.exit(main())
