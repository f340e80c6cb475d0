import shutil
import threading
import time

import numpy as np
import pytest

from foundation.blocks import (
    BlockError,
    Shared,
    Threads,
    block_map,
    checkpoints,
    compute_block,
    step,
    using,
)
from foundation.errors import AsrError


@pytest.fixture(autouse=True)
def every_block_has_a_file(monkeypatch):
    monkeypatch.setattr("foundation.blocks.LOSS_S", -1.0)


class Counted:
    """A function that notes what it is called with."""

    def __init__(self, fails=lambda item: False, error=ValueError):
        self.calls, self.fails, self.error, self.lock = [], fails, error, threading.Lock()

    def __call__(self, item):
        with self.lock:
            self.calls.append(item)
        if self.fails(item):
            raise self.error(f"cannot do {item}")
        return np.full(2, item, dtype=np.float64)


def numbers(found):
    return [int(x[0]) for x in found]


@pytest.mark.parametrize("n_workers", [None, 1, 3])
@pytest.mark.parametrize("size", [1, 4, 100])
def test_with_files_and_without_the_results_are_the_same(tmp_path, size, n_workers):
    plain = list(block_map(Counted(), range(10), size, label="work", n_workers=n_workers))
    with checkpoints(tmp_path):
        kept = list(block_map(Counted(), range(10), size, label="work", n_workers=n_workers))
    np.testing.assert_array_equal(plain, kept)
    assert numbers(plain) == list(range(10))


def test_nothing_to_do(tmp_path):
    with checkpoints(tmp_path):
        assert list(block_map(Counted(), [], label="work")) == []


def test_a_second_run_computes_nothing_again(tmp_path):
    first, second = Counted(), Counted()
    for function in (first, second):
        with checkpoints(tmp_path):
            assert numbers(block_map(function, range(10), 4, label="work")) == list(range(10))
    assert sorted(first.calls) == list(range(10))
    assert second.calls == []


def test_blocks_that_are_damaged_or_gone_are_computed_again_alone(tmp_path):
    with checkpoints(tmp_path):
        list(block_map(Counted(), range(12), 4, label="work"))
    blocks = sorted((tmp_path / "0001-work-12").iterdir())
    assert [b.name for b in blocks] == ["000000", "000001", "000002"]
    blocks[0].unlink()
    blocks[2].write_bytes(blocks[2].read_bytes()[:-1])
    again = Counted()
    with checkpoints(tmp_path):
        assert numbers(block_map(again, range(12), 4, label="work")) == list(range(12))
    assert sorted(again.calls) == [0, 1, 2, 3, 8, 9, 10, 11]


def test_maps_of_one_work_do_not_take_each_others_files(tmp_path):
    for _ in range(2):
        with checkpoints(tmp_path):
            assert numbers(block_map(lambda n: np.full(1, n), range(3), label="work")) == [0, 1, 2]
            assert numbers(block_map(lambda n: np.full(1, 7 * n), range(3), label="work")) == [0, 7, 14]
            assert numbers(block_map(lambda n: np.full(1, n), range(2), label="other / work")) == [0, 1]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_map_within_a_block_leaves_no_files(tmp_path):
    def outer(item):
        return sum(block_map(lambda n: n * item, range(4), label="inner"))

    with checkpoints(tmp_path):
        assert list(block_map(outer, range(3), label="outer", n_workers=1)) == [0, 6, 12]
    assert [p.name for p in tmp_path.iterdir()] == ["0001-outer-3"]
    with checkpoints(tmp_path):  # in the thread of the caller, as engines of processes do it
        assert compute_block(outer, [2], tmp_path / "block") == [12]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0001-outer-3", "block"]


