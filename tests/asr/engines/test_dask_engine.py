"""Blocks on a Dask cluster whose workers are threads of this process; test_cluster.py starts real ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

from asr.engines.dask_engine import TASKS_A_WORKER, DaskEngine
from asr.errors import ClusterError, CorpusError
from foundation.blocks import BlockError, Shared, Threads, block_map, checkpoints, step, using
from foundation.sequences import Computed, InFile
from foundation.threads import single_threaded_libraries
from foundation.version import own_code

pytestmark = [  # distributed closes its sockets late
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Calls:
    """The numbers that a function was called with by any process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    @property
    def numbers(self) -> list[int]:
        return [int(line) for line in self.path.read_text().split()]

    def noted(self, fails: Callable[[int], bool] = lambda n: False) -> Callable[[int], float]:
        """Return a function that notes its calls."""
        path = self.path

        def function(n: int) -> float:
            with open(path, "a") as file:
                file.write(f"{n}\n")
            if fails(n):
                raise ValueError(f"cannot do {n}")
            return n / 8

        return function


def cluster(n_workers: int) -> LocalCluster:
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    return LocalCluster(n_workers=n_workers, **options)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster(2) as started, Client(started, set_as_default=False) as client:
        yield client


@pytest.fixture
def engine(client: Client) -> Iterator[DaskEngine]:
    engine = DaskEngine(client, "the cluster")
    with using(engine):
        yield engine


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path / "calls")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "work"


def test_results_are_those_of_threads(engine: DaskEngine, work: Path, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)

    def function(n: int) -> np.ndarray[Any, Any]:
        return np.exp(weights[n::7] @ weights)

    with checkpoints(work):
        found = list(block_map(function, range(20), 3, label="products"))
    with using(Threads()), checkpoints(tmp_path / "threads"):
        of_threads = list(block_map(function, range(20), 3, label="products"))
    with single_threaded_libraries():
        for n in range(20):
            assert found[n].tobytes() == of_threads[n].tobytes() == function(n).tobytes()
    assert engine.cpu_elsewhere > 0


