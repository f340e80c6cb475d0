"""CPU seconds of small calls, on a machine that others use, too."""

from __future__ import annotations

import time
from collections.abc import Callable

_ENOUGH_S = 0.3  # a call that has taken so long is not repeated; by feel
_N_TIMES = 4  # by feel


def least_seconds(call: Callable[[], object], *, is_warm: bool = False) -> float:
    """Return the least CPU seconds of a call that is made a few times.

    What others do on the machine, and what is compiled in the first call, only adds to the time. A call that
    ``is_warm``, since it has been made on something small, is made once if it takes long.
    """
    used: list[float] = []
    while len(used) < (1 if is_warm else 2) or (len(used) < _N_TIMES and sum(used) < _ENOUGH_S):
        start = time.process_time()
        call()
        used.append(time.process_time() - start)
    return min(used)
