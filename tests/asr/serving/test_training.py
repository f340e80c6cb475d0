"""The process that trains: watched, cancelled, and gone with the server."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from asr.config import with_preset
from asr.corpora.tones import WORDS
from asr.errors import ConfigError
from asr.experiment import Experiment
from asr.recipe import load_recipe
from asr.serving import training as training_module
from asr.serving.limits import Refusal
from asr.serving.training import EXPECTED_STAGES, STEPS, Progress, Training, message_of, step_of
from asr.systems import find_system

HELD = (  # a server that starts a training, tells its process and then hangs
    "import asyncio, sys, time\n"
    "from asr.serving.training import Training\n"
    "async def nothing(): pass\n"
    "async def main():\n"
    "    training = Training(nothing)\n"
    "    await training.start(sys.argv[1:])\n"
    "    print(training.pid, flush=True)\n"
    "    await asyncio.sleep(600)\n"
    "asyncio.run(main())\n"
)


async def ended(training: Training, seconds: float = 60) -> Progress:
    for _ in range(round(seconds / 0.05)):
        if not training.is_running:
            return training.now()
        await asyncio.sleep(0.05)
    raise AssertionError("the training has not ended")


def run(arguments: list[str]) -> tuple[Progress, list[str]]:
    done: list[str] = []

    async def load() -> None:
        done.append("loaded")

    async def main() -> Progress:
        training = Training(load)
        assert training.now().status == "idle"
        await training.start(arguments)
        with pytest.raises(Refusal, match="a training is under way"):
            await training.start(arguments)
        return await ended(training)

    return asyncio.run(main()), done


def test_a_mistake_is_told_in_its_own_words() -> None:
    progress, done = run(["train", "folder", "--corpus", "nowhere", "--out", "exp"])
    assert (progress.status, done) == ("failed", [])
    assert progress.message.startswith("nowhere: no such directory")


def test_what_succeeds_is_loaded_before_it_is_said_to_be_done() -> None:
    progress, done = run(["--version"])
    assert (progress.status, progress.share, done) == ("done", 1.0, ["loaded"])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConfigError("exp: no keywords, expected some; run asr keywords\nand more"), "exp: no keywords, "),
        (MemoryError(), "the model cannot be loaded: MemoryError"),
        (ValueError("of no use\nat all"), "the model cannot be loaded: of no use"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_a_training_that_failed(error: Exception, told: str) -> None:
    async def load() -> None:
        raise error

    async def main() -> Progress:
        training = Training(load)
        await training.start(["--version"])
        return await ended(training)

    progress = asyncio.run(main())
    assert (progress.status, progress.message[: len(told)]) == ("failed", told)
    assert "\n" not in progress.message


def test_lines_that_are_too_long_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_module, "LONGEST_LINE", 16)
    progress, _ = run(["train", "folder", "--corpus", "nowhere", "--out", "exp"])
    assert (progress.status, progress.message) == ("failed", "the training ended with exit code 2")
    assert run(["--version"])[0].status == "done"


def test_a_training_that_is_being_started_is_cancelled(many_tones: Path, tmp_path: Path) -> None:
    arguments = ["train", "folder", "--corpus", str(many_tones), "--out", str(tmp_path / "e")]

    async def main() -> tuple[str, list[psutil.Process]]:
        training = Training(lambda: asyncio.sleep(0))
        start = asyncio.ensure_future(training.start(arguments))
        await asyncio.sleep(0)
        await training.cancel()
        await start
        return training.now().status, psutil.Process().children()

    before = set(psutil.Process().children())
    status, children = asyncio.run(main())
    assert (status, set(children) - before) == ("cancelled", set())


def test_what_lies_in_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("asr", "numpy", "features"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert run(["--version"])[0].status == "done"


def test_a_training_is_cancelled(many_tones: Path, tmp_path: Path) -> None:
    async def main() -> tuple[Progress, bool]:
        training = Training(lambda: asyncio.sleep(0))
        await training.start(
            ["train", "folder", "--corpus", str(many_tones), "--out", str(tmp_path / "e"), "-v"]
        )
        pid = training.pid
        assert pid is not None
        while not training.now().share:
            await asyncio.sleep(0.05)
        await training.cancel()
        await training.cancel()
        return training.now(), psutil.pid_exists(pid)

    progress, is_there = asyncio.run(main())
    assert (progress.status, is_there) == ("cancelled", False)
    assert progress.step in {step for _, step in STEPS}


def test_every_step_of_a_training_has_its_words_and_is_expected(tones: Path, tmp_path: Path) -> None:
    loaded, takes = load_recipe("folder"), tmp_path / "takes"
    shutil.copytree(tones, takes)
    for n, path in enumerate(sorted(takes.rglob("*.txt"))):
        path.write_text(WORDS[n % len(WORDS)])
    (takes / "commands.txt").write_text("\n".join(WORDS))
    experiment = Experiment(
        loaded, takes, tmp_path / "exp", with_preset(loaded.recipe.config, "best"), "best"
    )
    names = [step.name for step in experiment.steps({"pools": find_system("pools", "best")})]
    assert [name for name in names if step_of(name) == name] == []
    assert len(names) == EXPECTED_STAGES


@pytest.mark.skipif(os.name == "nt", reason="kills by a signal")
def test_a_training_ends_with_the_server_that_is_killed(many_tones: Path, tmp_path: Path) -> None:
    arguments = ["train", "folder", "--corpus", str(many_tones), "--out", str(tmp_path / "exp")]
    with subprocess.Popen(
        [sys.executable, "-c", HELD, *arguments], stdout=subprocess.PIPE, text=True
    ) as held:
        assert held.stdout is not None
        child = psutil.Process(int(held.stdout.readline()))
        time.sleep(1)
        assert child.is_running()
        held.send_signal(signal.SIGKILL)
    gone, alive = psutil.wait_procs([child], timeout=15)
    assert (len(gone), alive) == (1, [])


def test_steps_have_words_for_people() -> None:
    assert step_of("features-train-warp-0.93") == "Computing features"
    assert step_of("another") == "another"
    for name in ("fit-8", "judged-dev"):  # as the command line says it
        assert step_of(name) == "Looking for wrong transcripts"
    assert message_of(["x", "asr: first", "asr: second", "y"], 2) == "second"
    assert message_of([], -9) == "the training ended with exit code -9"


def test_the_process_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async def main() -> Any:
        training = Training(lambda: asyncio.sleep(0))
        await training.start(["--version"])
        return training.now()

    found = asyncio.run(main())
    assert (found.status, found.message) == ("failed", "No such file or directory")


CHILD = [sys.executable, "-m", "asr.serving.training"]


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
    code = "import asr.serving.training, threading, time; asr.serving.training.end_with_input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as child:
        time.sleep(0.5)
        assert child.poll() is None
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(15) == -signal.SIGTERM