def test_a_function_that_workers_hold_stays_on_windows(
    engine: DaskEngine, work: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, refused = Path.unlink, []

    def of_windows(path: Path, missing_ok: bool = False) -> None:
        if path.name.startswith("for-workers-"):  # it is mapped
            refused.append(path)
            raise PermissionError(13, "The process cannot access the file", str(path))
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", of_windows)
    with checkpoints(work):
        assert list(block_map(calls.noted(), range(4), label="work")) == [n / 8 for n in range(4)]
    assert len(refused) == 1


def test_only_blocks_without_a_file_are_computed(engine: DaskEngine, work: Path, calls: Calls) -> None:
    for _ in range(2):
        with checkpoints(work):
            assert list(block_map(calls.noted(), range(40), label="work")) == [n / 8 for n in range(40)]
    assert sorted(calls.numbers) == list(range(40))
    (work / "0001-work-40/000005").unlink()
    (work / "0001-work-40/000009").write_bytes(b"damaged")
    with checkpoints(work):
        assert list(block_map(calls.noted(), range(40), label="work")) == [n / 8 for n in range(40)]
    assert sorted(calls.numbers[40:]) == [5, 9]


def test_many_blocks_are_few_tasks(
    engine: DaskEngine, work: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    submit = engine.client.submit
    counted = lambda *given, **options: [sizes.append(len(given[-1])), submit(*given, **options)][1]  # noqa: E731
    monkeypatch.setattr(engine.client, "submit", counted)
    with checkpoints(work):
        assert sum(block_map(calls.noted(), range(100), label="work")) == sum(range(100)) / 8
    assert len(sizes) <= 2 * TASKS_A_WORKER
    assert sum(sizes) == 100


def test_what_is_shared_is_written_once(engine: DaskEngine, work: Path) -> None:
    frames = Shared([np.arange(5.0), np.ones(5)])

    def one_pass(factor: int) -> float:
        return sum(block_map(lambda n: factor * float(frames.value[n].sum()), range(2), label="sum"))

    written = []
    with checkpoints(work):
        for factor in range(3):
            assert step("pass", lambda factor=factor: one_pass(factor)) == 15 * factor
            written.append([p.name for p in work.iterdir() if p.is_file() and "done" not in p.name])
    assert len(written[0]) == 1
    assert written[0] == written[1] == written[2]


def test_sequences_that_are_computed_or_in_a_file_go_to_the_workers(engine: DaskEngine, work: Path) -> None:
    in_file = InFile(np.full((n, 2), n, np.float32) for n in range(6))
    doubled = Computed(lambda n: 2 * in_file[n], len(in_file))
    with checkpoints(work):
        found = list(block_map(lambda n: doubled[n], range(6), 2, label="work"))
    for n in range(6):
        np.testing.assert_array_equal(found[n], np.full((n, 2), 2 * n, np.float32))


FIRST = 1 + 3  # calls of a block that fails: among others in a task, then three times alone


class TestFailures:
    def test_a_block_is_tried_three_times_alone_and_all_others_are_done(
        self, engine: DaskEngine, work: Path, calls: Calls
    ) -> None:
        expected = pytest.raises(BlockError, match=r"1 of 50 blocks failed 3 times: pair 21 \(ValueError")
        with checkpoints(work), expected:
            list(block_map(calls.noted(lambda n: n == 21), range(50), label="pairs", names="pair {}".format))
        assert [calls.numbers.count(n) for n in range(50)] == [FIRST if n == 21 else 1 for n in range(50)]
        with checkpoints(work):
            assert len(list(block_map(calls.noted(), range(50), label="pairs"))) == 50
        assert [calls.numbers.count(n) for n in range(50)] == [FIRST + 1 if n == 21 else 1 for n in range(50)]

    def test_a_time_out_of_the_work_itself_is_its_error(self, engine: DaskEngine, work: Path) -> None:
        def function(n: int) -> int:
            raise TimeoutError("the file system does not answer")

        expected = pytest.raises(
            BlockError, match=r"2 of 2 blocks failed 3 times: 0 \(TimeoutError: the file"
        )
        with checkpoints(work), expected:
            list(block_map(function, range(2), label="work"))

    def test_neighbours_of_a_block_that_fails_are_not_blamed(
        self, engine: DaskEngine, work: Path, calls: Calls, caplog: pytest.LogCaptureFixture
    ) -> None:
        with checkpoints(work), pytest.raises(BlockError, match="1 of 64 blocks failed"):
            list(block_map(calls.noted(lambda n: n == 21), range(64), label="pairs", names="<{}>".format))
        blamed = [record.getMessage() for record in caplog.records if "fails" in record.getMessage()]
        assert blamed == ["pairs: <21> fails (cannot do 21)"] * 3

    def test_the_directory_may_be_relative(
        self, engine: DaskEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        sent: list[str] = []
        submit = engine.client.submit

        def noting(*given: Any, **options: Any) -> Any:
            sent.extend([given[2], *(path for _, path in given[3])])
            return submit(*given, **options)

        monkeypatch.setattr(engine.client, "submit", noting)
        with checkpoints(Path("work")):
            assert list(block_map(lambda n: n + 1, range(3), label="work")) == [1, 2, 3]
        assert len(sent) == 6
        assert all(Path(path).is_absolute() for path in sent)

    def test_wrong_data_are_told_at_once(self, engine: DaskEngine, work: Path) -> None:
        def function(n: int) -> int:
            raise CorpusError(f"recording {n} is wrong")

        with checkpoints(work), pytest.raises(CorpusError, match="recording 0 is wrong"):
            list(block_map(function, range(4), label="work"))

    def test_a_worker_with_other_code_is_refused(
        self, engine: DaskEngine, work: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, command = own_code(), threading.current_thread()
        in_worker = lambda: here if threading.current_thread() is command else "asr 0.0.9"  # noqa: E731
        monkeypatch.setattr("asr.engines.dask_engine.own_code", in_worker)
        with checkpoints(work), pytest.raises(ClusterError, match=r"a worker runs asr 0\.0\.9, expected asr"):
            list(block_map(calls.noted(), range(4), label="work"))

    def test_a_scheduler_that_goes_is_one_line(self, work: Path, tmp_path: Path) -> None:
        begun, go_on = tmp_path / "begun", tmp_path / "go on"

        def function(n: int) -> int:
            begun.touch()
            wait_for(go_on)
            return n

        def close() -> None:
            wait_for(begun)
            client.close()
            go_on.touch()

        with cluster(1) as started:
            client = Client(started.scheduler_address, set_as_default=False)
            closing = threading.Thread(target=close)
            closing.start()
            expected = pytest.raises(ClusterError, match="tcp://here: the scheduler does not answer any more")
            with using(DaskEngine(client, "tcp://here")), checkpoints(work), expected:
                list(block_map(function, range(3), label="work"))
            closing.join()


def wait_for(path: Path) -> None:
    """Return when a file is there, or after ten seconds."""
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
