"""A checkout of the product, and Python run with it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from foundation.compiled import cache_directory

_WHERE = "import importlib.util; print(importlib.util.find_spec('asr').origin)"


@dataclass(frozen=True)
class Checkout:
    """One state of the code.

    Attributes
    ----------
    directory : directory that holds the packages
    python : interpreter with the dependencies; what it has installed of the product is not used
    """

    directory: Path
    python: Path = Path(sys.executable)

    @property
    def environment(self) -> dict[str, str]:
        """Return environment variables with which Python takes the product from here, on one thread."""
        ours = {
            "PYTHONPATH": str(self.directory.resolve()),
            "PYTHONSAFEPATH": "1",
            "OMP_NUM_THREADS": "1",
        }
        return {**os.environ, **ours}

    def run(self, *arguments: object) -> str:
        """Return what Python writes to its standard output; SystemExit if it fails."""
        command = [str(self.python), *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=self.environment)
        if done.returncode:
            raise SystemExit(f"{self.directory}: exit code {done.returncode} of {' '.join(command)}")
        return done.stdout

    def check(self) -> None:
        """SystemExit unless the product is imported from here."""
        found = Path(self.run("-c", _WHERE).strip())
        if self.directory.resolve() not in found.resolve().parents:
            raise SystemExit(
                f"{self.directory}: asr would be imported from {found}, expected from this directory; "
                "give the directory that holds the packages asr, acoustic, decoder and features"
            )

    def compiled(self) -> frozenset[tuple[Path, int]]:
        """Return the files of machine code that numba keeps of this checkout, with their times."""
        places = [self.directory, os.environ.get("NUMBA_CACHE_DIR"), cache_directory()]
        files = (path for place in places if place for path in Path(place).rglob("*.nbc"))
        return frozenset((path, path.stat().st_mtime_ns) for path in files)

    def revision(self) -> str:
        """Return the commit, with ``-changed`` if files differ from it, or ``unknown`` without git."""
        git = ["git", "-C", str(self.directory)]
        options = {"capture_output": True, "text": True, "check": True}
        try:
            commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], **options).stdout.strip()
            changed = subprocess.run([*git, "status", "--porcelain", "-uno"], **options).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return f"{commit}-changed" if changed else commit
