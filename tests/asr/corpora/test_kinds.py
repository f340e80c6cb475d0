"""Problems of one kind are counted together, whatever they name."""

import time

from asr.corpora.kinds import first_of_each_kind, kind_of
from asr.errors import Problem


def test_what_is_named_does_not_matter() -> None:
    same = [
        Problem("u1", 'word "ZULU" is not in the lexicon (did you mean "ZERO"?), 3 time(s)'),
        Problem("u2", 'word "A b" is not in the lexicon, 12 time(s)'),
    ]
    assert kind_of(same[0]) == kind_of(same[1])
    files = [Problem("u", f"/data/{n}/x.wav: truncated; expected {n}05 bytes") for n in "12"]
    assert kind_of(files[0]) == kind_of(files[1]) == "error: truncated; expected bytes"


def test_severity_and_words_do() -> None:
    kinds = {kind_of(Problem("u", *rest)) for rest in (("is wrong",), ("is wrong", "warning"), ("is odd",))}
    assert kinds == {"error: is wrong", "warning: is wrong", "error: is odd"}


def test_the_first_of_each_kind_and_how_many_follow() -> None:
    problems = [Problem(str(n), ("is wrong", "is odd")[n % 2]) for n in range(7)]
    kept = [(problem.where, n_more) for problem, n_more in first_of_each_kind(problems, 2)]
    assert kept == [("0", 0), ("1", 0), ("2", 2), ("3", 1)]
    assert [n for _, n in first_of_each_kind(problems, 7)] == [0] * 7


def test_a_long_text_without_spaces_is_no_trouble() -> None:
    started = time.process_time()
    assert kind_of(Problem("u", "a" * 50_000)) == f"error: {'a' * 50_000}"
    assert time.process_time() - started < 5  # it took minutes
