"""One base class for all errors a user can cause, and the hint behind unknown names."""

import importlib
import inspect

import pytest

from foundation.errors import AsrError, did_you_mean, near

MODULES = ("foundation.errors", "features.errors", "acoustic.errors", "decoder.errors", "asr.errors")


@pytest.mark.parametrize("module", MODULES)
def test_every_error_is_caught_as_ours_and_keeps_its_line(module: str) -> None:
    own = [
        error
        for _, error in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if error.__module__ == module and issubclass(error, BaseException)
    ]
    assert own
    for error in own:
        assert error.__name__.endswith("Error")
        with pytest.raises(AsrError, match=r"^text:17: what; expected; got; do$"):
            raise error("text:17: what; expected; got; do")


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ([], ""),
        (["ONE"], ' (did you mean "ONE"?)'),
        (["ONE", "NINE"], ' (did you mean "ONE" or "NINE"?)'),
        (iter(["A", "B", "C"]), ' (did you mean "A" or "B" or "C"?)'),
    ],
)
def test_hint(names: list[str], hint: str) -> None:
    assert did_you_mean(names) == hint


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("GMM", ["gmm"]),  # the same in another case comes before what is merely alike
        ("studnt", ["Student"]),
        ("gmm_lda", ["gmm-lda"]),
        ("gmm-ldaa", ["gmm-lda"]),
        ("", []),
        ("xyzzy", []),
    ],
)
def test_what_is_most_like_a_name(name: str, found: list[str]) -> None:
    assert near(name, iter(["gmm-lda", "gmm", "gmmm", "Student", "pools"])) == found


def test_all_that_differ_in_case_alone() -> None:
    assert near("text", ["Text", "TEXT", "test"], 2) == ["Text", "TEXT"]
    assert near("toat", ["Text", "Toast"], 2) == ["Toast"]


def test_a_line_of_a_million_letters_is_shown_by_its_ends() -> None:
    text = str(AsrError(f'a.txt:1: word "{"x" * 10**6}" is unknown; correct it\nanother line'))
    first, second = text.split("\n")
    assert len(first) == 1000
    assert first.startswith('a.txt:1: word "xxx')
    assert first.endswith('xxx" is unknown; correct it')
    assert second == "another line"
    assert near("x" * 10**6, ["x" * 10**6 + "y", "pools"]) == []
