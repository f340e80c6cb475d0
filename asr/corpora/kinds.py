"""Many problems in few lines: those of one kind are listed up to a number, the others counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from asr.errors import Problem

# What differs between problems of one kind: names in quotes, hints, paths and files, numbers.
_QUOTED = re.compile(r'"[^"]*"')
_HINT = re.compile(r" ?\(did you mean [^)]*\)")
_NAMED = re.compile(r"[/\\]\S|\S\.\w")
_NUMBER = re.compile(r"\d[\d.]*")


def kind_of(problem: Problem) -> str:
    """Return what a problem has in common with others of its kind.

    Examples
    --------
    >>> kind_of(Problem("a", 'no transcript, expected "a.txt" beside it'))
    'error: no transcript, expected beside it'
    """
    what = _QUOTED.sub(" ", _HINT.sub("", problem.what))
    what = " ".join(part for part in what.split() if not _NAMED.search(part))
    return f"{problem.severity}: {' '.join(_NUMBER.sub(' ', what).split())}"


def first_of_each_kind(problems: Iterable[Problem], n_each: int) -> list[tuple[Problem, int]]:
    """Return the first problems of each kind, in order, each with the number of those left out after it.

    That number is 0 but for the last one that is kept of a kind.
    """
    problems = list(problems)
    kinds = [kind_of(problem) for problem in problems]
    n_of_kind, n_seen = Counter(kinds), Counter[str]()
    kept = []
    for problem, kind in zip(problems, kinds, strict=True):
        n_seen[kind] += 1
        if n_seen[kind] <= n_each:
            is_last = n_seen[kind] == n_each
            kept.append((problem, n_of_kind[kind] - n_each if is_last else 0))
    return kept
