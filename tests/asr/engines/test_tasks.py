from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from asr.engines.dask_engine import FilesForWorkers, compute
from asr.errors import ClusterError
from foundation.blocks import Shared, finished
from foundation.threads import default_workers
from foundation.version import own_code


def test_a_function_works_on_blocks_with_what_it_holds(tmp_path: Path) -> None:
    weights = np.arange(6.0).reshape(2, 3)
    function = FilesForWorkers().written(lambda n: weights[n] * 2, tmp_path)
    assert (
        compute(own_code(), str(function), [([0, 1], str(tmp_path / "a")), ([1], str(tmp_path / "b"))]) >= 0
    )
    np.testing.assert_array_equal(finished(tmp_path / "a"), weights * 2)
    np.testing.assert_array_equal(finished(tmp_path / "b"), weights[1:] * 2)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    def function(n: int) -> int:
        (tmp_path / f"called-{n}").touch(exist_ok=False)
        return n

    path = FilesForWorkers().written(function, tmp_path)
    for _ in range(2):
        compute(own_code(), str(path), [([3], str(tmp_path / "a"))])
    assert finished(tmp_path / "a") == [3]


def test_shared_values_are_written_once_and_mapped(tmp_path: Path) -> None:
    files, frames = FilesForWorkers(), Shared(np.zeros(100_000))
    paths = [files.written(lambda n, k=k: (k, len(frames.value)), tmp_path) for k in range(3)]
    assert all(path.stat().st_size < 10_000 for path in paths)
    assert sum(p.stat().st_size > 800_000 for p in tmp_path.iterdir()) == 1
    for k, path in enumerate(paths):
        compute(own_code(), str(path), [([0], str(tmp_path / f"out-{k}"))])
        assert finished(tmp_path / f"out-{k}") == [(k, 100_000)]


def test_a_worker_is_one_of_many(tmp_path: Path) -> None:
    path = FilesForWorkers().written(lambda n: default_workers(), tmp_path)
    compute(own_code(), str(path), [([0], str(tmp_path / "a"))])
    assert finished(tmp_path / "a") == [1]


def test_other_code_is_refused(tmp_path: Path) -> None:
    path = FilesForWorkers().written(lambda n: n, tmp_path)
    with pytest.raises(
        ClusterError, match=r"a worker runs asr-.*, expected asr 0\.0\.9, as the command does; inst"
    ):
        compute("asr 0.0.9", str(path), [([0], str(tmp_path / "a"))])
    assert not (tmp_path / "a").exists()
