"""Complaints come out all at once; threads really are at work at the same time."""

import threading

import pytest

from foundation.conformance import N_THREADS, ConformanceError, conform, copied, from_threads, raised


def test_all_complaints_are_in_one_error() -> None:
    with pytest.raises(ConformanceError, match="it: 2 things are wrong:\n  this\n  that"):
        conform("it", iter(["this", "that"]))


def test_an_error_is_named() -> None:
    assert raised(ValueError("no")) == "raises ValueError: no"


def test_calls_run_at_the_same_time_and_results_keep_their_order() -> None:
    together = threading.Barrier(N_THREADS, timeout=10)

    def call(n: int) -> int:
        together.wait()  # with fewer threads it would break
        return n

    assert from_threads([lambda n=n: call(n) for n in range(N_THREADS)]) == list(range(N_THREADS))


def test_a_copy_is_another_object_with_the_same_value() -> None:
    value = {"a": [1, 2]}
    assert copied(value) == value
    assert copied(value)["a"] is not value["a"]
    with pytest.raises(TypeError, match="cannot pickle"):
        copied(threading.Lock())
