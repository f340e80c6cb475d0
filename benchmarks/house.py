"""Figures on the code: packages, sizes, options, places where an idea is implemented twice, weak tests.

    python benchmarks/house.py ../base .
    python benchmarks/house.py . --lists

One column for each checkout. By what rules places are found is said in `house_code`, `house_tests` and
`house_reflection`; ``--lists`` names every place that was counted, for a look at whether the rules are right.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import house_code
import house_tests
from checkouts import Checkout
from markdown import markdown_table
from report import argument_parser, write_report

_REFLECTION = Path(__file__).with_name("house_reflection.py")
_N_LONGEST = 10
_LONG_MODULE, _LONG_FUNCTION, _MANY_ARGUMENTS = 350, 40, 12

Counted = dict[str, Any]


def main() -> None:
    """Count, print and write."""
    parser = argument_parser(__doc__, __file__)
    parser.add_argument("checkouts", type=checkout_directory, nargs="+", metavar="DIR")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="with the dependencies")
    parser.add_argument("--lists", action="store_true", help="name every place that was counted")
    arguments = parser.parse_args()
    checkouts = [Checkout(directory, arguments.python) for directory in arguments.checkouts]
    heads = [f"{c.directory.resolve().name} ({c.revision()})" for c in checkouts]
    houses = [counted(checkout) for checkout in checkouts]
    print_numbers(heads, houses)
    print_folders(heads, houses)
    for name in ("longest modules", "longest functions"):
        print_longest(name, heads, houses)
    if arguments.lists:
        for head, house in zip(heads, houses, strict=True):
            print_places(head, house["places"])
    write_report(arguments.out, dict(zip(heads, houses, strict=True)))


def checkout_directory(text: str) -> Path:
    """Return a directory that holds the packages."""
    if not (Path(text) / "asr").is_dir():
        raise ArgumentTypeError(f"{text}: no folder asr in it, expected a checkout of the product")
    return Path(text)


def counted(checkout: Checkout) -> Counted:
    """Return all that is counted of a checkout."""
    modules = house_code.read_modules(checkout.directory)
    tests = house_code.read_modules(checkout.directory, ["tests"])
    checkout.check()
    reflected = json.loads(checkout.run(_REFLECTION))
    places = {
        "checks of the machines' class": house_code.machine_checks(modules),
        "greedy selection loops": house_code.greedy_loops(modules),
        "kernel implementations": house_code.kernel_implementations(modules),
        "BLAS limiters": house_code.blas_limiters(modules),
        "array aliases": house_code.array_aliases(modules),
        "tests without an assertion": house_tests.tests_without_assertion(tests),
        "tests of shape, type or finiteness alone": house_tests.tests_of_form_only(tests),
        "`raises` without `match`": house_tests.raises_without_match(tests),
        "modules without a test file": house_tests.modules_without_tests(modules, tests),
    }
    return {
        "modules": house_code.modules_by_folder(modules),
        "longest modules": house_code.longest_modules(modules),
        "longest functions": house_code.longest_functions(modules),
        "options": reflected["options"],
        "estimators": reflected["estimators"],
        "tests": sum(1 for _ in house_tests.tests_of(tests)),
        "places": {name: [list(place) for place in found] for name, found in places.items()},
    }


def numbers(house: Counted) -> dict[str, object]:
    """Return the rows of the table of a checkout."""
    folders, modules, functions = house["modules"], house["longest modules"], house["longest functions"]
    n_arguments = {name: len(found) for name, found in house["estimators"].items()}
    most = max(n_arguments, key=lambda name: n_arguments[name])
    places = house["places"]
    return {
        "modules": sum(folders.values()),
        "folders with modules": len(folders),
        "most modules in a folder": max(folders.values()),
        "lines of code": sum(size for _, size in modules),
        f"modules over {_LONG_MODULE} lines of code": sum(size > _LONG_MODULE for _, size in modules),
        "longest module": modules[0][1],
        "functions": len(functions),
        "median function": median(size for _, size in functions),
        f"functions over {_LONG_FUNCTION} lines of code": sum(s > _LONG_FUNCTION for _, s in functions),
        "longest function": functions[0][1],
        "configuration options": len(house["options"]),
        "most constructor arguments of an estimator": n_arguments[most],
        f"estimators with more than {_MANY_ARGUMENTS}": sum(
            n > _MANY_ARGUMENTS for n in n_arguments.values()
        ),
        **{name: len(found) for name, found in places.items()},
        "modules with BLAS limiters": len({path for path, *_ in places["BLAS limiters"]}),
        "modules with array aliases": len({path for path, *_ in places["array aliases"]}),
        "tests (functions)": house["tests"],
    }


def print_numbers(heads: Sequence[str], houses: Sequence[Counted]) -> None:
    """Print the table of numbers."""
    columns = [numbers(house) for house in houses]
    print(markdown_table(("", *heads), [(name, *(c[name] for c in columns)) for name in columns[0]]), "\n")


def print_folders(heads: Sequence[str], houses: Sequence[Counted]) -> None:
    """Print how many modules each folder holds."""
    folders = sorted({folder for house in houses for folder in house["modules"]})
    rows = [(folder, *(house["modules"].get(folder) for house in houses)) for folder in folders]
    print(markdown_table(("modules in", *heads), rows), "\n")


def print_longest(name: str, heads: Sequence[str], houses: Sequence[Counted]) -> None:
    """Print the longest modules or functions of each checkout."""
    for head, house in zip(heads, houses, strict=True):
        print(markdown_table((f"{name}, {head}", "lines of code"), house[name][:_N_LONGEST]), "\n")
    if name == "longest functions":
        rows = [{n: len(found) for n, found in house["estimators"].items()} for house in houses]
        names = sorted({n for row in rows for n in row}, key=lambda n: (-max(r.get(n, 0) for r in rows), n))
        table = [(n, *(row.get(n) for row in rows)) for n in names]
        print(markdown_table(("constructor arguments", *heads), table), "\n")


def print_places(head: str, places: dict[str, list[list[str]]]) -> None:
    """Print every place that was counted."""
    for name, found in places.items():
        print(f"### {name}, {head}\n")
        for place in found:
            print(f"- {': '.join(place)}")
        print()


if __name__ == "__main__":
    main()
