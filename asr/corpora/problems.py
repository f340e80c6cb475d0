"""Long lists of problems made short (the first of each kind), and utterances left out because of problems.

A corpus of thousands of recordings may have the same fault in each. Problems that differ in names and numbers
alone are of one kind: of each kind some are listed, and the others counted.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from asr.errors import CorpusError, Problem

logger = logging.getLogger(__name__)

ADVICE = "correct or remove them, or go on without them: --set unusable=skip (or a share, as unusable=0.3)"
_N_NAMED = 10  # by feel
# What differs between problems of one kind: names in quotes, hints, paths and files, numbers.
_QUOTED = re.compile(r'"[^"]*"')
_HINT = re.compile(r" ?\(did you mean [^()]*\)")
_NAMED = re.compile(r"[/\\]\S|\S\.\w")
_NUMBER = re.compile(r"\d[\d.]*")


def problem_kind(problem: Problem) -> str:
    """Return what a problem has in common with others of its kind.

    Examples
    --------
    >>> problem_kind(Problem("a", 'no transcript, expected "a.txt" beside it'))
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
    kinds = [problem_kind(problem) for problem in problems]
    n_of_kind, n_seen = Counter(kinds), Counter[str]()
    kept = []
    for problem, kind in zip(problems, kinds, strict=True):
        n_seen[kind] += 1
        if n_seen[kind] <= n_each:
            is_last = n_seen[kind] == n_each
            kept.append((problem, n_of_kind[kind] - n_each if is_last else 0))
    return kept


def leave_out(
    what: str,
    problems: Sequence[str],
    n_unusable: int,
    n_all: int,
    most: float,
    n_most: float | None = None,
    *,
    needed: bool = True,
) -> None:
    """Log what is left out, or raise one error with the problems if it is more than a share of all.

    Parameters
    ----------
    what : what cannot be done with them, after "2 of 7 "
    problems : one line for each problem
    n_unusable, n_all : number of items that are left out, and of all
    most : largest share that is left out
    n_most : the number that this share is, if it is one of more than these, such as of a whole corpus
    needed : whether something must remain
    """
    if not n_unusable:
        return
    if n_unusable > (most * n_all if n_most is None else n_most) or (needed and n_unusable == n_all):
        share = f" (at most {100 * most:g} % of the corpus are left out)" if 0 < most < 1 else ""
        lines = [f"{n_unusable} of {n_all} {what}{share}; {ADVICE}"]
        for problem in problems:
            logger.info("cannot be used: %s", problem)
        for first, n_more in first_of_each_kind((Problem("", problem) for problem in problems), _N_NAMED):
            lines += [first.what, *([f"  and {n_more} more of this kind, all in log.txt"] if n_more else [])]
        raise CorpusError("\n".join(lines))
    named = "; ".join(problems[:_N_NAMED])
    more = f"; and {len(problems) - _N_NAMED} more, all in log.txt" if len(problems) > _N_NAMED else ""
    logger.warning("left out: %d of %d %s: %s%s", n_unusable, n_all, what, named, more)
    for problem in problems[_N_NAMED:]:
        logger.info("left out: %s", problem)
