"""How runs end: by signals, in processes of their own."""

import itertools
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import asr
from asr.errors import CorpusError
from foundation.endings import (
    BAD_INPUT,
    SIGNALS,
    StoppedBySignal,
    asked_to_stop,
    code_of,
    exit_code_of,
    line_of,
    stopped_by_exception,
)

# A run that cleans up, and takes its time for that if it is told to.
RUN = """
import sys, time
from foundation.endings import exit_code_of, stopped_at_once, stopped_by_exception

def run():
    with stopped_by_exception():
        try:
            print("ready", flush=True)
            time.sleep(60)
        finally:
            time.sleep(float(sys.argv[1]))
            print("cleaned", flush=True)
    return 0

with stopped_at_once():
    sys.exit(exit_code_of(run))
"""
NAMES = [number.name for number in SIGNALS]
AtTerminal = Callable[..., "subprocess.Popen[str]"]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_cleans_up_and_says_one_line(at_terminal: AtTerminal, name: str) -> None:
    number = getattr(signal, name)
    with at_terminal(RUN, "0") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.send_signal(number)  # timeout sends it twice
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, "cleaned\n")
    assert errors == f"asr: {line_of(number)}\n"
    assert errors.endswith("; run the same command again, training goes on where it was\n")


def test_a_terminal_that_is_gone_does_not_change_the_exit_code(at_terminal: AtTerminal) -> None:
    reader, writer = os.pipe()
    setup = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
    with at_terminal(setup + RUN, "0", stderr=writer) as process:
        os.close(writer)
        os.close(reader)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        assert process.communicate(timeout=60)[0] == "cleaned\n"
    assert process.returncode == 129


def test_a_later_signal_does_not_wait_for_the_cleaning_up(at_terminal: AtTerminal) -> None:
    with at_terminal(RUN, "60") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        time.sleep(1.3)
        process.terminate()
        out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, "")


