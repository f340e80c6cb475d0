"""Cost of decoding on made-up tasks: microseconds per frame and what the beam loses against no beam.

    python benchmarks/decoding_synthetic.py > decoding_synthetic.json

Words are random phone strings; frames are drawn from one Gaussian for each state, close enough to each other
for some word errors. One thread, CPU time.
"""

from __future__ import annotations

import json
import time

import numpy as np
from machine import machine_description

from acoustic.hmm.topology import SILENCE, Topology
from decoder import Decoder, DecoderConfig, Lexicon, NGram, WordLoop
from decoder.search.tree_network import TreeNetwork

N_PHONES, N_DIMS, SPREAD = 34, 39, 0.22


def make_lexicon(rng, n_words):
    phones = [f"P{i:02d}" for i in range(N_PHONES)]
    entries = {
        f"W{i:04d}": [tuple(rng.choice(phones, size=rng.integers(3, 8))) for _ in range(1 + (i % 4 == 0))]
        for i in range(n_words)
    }
    return Lexicon({word: [tuple(map(str, p)) for p in variants] for word, variants in entries.items()})


def make_scores(rng, lexicon, topology, sentence, means):
    states = []
    for word in sentence:
        for phone in (*lexicon.pronunciations(word)[0], *([SILENCE] * (rng.random() < 0.3))):
            for state in topology.phone_states[topology.phone_id(phone)]:
                states += [state] * rng.geometric(0.4)
    frames = means[states] + rng.normal(size=(len(states), N_DIMS))
    return -0.5 * ((frames[:, None] - means) ** 2).sum(axis=-1)


def measure(decoder, scores, truth):
    decoder.decode(scores[0])
    start = time.process_time()
    found = [decoder.decode(s) for s in scores]
    seconds = time.process_time() - start
    n_right = sum(h.text == tuple(words) for h, words in zip(found, truth, strict=True))
    return {
        "us_per_frame": round(1e6 * seconds / sum(map(len, scores)), 2),
        "sentences_right": n_right,
        "complete": sum(h.complete for h in found),
    }, [round(h.log_score, 6) if h.complete else None for h in found]


def run_task(name, rng, n_words, order, n_sentences=40):
    lexicon = make_lexicon(rng, n_words)
    topology = Topology.monophones(lexicon.phones)
    means = SPREAD * rng.normal(size=(topology.n_states, N_DIMS))
    prior = 1.0 / np.arange(1, n_words + 1)
    text = [list(rng.choice(lexicon.words, size=8, p=prior / prior.sum())) for _ in range(3000)]
    text = [[str(word) for word in sentence] for sentence in text]
    grammar = NGram.estimate(text, order, vocabulary=lexicon.words) if order else WordLoop(lexicon.words)
    config = DecoderConfig(lm_scale=4.0 if order else 1.0)
    start = time.perf_counter()
    decoder = Decoder(lexicon, grammar, topology, config)
    build_s = time.perf_counter() - start
    truth = text[:n_sentences]
    scores = [make_scores(rng, lexicon, topology, sentence, means) for sentence in truth]
    _, exact = measure(decoder.with_config(beam=np.inf), scores, truth)
    rows = []
    for change in (
        {"beam": np.inf},
        {"beam": 200.0},
        {"beam": 100.0},
        {"beam": 60.0},
        {"beam": 200.0, "max_active": 300},
        {"beam": 200.0, "n_best": 10, "confidence": True},
    ):
        row, found = measure(decoder.with_config(**change), scores, truth)
        same = sum(a == b for a, b in zip(found, exact, strict=True))
        settings = {k: str(v) if v == np.inf else v for k, v in change.items()}
        rows.append({**settings, **row, "same_score_as_no_beam": same})
    graph = decoder.network.graph
    return {
        "task": name,
        "network": type(decoder.network).__name__,
        "n_nodes": len(graph.node_units if isinstance(decoder.network, TreeNetwork) else graph.node_states),
        "n_frames": sum(map(len, scores)),
        "n_sentences": n_sentences,
        "build_s": round(build_s, 3),
        "results": rows,
    }


def main():
    rng = np.random.default_rng(0)
    report = {
        "what": "synthetic decoding, one thread",
        "machine": machine_description(),
        "tasks": [
            run_task("loop of 105 words", rng, 105, 0),
            run_task("bigram of 105 words", rng, 105, 2),
            run_task("bigram of 1000 words", rng, 1000, 2),
            run_task("trigram of 1000 words", rng, 1000, 3, n_sentences=5),
        ],
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
