"""What cannot be used: it is left out, counted and named, or it stops the run where it is too much."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from asr.corpora.kinds import first_of_each_kind
from asr.errors import CorpusError, Problem

ADVICE = "correct or remove them, or go on without them: --set unusable=skip (or a share, as unusable=0.3)"
_N_NAMED = 10

logger = logging.getLogger(__name__)


def leave_out(
    what: str, problems: Sequence[str], n_unusable: int, n_all: int, most: float, *, needed: bool = True
) -> None:
    """Log what is left out, or raise one error with the problems if it is more than a share of all.

    Parameters
    ----------
    what : what cannot be done with them, after "2 of 7 "
    problems : one line for each problem
    n_unusable, n_all : number of items that are left out, and of all
    most : largest share that is left out
    needed : whether something must remain
    """
    if not n_unusable:
        return
    if n_unusable > most * n_all or (needed and n_unusable == n_all):
        share = f" (at most {100 * most:g} % are left out)" if 0 < most < 1 else ""
        raise CorpusError("\n".join([f"{n_unusable} of {n_all} {what}{share}; {ADVICE}", *_listed(problems)]))
    named = "; ".join(problems[:_N_NAMED])
    more = f"; and {len(problems) - _N_NAMED} more, all in log.txt" if len(problems) > _N_NAMED else ""
    logger.warning("left out: %d of %d %s: %s%s", n_unusable, n_all, what, named, more)
    for problem in problems[_N_NAMED:]:
        logger.info("left out: %s", problem)


def _listed(problems: Sequence[str]) -> list[str]:
    """Return the first of each kind of problem; all are in the log."""
    for problem in problems:
        logger.info("cannot be used: %s", problem)
    kept = first_of_each_kind((Problem("", problem) for problem in problems), _N_NAMED)
    return [
        line
        for problem, n_more in kept
        for line in (problem.what, *([f"  and {n_more} more of this kind, all in log.txt"] if n_more else []))
    ]