class TestFailures:
    def test_each_block_is_tried_three_times_and_all_others_are_done(self, tmp_path):
        function = Counted(lambda item: item in (2, 7))
        with checkpoints(tmp_path), pytest.raises(BlockError, match="blocks failed") as caught:
            list(block_map(function, range(10), label="pairs", names="pair {}".format))
        message = str(caught.value)
        assert message.startswith(
            "pairs: 2 of 10 blocks failed 3 times: pair 2 (ValueError: cannot do 2); pair 7"
        )
        assert "run the same command again" in message
        assert [function.calls.count(n) for n in range(10)] == [1, 1, 3, 1, 1, 1, 1, 3, 1, 1]
        mended = Counted()
        with checkpoints(tmp_path):
            assert numbers(block_map(mended, range(10), label="pairs")) == list(range(10))
        assert sorted(mended.calls) == [2, 7]

    def test_what_fails_once_or_twice_is_no_failure(self, tmp_path):
        function = Counted()
        function.fails = lambda item: item == 3 and function.calls.count(3) < 3
        with checkpoints(tmp_path):
            assert numbers(block_map(function, range(5), label="pairs")) == list(range(5))

    @pytest.mark.parametrize("error", [AsrError, OSError, MemoryError])
    def test_wrong_data_and_a_full_disk_are_not_tried_again(self, tmp_path, error):
        function = Counted(lambda item: item == 1, error)
        with checkpoints(tmp_path), pytest.raises(error, match="cannot do 1"):
            list(block_map(function, range(4), label="work", n_workers=1))
        assert function.calls.count(1) == 1


class TestSteps:
    def test_a_step_is_done_once_and_its_blocks_go(self, tmp_path):
        function = Counted()

        def one_pass(start):
            return start + sum(x[0] for x in block_map(function, range(3), label="sums"))

        for _ in range(2):
            with checkpoints(tmp_path):
                value = 0.0
                for _ in range(4):
                    value = step("pass", lambda value=value: one_pass(value))
            assert value == 12
        assert len(function.calls) == 12
        assert sorted(p.name for p in tmp_path.iterdir()) == [f"000{n}-pass.done" for n in (1, 2, 3, 4)]

    def test_a_broken_step_goes_on_with_its_blocks(self, tmp_path):
        function = Counted()

        def broken():
            found = list(block_map(function, range(3), label="sums"))
            raise KeyboardInterrupt(len(found))

        with checkpoints(tmp_path), pytest.raises(KeyboardInterrupt, match="3"):
            step("pass", broken)
        with checkpoints(tmp_path):
            assert step("pass", lambda: numbers(block_map(function, range(3), label="sums"))) == [0, 1, 2]
        assert len(function.calls) == 3

    def test_the_step_of_nothing_is_nothing(self, tmp_path):
        calls = []
        for _ in range(2):
            with checkpoints(tmp_path):
                assert step("pass", lambda: calls.append(1)) is None
        assert calls == [1]

    def test_without_files_a_step_is_a_call(self):
        assert step("pass", lambda: 3) == 3


def test_the_number_of_threads_is_the_engines(tmp_path):
    def at_once(n_items):
        both = threading.Barrier(2, timeout=2)

        def meet(_):
            try:
                both.wait()
            except threading.BrokenBarrierError:
                return False
            return True

        return list(block_map(meet, range(n_items), label="meet"))

    for place in (None, tmp_path):
        with using(Threads(2)):
            if place is None:
                assert at_once(2) == [True, True]
            else:
                with checkpoints(place):
                    assert at_once(2) == [True, True]
        with using(Threads(1)):
            assert at_once(2) == [False, False]
        shutil.rmtree(tmp_path, ignore_errors=True)


def test_shared_values_are_told_apart_by_identity():
    one, other = Shared([1]), Shared([1])
    assert one != other
    assert len({one, other}) == 2


def test_the_first_moments_of_a_map_are_not_worth_files(tmp_path, monkeypatch):
    monkeypatch.setattr("foundation.blocks.LOSS_S", 0.05)

    def work(n):
        started = time.thread_time()
        while time.thread_time() < started + 0.02:
            pass
        return n

    with checkpoints(tmp_path):
        assert list(block_map(work, range(6), label="work", n_workers=1)) == list(range(6))
    assert sorted(p.name for p in (tmp_path / "0001-work-6").iterdir()) == [
        "000002",
        "000003",
        "000004",
        "000005",
    ]
