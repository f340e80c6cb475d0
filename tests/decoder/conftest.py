"""Oracles: the same quantities as the decoder's, computed the slow way from the definitions."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from acoustic.hmm.topology import SHORT_PAUSE, SILENCE, Topology
from decoder import Lexicon, NGram, WordLoop, WordPairGrammar

TINY_LEXICON = {"A": [("a",)], "B": [("b", "a"), ("c",)], "C": [("c", "b")]}


def sentence_log_prob(grammar, words):
    """Return log P(words and their end) from the definition of each grammar, not from its tables."""
    if isinstance(grammar, WordLoop):
        return -len(words) * np.log(len(grammar.words)) if set(words) <= set(grammar.words) else -np.inf
    if isinstance(grammar, NGram):
        return grammar.sentence_log_prob(words)
    total = 0.0
    for word, following in itertools.pairwise(["<s>", *words, "</s>"]):
        allowed = grammar.successors.get(word, ())
        if following not in allowed:
            return -np.inf
        total -= np.log(len(allowed))
    return total


def phone_states(topology, phones):
    """Return (state, log stay, log advance) of each state on the way through some phones."""
    found = []
    for phone in phones:
        i = topology.phone_id(phone)
        found += [
            (state, np.log(stay), np.log(1 - stay))
            for state, stay in zip(topology.phone_states[i], topology.self_loops[i], strict=True)
        ]
    return found


def best_alignment(states, scores):
    """Return the best score of a left-to-right state sequence, every alignment tried."""
    n_frames = len(scores)
    best = -np.inf
    for cuts in itertools.combinations(range(1, n_frames), len(states) - 1) if states else ():
        total = 0.0
        for (state, stay, advance), first, stop in zip(states, (0, *cuts), (*cuts, n_frames), strict=True):
            total += scores[first:stop, state].sum() + (stop - first - 1) * stay + advance
        best = max(best, total)
    return best if states or n_frames else 0.0


def brute_force(lexicon, grammar, topology, config, scores):
    """Return {words: best total score} over all word sequences, variants, silences and state paths."""
    silences = [(), *((phone,) for phone in (SILENCE, SHORT_PAUSE) if phone in topology)]
    found = {}
    for n_words in range(len(scores) + 1):
        for words in itertools.product(lexicon.words, repeat=n_words):
            language = sentence_log_prob(grammar, words)
            if language == -np.inf:
                continue
            fixed = config.lm_scale * language + config.word_penalty * n_words
            for variants in itertools.product(*map(lexicon.pronunciations, words)):
                if sum(map(len, variants)) > len(scores):
                    continue
                for gaps in itertools.product(silences, repeat=n_words + 1):
                    phones = [
                        *gaps[0],
                        *(p for v, g in zip(variants, gaps[1:], strict=True) for p in (*v, *g)),
                    ]
                    states = phone_states(topology, phones)
                    if len(states) > len(scores):
                        continue
                    total = fixed + config.silence_log_prob * sum(map(bool, gaps))
                    total += config.lm_scale * log_usage(lexicon, words, variants, gaps)
                    total += best_alignment(states, scores)
                    if total > found.get(words, -np.inf):
                        found[words] = total
    return found


def log_usage(lexicon, words, variants, gaps):
    """Return log P(pronunciations and silences) of a sentence, which is 0 where no usage is known."""
    total = 0.0
    for word, variant, before, after in zip(words, variants, gaps, gaps[1:], strict=False):
        usage = lexicon.usage.get((word, variant))
        if usage is not None:
            total += np.log(usage.probability) + np.log(usage.behind_silence if before else usage.behind_word)
            total += np.log(usage.silence_after if after else 1 - usage.silence_after)
    return total


def compose(lexicon, grammar, topology, config, order):
    """Return the composed HMM: log transitions (N, N), log start (N,), log end (N,), emission states (N,).

    Its states know the last ``order - 1`` words in full, nothing is shared and nothing backs off.
    """
    n_history = order - 1
    histories = [("<s>",) if n_history else ()]
    for history in histories:
        for word in lexicon.words:
            longer = (*history, word)[-n_history:] if n_history else ()
            if longer not in histories:
                histories.append(longer)
    silences = [phone for phone in (SILENCE, SHORT_PAUSE) if phone in topology]
    chains = [(h, None, h, (phone,)) for h in histories for phone in silences]
    for h in histories:
        for word in lexicon.words:
            after = (*h, word)[-n_history:] if n_history else ()
            chains += [(h, word, after, variant) for variant in lexicon.pronunciations(word)]
    runs = [phone_states(topology, phones) for *_, phones in chains]
    first = np.cumsum([0, *map(len, runs)])
    n_nodes = int(first[-1])
    inner = np.full((n_nodes, n_nodes), -np.inf)
    start, end = np.full(n_nodes, -np.inf), np.full(n_nodes, -np.inf)
    for a, (_, word, after, _) in enumerate(chains):
        for i, (_, stay, advance) in enumerate(runs[a]):
            inner[first[a] + i, first[a] + i] = stay
            if i + 1 < len(runs[a]):
                inner[first[a] + i, first[a] + i + 1] = advance
        leave, last = runs[a][-1][2], first[a + 1] - 1
        end[last] = leave + config.lm_scale * word_log_prob(grammar, "</s>", after)
        for b, (before, following, _, _) in enumerate(chains):
            if before == after and not (word is None and following is None):
                # A chain of one state may stay in itself or start again: the better way counts.
                again = leave + entry_score(grammar, config, following, before)
                inner[last, first[b]] = max(inner[last, first[b]], again)
    for b, (before, following, _, _) in enumerate(chains):
        if before == histories[0]:
            start[first[b]] = entry_score(grammar, config, following, before)
    return inner, start, end, np.array([state for run in runs for state, _, _ in run])


def entry_score(grammar, config, word, history):
    if word is None:
        return config.silence_log_prob
    return config.lm_scale * word_log_prob(grammar, word, history) + config.word_penalty


def word_log_prob(grammar, word, history):
    if isinstance(grammar, NGram):
        return grammar.log_prob(word, history)
    if isinstance(grammar, WordLoop):
        return 0.0 if word == "</s>" else -np.log(len(grammar.words))
    allowed = grammar.successors.get(history[-1], ())
    return -np.log(len(allowed)) if word in allowed else -np.inf


def dense_viterbi(hmm, scores):
    """Return the best complete score of a composed HMM."""
    inner, start, end, states = hmm
    best = start + scores[0, states]
    for frame in scores[1:]:
        best = (best[:, None] + inner).max(axis=0) + frame[states]
    return float((best + end).max())


def random_sentences(rng, words, n_sentences):
    return [
        [words[i] for i in rng.integers(0, len(words), size=rng.integers(1, 5))] for _ in range(n_sentences)
    ]


def tiny_grammars(rng):
    """Return a name, a grammar over A, B, C and how many words it looks back plus one."""
    text = random_sentences(rng, ["A", "B", "C"], 4)
    pairs = {"<s>": ["A", "C"], "A": ["B", "C"], "B": ["A", "B", "</s>"], "C": ["A", "</s>"]}
    return {
        "loop": (WordLoop(["A", "B", "C"]), 1),
        "word-pair": (WordPairGrammar(pairs), 2),
        "unigram": (NGram.estimate(text, 1, vocabulary=["A", "B", "C"]), 1),
        "bigram": (NGram.estimate(text, 2, vocabulary=["A", "B", "C"]), 2),
        "trigram": (NGram.estimate(text, 3, vocabulary=["A", "B", "C"], smoothing="absolute"), 3),
        "4-gram": (NGram.estimate(text, 4, vocabulary=["A", "B", "C"], smoothing="kneser-ney"), 4),
    }


@pytest.fixture(scope="session")
def oracle():
    return SimpleNamespace(
        brute_force=brute_force,
        compose=compose,
        dense_viterbi=dense_viterbi,
        sentence_log_prob=sentence_log_prob,
        random_sentences=random_sentences,
        tiny_grammars=tiny_grammars,
    )


@pytest.fixture(scope="session")
def tiny_lexicon():
    return Lexicon(TINY_LEXICON)


@pytest.fixture(scope="session")
def tiny_topology():
    return Topology.monophones("abc", n_states=1, self_loop=0.45)


@pytest.fixture(scope="session")
def task():
    """A loop of 40 words, and score matrices as a fair acoustic model would give for sentences of it."""
    rng = np.random.default_rng(3)
    phones = [f"p{i}" for i in range(20)]
    words = {
        f"W{i:02d}": [tuple(rng.choice(phones, size=rng.integers(2, 6))) for _ in range(1 + i % 4 // 3)]
        for i in range(40)
    }
    lexicon = Lexicon(words)
    topology = Topology.monophones(lexicon.phones)
    means = 0.5 * rng.normal(size=(topology.n_states, 20))

    def sentence(n_words):
        states = []
        for word in rng.choice(lexicon.words, size=n_words):
            for phone in (*lexicon.pronunciations(word)[0], *([SILENCE] * (rng.random() < 0.3))):
                for state in topology.phone_states[topology.phone_id(phone)]:
                    states += [state] * rng.geometric(0.4)
        frames = means[states] + rng.normal(size=(len(states), 20))
        return -0.5 * ((frames[:, None] - means) ** 2).sum(axis=-1)

    return SimpleNamespace(
        lexicon=lexicon, topology=topology, scores=[sentence(n) for n in (1, 2, 3, 4, 5, 6, 7, 8)]
    )
