"""A scheduler and workers of their own, started as docs/cluster.md says, and killed in the middle."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals"),
]

HYBRID = ("hybrid.units=phone", "pools.n_centers=10", "pools.rivals=1", "hybrid.warps=")
_START_S = 60.0
Digests = Callable[[Path], dict[str, str]]
Process = subprocess.Popen[bytes]


class Cluster:
    """A scheduler with workers; each is a process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address_file = directory / "scheduler.json"
        self.processes: list[Process] = []
        self.scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers: list[Process] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self._port()}"

    def _port(self) -> int:
        log, deadline = self.directory / "scheduler-0.log", time.monotonic() + _START_S
        while time.monotonic() < deadline:
            for line in log.read_text().splitlines():
                if "Scheduler at:" in line:
                    return int(line.rpartition(":")[2])
            time.sleep(0.1)
        raise TimeoutError(log.read_text())

    def add_worker(self) -> None:
        options = ("--nthreads", "1", "--memory-limit", "0", "--no-nanny", "--no-dashboard")
        self.workers.append(self._started("worker", self.address, *options))

    def _started(self, *arguments: str) -> Process:
        with open(self.directory / f"{arguments[0]}-{len(self.processes)}.log", "wb") as log:
            own = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
            self.processes.append(subprocess.Popen(own, stdout=log, stderr=log, cwd=self.directory))
        return self.processes[-1]

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster")
    yield cluster
    cluster.stop()


@pytest.fixture
def command(tones: Path, settings: tuple[str, ...], tmp_path: Path) -> list[str]:
    options = [part for setting in (*settings, *HYBRID) for part in ("--set", setting)]
    train = ["train", "folder", "--corpus", str(tones), "--model", "gmm2", "--model", "pools"]
    return [sys.executable, "-m", "asr.cli", *train, *options]


@pytest.fixture
def local(command: list[str], tmp_path: Path, digests: Digests) -> dict[str, str]:
    """Return the digests of the same training in threads."""
    subprocess.run([*command, "--out", str(tmp_path / "local")], check=True, capture_output=True)
    return digests(tmp_path / "local")


def test_the_same_bytes_after_deaths_of_workers_scheduler_and_command(
    cluster: Cluster, command: list[str], local: dict[str, str], tmp_path: Path, digests: Digests
) -> None:
    out = tmp_path / "exp"
    for _ in range(2):
        cluster.add_worker()
    run = [*command, "--out", str(out), "--scheduler", cluster.address]

    # A worker dies in the middle, another takes its place: the command does not notice.
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_stages(out, 3)
        cluster.workers[0].send_signal(signal.SIGKILL)
        cluster.add_worker()
        wait_for_stages(out, 6)
        process.send_signal(signal.SIGKILL)  # and now the command itself

    # The scheduler dies: one line, exit code 2.
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_stages(out, 8)
        cluster.scheduler.send_signal(signal.SIGKILL)
        _, said = process.communicate(timeout=300)
    last = said.splitlines()[-1]
    assert process.returncode == 2
    assert last.startswith(f"asr: {cluster.address}: the scheduler does not answer any more")
    assert "Traceback" not in said

    cluster.stop()
    (tmp_path / "again").mkdir()
    again = Cluster(tmp_path / "again")
    try:
        again.add_worker()
        subprocess.run([*run[:-1], again.address], check=True, capture_output=True)
    finally:
        again.stop()
    assert digests(out) == local


def test_many_kills_of_command_and_workers_end_in_the_same_bytes(
    cluster: Cluster, command: list[str], local: dict[str, str], tmp_path: Path, digests: Digests
) -> None:
    rng, out = random.Random(11), tmp_path / "exp"
    cluster.add_worker()
    cluster.add_worker()
    run = [*command, "--out", str(out)]
    for n in range(15):
        engine = ["--scheduler", cluster.address] if n % 2 else []
        with subprocess.Popen(
            [*run, *engine], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                process.wait(rng.uniform(1.5, 5.0))
            except subprocess.TimeoutExpired:
                if n % 4 == 1:
                    cluster.workers.pop(0).send_signal(signal.SIGKILL)
                    cluster.add_worker()
                    time.sleep(0.3)
                process.send_signal(signal.SIGKILL)
    subprocess.run(run, check=True, capture_output=True)
    assert digests(out) == local


def wait_for_stages(out: Path, n: int) -> None:
    """Return when so many stages are finished."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if (out / "stages").is_dir() and sum(name[0] != "." for name in os.listdir(out / "stages")) >= n:
            return
        time.sleep(0.02)
    raise TimeoutError(os.listdir(out))
