"""Runs the command line until it is done or its standard input ends: ``python -m asr.serving.child VERB …``.

Whoever started it holds the other end of the standard input. However that process ends, the pipe is closed
then, and this one ends too.
"""

from __future__ import annotations

import os
import runpy
import signal
import threading
import time

CLEANING_S = 5.0  # for cleaning up after the signal


def end_with_input() -> None:
    """Wait until the standard input ends, then end this process."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(CLEANING_S)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    runpy.run_module("asr", run_name="__main__")
