"""Phones in context and decision trees, against brute force over all questions."""

import numpy as np
import pytest

from acoustic import ModelError, Topology
from acoustic.hmm.topology import Context, all_contexts, base_phone, contexts
from acoustic.hmm.tying import (
    Moments,
    Question,
    TyingConfig,
    contextual_topology,
    generated_questions,
    tied_states,
)

WORDS = [("T", "UW"), ("T", "EH", "N"), ("W", "AH", "N"), ("N", "OW"), ("T", "OW", "N")]
MONO = Topology.monophones({p for word in WORDS for p in word}, n_states=2)
FOUND = all_contexts(WORDS)


def frames_of(context: Context, position: int, n: int, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng([ord(c) for c in f"{context.name}{position}"])
    return rng.normal(size=(n, 3)) + shift


def gaussian_log_likelihood(frames: np.ndarray) -> float:
    """Return Σ log N(x; mean, variance) without its constant terms −(log 2π + 1)/2 per number."""
    mean, variance = frames.mean(axis=0), frames.var(axis=0)
    logs = -0.5 * (np.log(2 * np.pi * variance) + (frames - mean) ** 2 / variance)
    return float(logs.sum() + 0.5 * (np.log(2 * np.pi) + 1) * frames.size)


def test_names_of_a_word() -> None:
    assert [c.name for c in contexts(("W", "AH", "N"))] == ["#-W+AH", "W-AH+N", "AH-N+#"]
    assert [base_phone(c.name) for c in contexts(("W", "AH", "N"))] == ["W", "AH", "N"]
    assert MONO.units(("T", "UW")) == ("T", "UW")
    assert contextual_topology(MONO, FOUND).units(("T", "UW")) == ("#-T+UW", "T-UW+#")


def test_phones_that_cannot_be_written_in_context() -> None:
    with pytest.raises(ModelError, match="phones a\\+: models in context write phones as L-P\\+R"):
        all_contexts([("a+", "b")])


def test_likelihood_of_moments_is_that_of_the_frames() -> None:
    frames = frames_of(FOUND[0], 0, 50)
    assert Moments.of(frames).log_likelihood() == pytest.approx(gaussian_log_likelihood(frames), rel=1e-9)
    both = Moments.of(frames[:20]) + Moments.of(frames[20:])
    assert both.log_likelihood() == pytest.approx(gaussian_log_likelihood(frames), rel=1e-9)


def test_the_first_split_is_the_best_of_all() -> None:
    """T has three contexts; brute force finds the question of the largest gain, and one split is allowed."""
    of_t = [c for c in FOUND if c.phone == "T"]
    assert [c.right for c in of_t] == ["EH", "OW", "UW"]
    shifts = {"EH": 0.0, "OW": 0.3, "UW": 2.0}
    frames = {(c, 0): frames_of(c, 0, 60, shifts[c.right]) for c in of_t}
    moments = {key: Moments.of(f) for key, f in frames.items()}
    questions = [Question("right", frozenset(s)) for s in ({"EH"}, {"OW"}, {"UW"}, {"EH", "UW"})]
    gains = {}
    whole = gaussian_log_likelihood(np.concatenate(list(frames.values())))
    for question in questions:
        yes = np.concatenate([f for (c, _), f in frames.items() if question.holds(c)])
        no = np.concatenate([f for (c, _), f in frames.items() if not question.holds(c)])
        gains[question] = gaussian_log_likelihood(yes) + gaussian_log_likelihood(no) - whole
    best = max(gains, key=gains.__getitem__)
    n_untied = MONO.n_states
    config = TyingConfig(min_frames=10, min_gain=1.0, max_states=n_untied + 1)
    states = dict(zip(FOUND, tied_states(moments, FOUND, MONO, config, questions), strict=True))
    apart = {c.right for c in of_t if best.holds(c)}
    assert len({states[c][0] for c in of_t if c.right in apart}) == 1
    assert len({states[c][0] for c in of_t}) == 2
    assert len({states[c][1] for c in of_t}) == 1  # no frames seen there


def test_limits_are_kept_and_every_context_has_states() -> None:
    moments = {(c, p): Moments.of(frames_of(c, p, 40, 0.5 * k)) for k, c in enumerate(FOUND) for p in (0, 1)}
    config = TyingConfig(min_frames=70, min_gain=0.0, max_states=100)
    states = tied_states(moments, FOUND, MONO, config)
    used: dict[int, float] = {}
    for context, own in zip(FOUND, states, strict=True):
        for position, state in enumerate(own):
            used[state] = used.get(state, 0) + moments[context, position].count
    phones_seen_twice = {c.phone for c in FOUND if sum(d.phone == c.phone for d in FOUND) > 1}
    for context, own in zip(FOUND, states, strict=True):
        if context.phone in phones_seen_twice:
            assert min(used[s] for s in own) >= 70
    assert sorted(used) == list(range(2, 2 + len(used)))  # the two of silence stay
    unseen = tied_states({}, FOUND, MONO, config)
    assert len({s for own in unseen for s in own}) == MONO.n_states - 2
    topology = contextual_topology(MONO, FOUND, states)
    assert topology.phone_states[topology.phone_id("sil")] == (0, 1)
    assert all(unit in topology for word in WORDS for unit in topology.units(word))


def test_questions_hold_single_phones_the_edge_and_clusters() -> None:
    moments = {(c, p): Moments.of(frames_of(c, p, 40)) for c in FOUND for p in (0, 1)}
    questions = generated_questions(moments)
    sets = {q.phones for q in questions}
    phones = {c.phone for c in FOUND}
    assert {frozenset([p]) for p in (*phones, "#")} <= sets
    assert any(len(s) > 1 for s in sets)
    assert frozenset(phones) not in sets
    assert len(questions) == 2 * len(sets)
