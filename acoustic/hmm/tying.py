"""States of phones in context, tied by phonetic decision trees.

Every state position of a phone has a tree; a node asks whether the left or the right neighbour belongs to a
set of phones. The split that raises the likelihood of the frames most, one Gaussian a leaf, comes first
(Young, Odell, Woodland 1994). Any context has a leaf, seen in training or not, so no word becomes
unreachable.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import linkage

from acoustic.errors import TrainingError
from acoustic.hmm.topology import EDGE, SILENCES, Context, Topology, base_phone
from foundation.arrays import Floats, Ints, Reals
from foundation.records import check_highest, check_lowest

Key = tuple[Context, int]  # a phone in context and a state position

_LEAST_VARIANCE = 1e-3
_STATES_OF_FEW = 400  # docs/adr/0022-speaker-adaptive-training.md
_FRAMES_A_STATE = 2000


@dataclass(frozen=True)
class TyingConfig:
    """When the decision trees that tie states stop growing.

    Attributes
    ----------
    min_frames : least number of frames of every leaf of a decision tree
    min_gain : least gain in log-likelihood of a split, in nats
    max_states : largest number of emission states in all, silence included; more than 400 only where there
        are 2,000 frames for each
    """

    min_frames: int = 250
    min_gain: float = 200.0
    max_states: int = 1000

    def __post_init__(self) -> None:
        check_lowest(self, {"min_frames": 1, "min_gain": 0, "max_states": 1}, TrainingError)
        check_highest(self, {"min_frames": 10**9, "min_gain": 1e12, "max_states": 1_000_000}, TrainingError)

    def most_states(self, n_frames: float) -> int:
        """Return the largest number of states that so many frames are tied to."""
        return min(self.max_states, max(_STATES_OF_FEW, int(n_frames / _FRAMES_A_STATE)))


def contextual_topology(
    monophones: Topology,
    found: Sequence[Context],
    states: Sequence[tuple[int, ...]] | None = None,
    crosses_words: bool = False,
) -> Topology:
    """Return a topology of phones in context beside the silences.

    Parameters
    ----------
    monophones : topology from which self-loops are taken, and states where ``states`` is not given
    found : phones in context
    states : emission states of each phone in context; those of the phone by default. The silences keep their
        states, which no phone in context may use
    crosses_words : whether contexts reach across words
    """
    ids = {phone: monophones.phone_id(phone) for phone in monophones.phones}
    silences = [p for p in SILENCES if p in ids]
    own = [monophones.phone_states[ids[c.phone]] for c in found] if states is None else list(states)
    return Topology(
        (*silences[:1], *(c.name for c in found), *silences[1:]),
        (
            *(monophones.phone_states[ids[p]] for p in silences[:1]),
            *own,
            *(monophones.phone_states[ids[p]] for p in silences[1:]),
        ),
        (
            *(monophones.self_loops[ids[p]] for p in silences[:1]),
            *(monophones.self_loops[ids[c.phone]] for c in found),
            *(monophones.self_loops[ids[p]] for p in silences[1:]),
        ),
        is_contextual=True,
        crosses_words=crosses_words,
    )


def base_states(topology: Topology, monophones: Topology) -> Ints:
    """Return the monophone state (S,) that each state of a topology, in context or not, stands for."""
    found = np.zeros(topology.n_states, dtype=np.int32)
    for phone, states in zip(topology.phones, topology.phone_states, strict=True):
        name = base_phone(phone) if topology.is_contextual else phone
        found[list(states)] = _states(monophones, name)
    return found


class Question(NamedTuple):
    """Whether the neighbour on a side is one of some phones."""

    side: Literal["left", "right"]
    phones: frozenset[str]

    def holds(self, context: Context) -> bool:
        """Return whether the neighbour in this context is one of the phones."""
        return getattr(context, self.side) in self.phones


@dataclass(frozen=True)
class Moments:
    """Number, sum and sum of squares (D,) of some frames."""

    count: float
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, frames: Reals) -> Moments:
        """Return the moments of frames (n, D)."""
        wide = frames.astype(np.float64)
        return cls(float(len(wide)), wide.sum(axis=0), (wide**2).sum(axis=0))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.count + other.count, self.total + other.total, self.squares + other.squares)

    def log_likelihood(self) -> float:
        """Return the log-likelihood of the frames under their own Gaussian, without the terms in 2π and e."""
        if not self.count:
            return 0.0
        mean = self.total / self.count
        variance = np.maximum(self.squares / self.count - mean**2, _LEAST_VARIANCE)
        return float(-0.5 * self.count * np.log(variance).sum())


def generated_questions(moments: Mapping[Key, Moments]) -> list[Question]:
    """Return sets of phones from a hierarchical clustering of their mean frames, each asked of both sides.

    The single phones and the word's edge are among them.
    """
    by_phone: dict[str, dict[int, Moments]] = {}
    for (context, position), found in moments.items():
        positions = by_phone.setdefault(context.phone, {})
        positions[position] = positions[position] + found if position in positions else found
    sets = {frozenset([EDGE]), *(frozenset([phone]) for phone in by_phone)}
    n_positions = max((len(p) for p in by_phone.values()), default=0)
    phones = sorted(p for p, positions in by_phone.items() if len(positions) == n_positions)
    if len(phones) > 1:
        means = [np.concatenate([m.total / m.count for _, m in sorted(by_phone[p].items())]) for p in phones]
        clusters = [frozenset([p]) for p in phones]
        for first, second, *_ in linkage(np.array(means), "ward"):
            clusters.append(clusters[int(first)] | clusters[int(second)])
        sets |= set(clusters[:-1])
    ordered = sorted(sets, key=lambda s: (len(s), sorted(s)))
    return [Question(side, phones_) for phones_ in ordered for side in ("left", "right")]


def tied_states(
    moments: Mapping[Key, Moments],
    found: Sequence[Context],
    monophones: Topology,
    config: TyingConfig,
    questions: Sequence[Question] | None = None,
) -> list[tuple[int, ...]]:
    """Return the emission states of each phone in context; states of silence keep their numbers.

    Parameters
    ----------
    moments : moments of the frames of each (phone in context, state position) seen in training
    found : phones in context, seen in training or not
    monophones : topology whose silence is kept
    config : when trees stop growing
    questions : by default `generated_questions`
    """
    asked = generated_questions(moments) if questions is None else questions
    silent = sorted({s for p in SILENCES if p in monophones for s in _states(monophones, p)})
    first = silent[-1] + 1 if silent else 0
    roots = [
        _Leaf(tuple(c for c in found if c.phone == phone), position)
        for phone in sorted({c.phone for c in found})
        for position in range(len(_states(monophones, phone)))
    ]
    n_frames = sum(m.count for m in moments.values())
    leaves = _grown(roots, moments, asked, config, config.most_states(n_frames) - first)
    state_of = {(c, leaf.position): first + k for k, leaf in enumerate(leaves) for c in leaf.contexts}
    return [
        tuple(state_of[c, position] for position in range(len(_states(monophones, c.phone)))) for c in found
    ]


def _states(topology: Topology, phone: str) -> tuple[int, ...]:
    return topology.phone_states[topology.phone_id(phone)]


class _Leaf(NamedTuple):
    contexts: tuple[Context, ...]
    position: int


class _Split(NamedTuple):
    gain: float
    yes: _Leaf
    no: _Leaf


def _grown(
    roots: Sequence[_Leaf],
    moments: Mapping[Key, Moments],
    questions: Sequence[Question],
    config: TyingConfig,
    max_leaves: int,
) -> list[_Leaf]:
    """Return the leaves, in the order of the trees, after splitting by the largest gain first."""
    trees = [[root] for root in roots]
    heap: list[tuple[float, int, int, _Leaf, _Split]] = []  # the second number counts the pushes
    n_pushed = 0

    def push(leaf: _Leaf, tree: int) -> None:
        nonlocal n_pushed
        if (split := _best_split(leaf, moments, questions, config)) is not None:
            heapq.heappush(heap, (-split.gain, n_pushed, tree, leaf, split))
            n_pushed += 1

    for tree, root in enumerate(roots):
        push(root, tree)
    n_leaves = len(roots)
    while heap and n_leaves < max_leaves:
        _, _, tree, leaf, split = heapq.heappop(heap)
        place = trees[tree].index(leaf)
        trees[tree][place : place + 1] = [split.yes, split.no]
        n_leaves += 1
        push(split.yes, tree)
        push(split.no, tree)
    return [leaf for leaves in trees for leaf in leaves]


def _best_split(
    leaf: _Leaf, moments: Mapping[Key, Moments], questions: Sequence[Question], config: TyingConfig
) -> _Split | None:
    seen = [(c, moments[c, leaf.position]) for c in leaf.contexts if (c, leaf.position) in moments]
    if sum(m.count for _, m in seen) < 2 * config.min_frames:
        return None
    whole = _sum(m for _, m in seen)
    before = whole.log_likelihood()
    best: tuple[float, Question] | None = None
    for question in questions:
        inside = [m for c, m in seen if question.holds(c)]
        if not 0 < len(inside) < len(seen):
            continue
        yes = _sum(iter(inside))
        no = Moments(whole.count - yes.count, whole.total - yes.total, whole.squares - yes.squares)
        if min(yes.count, no.count) < config.min_frames:
            continue
        gain = yes.log_likelihood() + no.log_likelihood() - before
        if gain >= config.min_gain and (best is None or gain > best[0]):
            best = gain, question
    if best is None:
        return None
    gain, question = best
    answers = [question.holds(c) for c in leaf.contexts]
    return _Split(
        gain,
        _Leaf(tuple(c for c, a in zip(leaf.contexts, answers, strict=True) if a), leaf.position),
        _Leaf(tuple(c for c, a in zip(leaf.contexts, answers, strict=True) if not a), leaf.position),
    )


def _sum(parts: Iterator[Moments]) -> Moments:
    total = next(parts)
    for part in parts:
        total = total + part
    return total
