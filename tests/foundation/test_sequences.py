"""Sequences that are computed when they are needed."""

import errno
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from foundation.sequences import Computed, InFile, kept


def test_items_are_computed_each_time_they_are_asked_for() -> None:
    asked: list[int] = []

    def function(n: int) -> int:
        asked.append(n)
        return 10 * n

    found = Computed(function, 3)
    assert asked == []
    assert [found[1], found[-1], found[1]] == [10, 20, 10]
    assert asked == [1, 2, 1]
    assert found[1:] == [10, 20]
    assert list(found) == [0, 10, 20]


def test_map_is_computed_late_too() -> None:
    found = Computed(lambda n: 10 // n, 3).map(str)  # the first cannot be computed
    assert len(found) == 3
    assert found[2] == "5"
    with pytest.raises(ZeroDivisionError, match="by zero"):
        found[0]


def test_no_item_beyond_the_last() -> None:
    with pytest.raises(IndexError, match="out of range"):
        Computed(lambda n: n, 2)[2]


# Arrays in memory, or in a file if they are many: the same either way


@pytest.mark.parametrize("in_memory", [0, 100, 1 << 20])
def test_arrays_come_back_as_they_were(in_memory: int) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 3)).astype(np.float32) for n in (4, 0, 7, 1)]
    found = kept(iter(arrays), in_memory)
    assert isinstance(found, InFile) == (in_memory < 144)
    assert len(found) == 4
    for n in (2, 0, 3, 1, -2):
        np.testing.assert_array_equal(found[n], arrays[n])
        assert (found[n].dtype, found[n].flags.writeable) == (np.float32, True)
    assert [len(array) for array in found[1:3]] == [0, 7]
    assert [len(array) for array in found] == [4, 0, 7, 1]


def test_many_threads_may_read() -> None:
    arrays = [np.full(1000, n, dtype=np.float32) for n in range(50)]
    found = InFile(arrays)
    with ThreadPoolExecutor(8) as pool:
        sums = list(pool.map(lambda n: float(found[n].sum()), [*range(50)] * 4))
    assert sums == [1000.0 * n for n in range(50)] * 4


class Full:
    """A file of a full disk."""

    closed = False

    def tell(self) -> int:
        return 0

    def write(self, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Full()
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        kept([np.zeros(3, np.float32)], in_memory=0)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, tempfile.gettempdir())
    assert full.closed


@pytest.mark.parametrize("lengths", [(4, 0, 7, 1), (0, 0), ()])
def test_another_process_gets_the_same_arrays(lengths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(n, 3)).astype(np.float32) for n in lengths]
    found = pickle.loads(pickle.dumps(InFile(arrays)))
    assert len(found) == len(arrays)
    for n, array in enumerate(arrays):
        np.testing.assert_array_equal(found[n], array)
    assert [len(array) for array in found[1:]] == list(lengths[1:])
