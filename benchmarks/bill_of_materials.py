"""What an installation is made of: packages, versions, licences, as CycloneDX JSON; and whether all may be.

    python benchmarks/bill_of_materials.py --out bom.json
    python benchmarks/bill_of_materials.py --extras demo english report --out bom.json

Read is what is installed (``importlib.metadata``), from this package along its requirements. The same
installation gives the same bytes. The exit code is 1 if a package of the core has a licence that asks more of
a program that uses it than to be named, to stay replaceable or to share its own changes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "asr-sparse-kernel"
SPECIFICATION = "1.5"
# What the metadata of a package does not say, with where it is said.
KNOWN = {
    "espeakng-loader": "GPL-3.0-or-later",  # the library espeak-ng, which is in the wheel
}
FREE = ("BSD", "MIT", "Apache", "ISC", "PSF", "Python Software Foundation", "MPL", "Zlib", "CC0", "Unlicense")
MOST_LETTERS = 60  # of a licence's name; longer is its text


@dataclass(frozen=True)
class Component:
    """A package that is installed.

    Attributes
    ----------
    name, version, licence : as its metadata has them
    requires : names of the packages it needs here
    """

    name: str
    version: str
    licence: str
    requires: tuple[str, ...]

    @property
    def reference(self) -> str:
        """Return its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def components(package: str = PACKAGE, extras: Sequence[str] = ()) -> dict[str, Component]:
    """Return a package and all it needs, directly or not, by name.

    An extra's packages are in it if the extra is asked for; those that a marker leaves out, or that are not
    installed, never are.
    """
    found: dict[str, Component] = {}
    wanted = [(canonicalize_name(package), tuple(extras))]
    while wanted:
        name, of_extras = wanted.pop()
        if name in found and not of_extras:
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        needed = _needed(installed, of_extras)
        earlier = found[name].requires if name in found else ()
        names = tuple(sorted({*earlier, *(canonicalize_name(need.name) for need in needed)}))
        found[name] = Component(name, installed.version, licence_of(installed), names)
        wanted += [(canonicalize_name(need.name), tuple(sorted(need.extras))) for need in needed]
    return {
        name: Component(one.name, one.version, one.licence, tuple(n for n in one.requires if n in found))
        for name, one in sorted(found.items())
    }


def _needed(installed: Distribution, extras: Iterable[str]) -> list[Requirement]:
    """Return the requirements that hold here."""
    requirements = map(Requirement, installed.requires or [])
    return [
        need
        for need in requirements
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def licence_of(installed: Distribution) -> str:
    """Return the licence of a package by its metadata, ``unknown`` if they do not say."""
    metadata = installed.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    written = (metadata.get("License") or "").strip()
    if written and "\n" not in written and len(written) <= MOST_LETTERS:
        return written
    classified = [
        c.rpartition(" :: ")[2] for c in metadata.get_all("Classifier") or [] if c.startswith("License")
    ]
    named = [name for name in classified if name != "OSI Approved"]
    return " AND ".join(named) or KNOWN.get(canonicalize_name(metadata["Name"]), "unknown")


def is_free(licence: str) -> bool:
    """Return whether a licence lets a program use a package whatever the program's own licence is.

    >>> is_free("BSD-3-Clause AND MIT"), is_free("LGPL-2.1-or-later"), is_free("GPL-3.0-or-later")
    (True, True, False)
    >>> is_free("GNU Library or Lesser General Public License (LGPL)"), is_free("unknown")
    (True, False)
    """
    weak = re.sub(
        r"LGPL[\w.-]*|Lesser General Public License|GPL[\w.-]* WITH \S*exception\S*", "weak", licence
    )
    if re.search(r"\bA?GPL|General Public License|Commercial|Proprietary", weak):
        return False
    return "weak" in weak or any(name.lower() in licence.lower() for name in FREE)


def bill(found: Mapping[str, Component], package: str = PACKAGE) -> dict[str, object]:
    """Return a bill of materials as CycloneDX has it."""
    root = found[canonicalize_name(package)]
    others = [one for one in found.values() if one is not root]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": {"type": "application", **_described(root)}},
        "components": [{"type": "library", **_described(one)} for one in others],
        "dependencies": [
            {"ref": one.reference, "dependsOn": [found[name].reference for name in one.requires]}
            for one in found.values()
        ],
    }


def _described(one: Component) -> dict[str, object]:
    return {
        "bom-ref": one.reference,
        "name": one.name,
        "version": one.version,
        "purl": one.reference,
        "licenses": [{"license": {"name": one.licence}}],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bill, print the licences, and return 1 if one of the core may not be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--extras", nargs="*", default=[], help="extras of the package that count, too")
    parser.add_argument("--out", type=Path, help="CycloneDX JSON to write")
    options = parser.parse_args(arguments)
    found, core = components(extras=options.extras), components()
    if options.out is not None:
        options.out.write_text(json.dumps(bill(found), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    for one in found.values():
        print(f"{one.name} {one.version}: {one.licence}{'' if one.name in core else ' (extra)'}")
    refused = [f"{one.name}: {one.licence}" for one in core.values() if not is_free(one.licence)]
    for line in refused:
        print(f"not expected in the core: {line}; replace the package, or make it an extra", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
