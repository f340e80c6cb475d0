import copy
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sklearn.cluster  # noqa: F401 (brings BLAS and OpenMP)
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

from foundation.errors import AsrError
from foundation.threads import (
    SERIAL_MULTIPLICATIONS,
    OneAtATime,
    default_workers,
    drop_unusable_threads,
    parallel_map,
    serial_product,
    single_threaded_libraries,
)


@pytest.mark.parametrize("n_workers", [None, 1, 2, 5])
def test_results_come_in_the_order_of_the_items(n_workers):
    def late_first(item):
        time.sleep(0.01 * (3 - item % 4))
        return item * item

    assert list(parallel_map(late_first, range(12), n_workers)) == [i * i for i in range(12)]


def test_nothing_to_do():
    assert list(parallel_map(str, [])) == []


def test_many_workers_work_at_once():
    both = threading.Barrier(2, timeout=10)
    # Each waits for the other; alone, the first would wait until the barrier breaks.
    assert sorted(parallel_map(lambda _: both.wait(), range(2), 2)) == [0, 1]


def test_an_error_comes_through():
    def fail(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        list(parallel_map(fail, range(4), 2))


def library_threads(_=None):
    """Return how many threads each numerical library would use if it were called now."""
    return [pool["num_threads"] for pool in threadpool_info()]


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def three_threads():
    """Give every library three threads, so that a limit can be seen on any machine."""
    with threadpool_limits(limits=3):
        yield library_threads()


def test_libraries_have_one_thread_meanwhile(three_threads):
    assert set(three_threads) == {3}
    assert {n for found in parallel_map(library_threads, range(3), 2) for n in found} == {1}
    assert library_threads() == three_threads


def test_overlapping_limits_are_lifted_by_the_last(three_threads):
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded_libraries():
            inside.set()
            leave.wait(10)

    with single_threaded_libraries():
        thread = threading.Thread(target=hold)
        thread.start()
        assert inside.wait(10)
    assert blas_threads() == {1}  # the other still holds it
    leave.set()
    thread.join(10)
    assert library_threads() == three_threads


def test_the_limit_outlives_an_error_in_neither_form(three_threads):
    with pytest.raises(ZeroDivisionError, match="by hand"), single_threaded_libraries():
        raise ZeroDivisionError("by hand")
    with pytest.raises(ZeroDivisionError, match="division or modulo by zero"):
        list(parallel_map(lambda n: 1 // n, range(3), 2))
    assert library_threads() == three_threads


def test_results_taken_one_by_one_do_not_hold_the_limit(three_threads):
    results = parallel_map(abs, range(-4, 0), 2)
    assert next(results) == 4
    deadline = time.monotonic() + 10
    while library_threads() != three_threads and time.monotonic() < deadline:
        time.sleep(0.01)  # the workers finish the rest
    assert library_threads() == three_threads
    assert list(results) == [3, 2, 1]


def test_a_caller_who_wants_no_more_stops_the_work(three_threads):
    started = []

    def work(item):
        started.append(item)
        time.sleep(0.01)

    results = parallel_map(work, range(1000), 2)
    next(results)
    results.close()
    assert len(started) < 100
    assert library_threads() == three_threads


def test_default_workers():
    assert default_workers() >= 1


LATE_LIBRARY = """
from threadpoolctl import threadpool_info
from foundation.threads import single_threaded_libraries
with single_threaded_libraries():
    import numpy
    with single_threaded_libraries():
        print({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
before = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
print(before)
"""


def test_a_library_that_comes_while_the_limit_is_held():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, "-c", LATE_LIBRARY], env=environment, capture_output=True, text=True, check=True
    )
    inside, outside = done.stdout.splitlines()
    assert inside == "{1}"
    assert outside != "{1}" or os.cpu_count() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_holds_nothing(three_threads):
    with single_threaded_libraries():
        child = os.fork()
        if not child:
            os._exit(0 if blas_threads() == {3} else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert blas_threads() == {1}
    assert library_threads() == three_threads


# The product on one thread equals numpy's


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 3, 2), (500, 257, 26), (3, 2000, 1500)])
def test_equals_numpys(shape):
    n, depth, k = shape
    rng = np.random.default_rng(0)
    left, right = (
        rng.normal(size=(n, depth)).astype(np.float32),
        rng.normal(size=(depth, k)).astype(np.float32),
    )
    assert_allclose(serial_product(left, right), left @ right, rtol=1e-4, atol=1e-3)


def test_writes_into_columns_of_a_larger_array():
    left, right = np.eye(4, dtype=np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    whole = np.full((4, 3), -1.0, dtype=np.float32)
    serial_product(left, right, out=whole[:, :2])
    assert_allclose(whole, np.hstack([right, np.full((4, 1), -1.0)]), rtol=0, atol=0)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    left, right = (
        rng.normal(size=(3000, 169)).astype(np.float32),
        rng.normal(size=(169, 60)).astype(np.float32),
    )
    assert left.shape[0] * right.size > 10 * SERIAL_MULTIPLICATIONS
    with threadpool_limits(limits=1):
        alone = serial_product(left, right)
    assert serial_product(left, right).tobytes() == alone.tobytes()


def test_one_thread_at_a_time():
    use, found = OneAtATime("a thing", AsrError), []

    def try_it():
        try:
            with use:
                found.append("in")
        except AsrError as error:
            found.append(str(error))

    with use:
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    try_it()
    assert found == [
        "a thing: already in use by another thread, expected one thread at a time; "
        "make one for each thread, or let the threads wait for each other",
        "in",
    ]


def test_what_is_in_use_is_free_in_a_copy():
    use = OneAtATime("a thing", AsrError)
    with use, copy.deepcopy(use), pytest.raises(AsrError, match="a thing: already in use"), use:
        raise AssertionError


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "2,1"])
def test_numbers_of_threads_that_numba_cannot_start_with_are_dropped(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    assert drop_unusable_threads() == value
    assert "NUMBA_NUM_THREADS" not in os.environ
    assert drop_unusable_threads() is None


@pytest.mark.parametrize("value", ["1", "16", " 2 ", "+3"])
def test_other_numbers_of_threads_stay_as_they_are(monkeypatch, value):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    assert drop_unusable_threads() is None
    assert os.environ["NUMBA_NUM_THREADS"] == value
