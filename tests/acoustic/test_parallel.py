import threading
import time

import pytest
from threadpoolctl import threadpool_info

from acoustic.parallel import default_workers, parallel_map


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
    assert len(list(parallel_map(lambda _: both.wait(), range(2), 2))) == 2


def test_an_error_comes_through():
    def fail(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        list(parallel_map(fail, range(4), 2))


def test_blas_has_one_thread_meanwhile():
    def blas_threads(_):
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas_threads(None)
    assert all(threads == 1 for found in parallel_map(blas_threads, range(3), 2) for threads in found)
    assert blas_threads(None) == before


def test_default_workers():
    assert default_workers() >= 1
