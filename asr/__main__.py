"""The entry point of ``asr`` and ``python -m asr``, which can be interrupted while modules are imported."""

from __future__ import annotations

import sys

from foundation.endings import hold_standard_streams, stopped_at_once


def main() -> int:
    """Run the command line and return the exit code."""
    hold_standard_streams()
    with stopped_at_once():
        from asr.cli import main as run

        return run()


if __name__ == "__main__":
    sys.exit(main())
