"""The command line in a process that ends with its standard input."""

import os
import signal
import subprocess
import sys
import time

import pytest

CHILD = [sys.executable, "-m", "asr.serving.child"]


def test_it_is_the_command_line() -> None:
    with subprocess.Popen([*CHILD, "--version"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read().startswith(b"asr ")
        assert child.wait(30) == 0


def test_mistakes_have_their_exit_code() -> None:
    with subprocess.Popen([*CHILD, "dance"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        assert child.stderr.read().startswith(b"asr: ")
        assert child.wait(30) == 2


@pytest.mark.skipif(os.name == "nt", reason="ends by a signal")
def test_it_ends_with_its_input() -> None:
    code = "import asr.serving.child, threading, time; asr.serving.child.end_with_input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        time.sleep(0.5)
        assert child.poll() is None
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(15) == -signal.SIGTERM
