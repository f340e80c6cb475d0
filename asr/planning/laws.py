"""What cannot be counted before a training, by small laws; every number that was fitted stands here.

They were fitted on finished experiments on one machine (two cores of an AMD EPYC): AN4, FSDD, and all hours
of Iban, recipes ``an4``, ``fsdd``, ``iban``. How well they hold elsewhere is in ``docs/results/plan.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr

from acoustic.hmm.tying import TyingConfig
from acoustic.pairs.train_pools import PoolsConfig
from asr.planning.amounts import PhoneCounts

# A context is a leaf of its tree if it has twice the least number of frames; of the others so many frames
# make a leaf, too. AN4 has 225 states where this gives 231, with dev 242 (246), FSDD 96 (96).
_LEAF = 2.0
_N_POSITIONS = 3  # states of a phone

# The frames of states are distributed log-normally with this deviation: of at most 4,000 frames a state, AN4
# has 2,075 (2,105), FSDD 2,621 (2,598), Iban 3,780 (3,995).
_SPREAD = 0.5

# A state has 3.6 times the root of the number of states as rivals, for 90 % of the meetings: AN4 has 5,742
# pairs (6,075) of 225 states, FSDD 1,721 (1,693) of 96, Iban 14,062 (14,400) of 400.
_RIVALS = 3.6
# For other shares of the meetings, times that: docs/results/an4.md, "Rivals".
_SHARES, _TIMES = (0.0, 0.6, 0.8, 0.9, 0.95, 1.0), (0.0, 0.3, 0.65, 1.0, 1.35, 3.1)

# Pairs with centres of their own choose the same frames: of M frames, P pairs of C centres have
# M (1 − exp(−(0.114 P C / M)^0.65)) distinct ones. AN4's 5,050 pairs have 55,478 (58,600) of 134,000 frames,
# 600 and 1,800 pairs of `benchmarks/rm1_sized.py` 40,838 (42,300) and 85,109 (85,100) of 1.3 million.
_DISTINCT, _DISTINCT_POWER = 0.114, 0.65

# libsvm's time grows with this power of the frames of a pair, the support vectors with the other
# (docs/results/an4.md, table 4.2, three sizes).
SVM_POWER, SUPPORT_POWER = 1.32, 0.63

# Dev is decoded two or three times for each grammar, and each listed value of a weight is tried about once
# and a half on lattices: 12 to 62 trials of 13 (word loop) or 24 values.
DECODINGS = 2.5
TRIALS_A_VALUE = 1.5
# In a prefix tree tuned weights prune more than those that tuning begins with: Iban, 231 against 313 µs a
# frame. Word instances are so few that it makes no difference.
TUNED_EFFORT = 0.75

# A Python process with its libraries and compiled functions, in MB: 262 of 299 on FSDD.
BASE_MB = 260.0
# A word of the lexicon costs memory in lexicon, grammar and prefix tree: Iban, 250 MB of 36,954 words.
MB_A_WORD = 0.0065

# Share of the work in threads that holds the interpreter's lock: on Iban, with two idle cores, training of 8
# Gaussians took 44 s for 84 CPU s (45), the test 14 for 28 (15), judging all transcripts 26 for 46 (26).
LOCKED = 0.05


def tied_states(
    phones: PhoneCounts, n_speech_frames: float, config: TyingConfig, n_monophone: int, n_silent: int
) -> int:
    """Return how many states in context are expected.

    Parameters
    ----------
    phones : phones of the transcripts
    n_speech_frames : frames that are no silence
    config : when trees stop growing
    n_monophone : states of all monophones, silence included
    n_silent : states of silence
    """
    n_tokens = sum(phones.tokens.values())
    if not n_tokens:
        return n_monophone
    a_token = n_speech_frames / n_tokens / _N_POSITIONS
    found: dict[str, list[float]] = {}
    for context, n in phones.contexts.items():
        found.setdefault(context.phone, []).append(n * a_token)
    n_leaves = sum(_n_leaves(frames, _LEAF * config.min_frames) for frames in found.values())
    n_unsaid = n_monophone - n_silent - _N_POSITIONS * len(found)
    wanted = n_silent + _N_POSITIONS * n_leaves + max(n_unsaid, 0)
    return max(min(wanted, config.max_states), n_monophone)


def _n_leaves(frames: Sequence[float], enough: float) -> int:
    """Return how many leaves contexts with so many frames each are expected to make."""
    few = [n for n in frames if n < enough]
    return max(len(frames) - len(few) + int(sum(few) / enough), 1)


def frames_a_state(n_frames: float, n_states: int, most: float) -> float:
    """Return the mean number of frames of a state, of which at most so many are taken.

    >>> round(frames_a_state(1000.0, 10, 1e6)), round(frames_a_state(1000.0, 10, 1.0))
    (100, 1)
    """
    mean = n_frames / max(n_states, 1)
    if not mean:
        return 0.0
    place = (np.log(most / mean) + _SPREAD**2 / 2) / _SPREAD
    return float(mean * ndtr(place - _SPREAD) + most * ndtr(-place))


def frames_a_phone_state(phones: PhoneCounts, n_frames: float, most: float) -> float:
    """Return the mean number of frames of a phone's state of which at most so many are taken.

    Parameters
    ----------
    phones : how often each phone is said; all are taken to be as long
    n_frames : frames of all phones
    most : largest number of frames of a state

    >>> frames_a_phone_state(PhoneCounts({"A": 3, "B": 1}, {}), 1200.0, 200.0)
    150.0
    """
    n_tokens = sum(phones.tokens.values())
    if not n_tokens:
        return 0.0
    a_token = n_frames / n_tokens / _N_POSITIONS
    return sum(min(most, n * a_token) for n in phones.tokens.values()) / len(phones.tokens)


def rival_pairs(n_classes: int, config: PoolsConfig) -> int:
    """Return how many pairs of so many classes are expected to have machines."""
    n_all = all_pairs(n_classes)
    times = float(np.interp(config.rivals, _SHARES, _TIMES))
    return int(min(round(0.5 * _RIVALS * times * n_classes**1.5), n_all))


def all_pairs(n_classes: int) -> int:
    """Return the number of pairs of so many classes."""
    return n_classes * (n_classes - 1) // 2


def distinct_centers(n_pairs: int, n_centers: int, n_frames: float) -> int:
    """Return how many distinct frames are centres where each pair has its own."""
    if not n_frames:
        return 0
    asked = _DISTINCT * n_pairs * n_centers / n_frames
    return round(n_frames * float(-np.expm1(-(asked**_DISTINCT_POWER))))


def n_choices(values: Mapping[str, object]) -> int:
    """Return how often pairs are trained to choose options from so many values each, one after the other."""
    return 1 + sum(len(tried) - 1 for tried in values.values()) if values else 0  # type: ignore[arg-type,misc]
