"""What a benchmark ran on, for its JSON."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "hmmlearn", "soundfile", "soxr")


def machine_description(peers: Sequence[str] = ()) -> dict[str, object]:
    """Return processor, commit, Python, date, and the versions of our dependencies and of the peers."""
    return {
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "revision": revision(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: package_version(name) for name in (*PACKAGES, *peers)},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def processor_name() -> str:
    """Return the processor's model as Linux names it, or what Python knows of it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def revision() -> str | None:
    """Return the commit that is checked out, None without git; the files may have changed since."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def package_version(name: str) -> str | None:
    """Return a package's version, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