def test_what_nohup_ignores_stays_ignored(at_terminal: AtTerminal) -> None:
    with at_terminal("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + RUN, "0") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        assert select.select([process.stdout], [], [], 0.5)[0] == []
        process.terminate()
        assert process.communicate(timeout=60)[0] == "cleaned\n"
    assert process.returncode == 143


# The signal comes when a module is looked for.
STOPPED_IMPORT = """
import importlib.abc, os, signal, sys

class Stops(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), int(sys.argv[2]))

sys.meta_path.insert(0, Stops())
from asr.__main__ import main
sys.argv[0:] = ["asr", "info", "exp"] if sys.argv[1] == "numpy" else ["asr", "--help"]
if __name__ == "__main__":
    code = main()
    sys.exit(code)
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("module", ["argparse", "numpy"])
def test_a_signal_while_modules_are_imported(at_terminal: AtTerminal, name: str, module: str) -> None:
    number = getattr(signal, name)
    script = STOPPED_IMPORT.replace("sys.argv[1]", repr(module)).replace("sys.argv[2]", str(int(number)))
    with at_terminal(script) as process:
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (code_of(number), "")
    assert errors == f"asr: {line_of(number)}\n"


def test_a_training_that_is_terminated(tmp_path: Path, train_arguments: list[str]) -> None:
    command = [sys.executable, "-m", "asr", *train_arguments, "--out", str(tmp_path / "exp")]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        stages = tmp_path / "exp/stages"
        while process.poll() is None and not (stages.is_dir() and any(stages.glob("task-*"))):
            time.sleep(0.02)
        process.terminate()
        out, errors = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the machine was too fast")
    assert (process.returncode, out) == (143, "")
    assert errors.splitlines()[-1] == f"asr: {line_of(signal.SIGTERM)}"
    assert "Traceback" not in errors
    assert list(stages.glob(".*.partial")) == []


def test_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def raising(error: BaseException) -> tuple[int, str]:
        def run() -> int:
            raise error

        return exit_code_of(run), capsys.readouterr().err

    assert raising(CorpusError("a; b")) == (BAD_INPUT, "asr: a; b\n")
    assert raising(KeyboardInterrupt()) == (130, f"asr: {line_of(signal.SIGINT)}\n")
    assert raising(StoppedBySignal(signal.SIGTERM)) == (143, f"asr: {line_of(signal.SIGTERM)}\n")
    assert raising(MemoryError()) == (2, "asr: not enough memory; use fewer or shorter recordings at once\n")
    full = OSError(28, "No space left on device", "x")
    assert raising(full) == (2, "asr: x: No space left on device; check the path and the space on the disk\n")
    assert exit_code_of(lambda: 7) == 7


@pytest.mark.parametrize(("system", "code"), [("nt", 0), ("posix", BAD_INPUT)])
def test_windows_says_of_a_closed_pipe_that_an_argument_is_invalid(system: str, code: int) -> None:
    run = f"""
import errno, os, sys
from foundation.endings import exit_code_of

def run():
    raise OSError(errno.EINVAL, "Invalid argument")

os.name = "{system}"
sys.exit(exit_code_of(run))
"""
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, check=False)
    assert (done.returncode, bool(done.stderr)) == (code, bool(code))


def test_a_window_that_is_closed_is_a_signal_where_there_is_one() -> None:
    run = (
        "import signal; signal.SIGBREAK = signal.SIGUSR1\n"
        "from foundation.endings import SIGNALS; print(*SIGNALS)"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, check=True)
    assert done.stdout.split() == b"2 15 1 10".split()


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stopped_by_exception():
        assert signal.getsignal(signal.SIGTERM) is not before
        with pytest.raises(StoppedBySignal, match="15"):
            os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_at_the_same_time_are_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("foundation.endings.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    called: list[tuple[str, int]] = []

    def sent(number: int, after_s: float) -> list[tuple[str, int]]:
        now_s[0] = 100.0 + after_s
        os.kill(os.getpid(), number)
        return called

    with asked_to_stop(lambda n: called.append(("first", n)), lambda n: called.append(("later", n))):
        assert sent(signal.SIGTERM, 0.0) == [("first", 15)]
        assert sent(signal.SIGTERM, 0.9) == [("first", 15)]
        assert sent(signal.SIGTERM, 1.1) == [("first", 15), ("later", 15)]


CLOSED = [
    numbers for n in (1, 2, 3) for numbers in itertools.combinations(range(3), n)
]  # of standard input, output and error


def with_closed(numbers: tuple[int, ...], *arguments: object) -> "subprocess.CompletedProcess[bytes]":
    """Return how a verb ends if some of its standard streams are closed."""
    closing = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n in numbers)
    words = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "asr", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize("numbers", CLOSED)
def test_closed_streams_change_nothing_else(
    numbers: tuple[int, ...], trained: Path, wav: Path, words: str
) -> None:
    done = with_closed(numbers, "decode", trained, wav)
    said = b"" if 1 in numbers else f"{words}\n".encode()
    assert (done.returncode, done.stdout, done.stderr) == (0, said, b"")
    done = with_closed(numbers, "decode", trained, wav.with_name("none.wav"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == (2 not in numbers)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["validate", "/dev/null"], ["train"]])
def test_closed_streams_of_other_verbs(arguments: list[str]) -> None:
    usual, done = with_closed((), *arguments), with_closed((1, 2), *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (usual.returncode, b"", b"")


def test_a_training_without_streams_writes_the_same(
    tmp_path: Path, train_arguments: list[str], trained: Path
) -> None:
    done = with_closed((0, 1, 2), *train_arguments, "--out", tmp_path / "exp")
    assert done.returncode == 0
    names = sorted(path.name for path in (trained / "models").iterdir())
    assert sorted(path.name for path in (tmp_path / "exp/models").iterdir()) == names
    for name in names:
        model = Path("models", name, "model.safetensors")
        assert (tmp_path / "exp" / model).read_bytes() == (trained / model).read_bytes()


HOLDS = """
import os, sys
from foundation.endings import hold_standard_streams
hold_standard_streams()
with open(sys.argv[1], "wb") as file:
    print("lost", flush=True)
    print("lost", file=sys.stderr)
    os.write(1, b"lost")
    os.write(2, b"lost")
    sys.stdin.read()
    file.write(b"a model %d" % (file.fileno() > 2))
os.execv(sys.executable, [sys.executable, "-c", "import os; [os.fstat(n) for n in range(3)]"])  # inherited
"""


@pytest.mark.parametrize("numbers", CLOSED)
def test_what_libraries_print_gets_into_no_file(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    closing = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n in numbers)
    words = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-c", HOLDS, str(tmp_path / "model")]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "model").read_bytes() == b"a model 1"
    assert done.stdout.count(b"lost") == (0 if 1 in numbers else 2)
    assert done.stderr.count(b"lost") == (0 if 2 in numbers else 2)


def shell(command: str, *arguments: object) -> "subprocess.CompletedProcess[bytes]":
    """Return how a command of sh ends, in which "$@" is ``asr`` with some arguments."""
    words = ["bash", "-c", command, "sh", sys.executable, "-m", "asr", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, check=False, timeout=120)


full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


@full
@pytest.mark.parametrize("verb", ["--help", "--version", "info", "decode"])
def test_results_that_no_disk_takes_are_an_error_of_one_line(trained: Path, wav: Path, verb: str) -> None:
    arguments = [verb, *{"info": [trained], "decode": [trained, wav]}.get(verb, [])]
    done = shell('"$@" >/dev/full', *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(b"asr: No space left on device; check the path and the space on the disk")
    assert done.stderr.count(b"\n") == 1


@full
@pytest.mark.parametrize("closing", ["2>/dev/full", "2>/dev/null </dev/null", "2> >(true)"])
def test_messages_that_nobody_takes_change_no_result(
    tmp_path: Path, train_arguments: list[str], closing: str
) -> None:
    done = shell(f'"$@" {closing}', *train_arguments, "--out", tmp_path / "exp")
    assert (done.returncode, (tmp_path / "exp/results.json").is_file()) == (0, True)


def test_a_reader_that_has_seen_enough_is_no_error(trained: Path, wav: Path) -> None:
    for arguments in (["--help"], ["info", trained, "--json"], ["decode", trained, wav]):
        done = shell('"$@" | true; exit ${PIPESTATUS[0]}', *arguments)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_pipe_to_a_worker_that_breaks_is_an_error() -> None:
    script = (
        "import sys\nfrom foundation.endings import exit_code_of\n"
        "def run():\n    raise BrokenPipeError(32, 'Broken pipe')\n"
        "sys.exit(exit_code_of(run))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr.count(b"Broken pipe")) == (2, 1)


def test_a_line_break_in_an_argument_makes_no_second_line() -> None:
    done = shell('"$@"', "decode", "no\nsuch", "a\x1b[31m\nb.wav")
    assert (done.returncode, done.stderr.count(b"\n"), b"\x1b" in done.stderr) == (2, 1, False)
    assert b"asr: no\\nsuch: no such directory" in done.stderr


def test_a_current_folder_that_was_removed_is_named(tmp_path: Path) -> None:
    root = Path(asr.__file__).parents[1]
    gone = f'cd "{tmp_path}" && mkdir gone && cd gone && rmdir ../gone && PYTHONPATH="{root}" exec "$@"'
    done = shell(gone, "completion", "bash")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"asr: the current folder was removed, expected one that is there; cd to another\n"
    )


def test_what_stands_in_the_place_of_a_folder_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.symlink_to("nowhere")

    def run() -> int:
        out.mkdir(exist_ok=True)
        return 0

    assert exit_code_of(run) == BAD_INPUT
    said = capsys.readouterr().err
    assert said == f"asr: {out}: a link to nothing (nowhere); check the path and the space on the disk\n"
