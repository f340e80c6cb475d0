"""Pronunciations chosen by how words sound, on scores with a known answer."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from acoustic.hmm.topology import NOISE_WORD, Topology
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData
from asr.training.heard_words import ACOUSTIC_SCALE, UNGUESSED, WORST, Stretch, choose, mostly_known
from decoder.lexicon import Lexicon
from foundation.arrays import Singles

TOPOLOGY = Topology.monophones(["a", "b", "c"])


class Model:
    """All that is asked of an acoustic model here: frames are their own scores."""

    topology = TOPOLOGY

    def scores(self, frames: Singles) -> Singles:
        return frames


def stretch_of(phones: str, *, per_state: int = 3, gap: float = 4.0, heard: str | None = None) -> Stretch:
    """Return a stretch in which each state of a string lasts some frames, better than all others by a gap."""
    states = [
        s for p in phones for s in TOPOLOGY.phone_states[TOPOLOGY.phone_id(p)] for _ in range(per_state)
    ]
    scores = np.full((len(states), TOPOLOGY.n_states), -gap, dtype=np.float32)
    scores[np.arange(len(states)), states] = 0.0
    return Stretch(scores, tuple(phones if heard is None else heard), 0.0)


def chosen(shares: dict[str, float], *stretches: Stretch) -> str | None:
    found = choose({tuple(s): p for s, p in shares.items()}, stretches, Model())  # type: ignore[arg-type]
    return None if found is None else "".join(found)


@pytest.mark.parametrize(
    ("n_frames", "most", "kept"),
    [
        ({"a": 5, "b": 5, "c": 5, "d": 5}, 1000, ["a", "b"]),
        ({"a": 5, "b": 5, "c": 6, "d": 5}, 1000, ["a", "b", "c", "d"]),
        ({"a": 5, "b": 5, "c": 50, "d": 55}, 30, ["a", "b", "c"]),
        ({"a": 5, "b": 5, "c": 60, "d": 50}, 10, ["a", "b"]),
        ({"a": 5, "b": 5, "c": 5, "d": 5}, 4, ["a"]),
    ],
)
def test_loops_are_learned_from_only_where_words_do_not_suffice(n_frames, most, kept) -> None:
    words = {
        "a": ("one",),
        "b": ("one", NOISE_WORD),
        "c": ("one", "one", "two"),
        "d": ("one", "two"),
    }
    utterances = tuple(Utterance(i, Path(i), w, i) for i, w in words.items())
    data = SpeechData(Corpus(utterances), tuple(np.zeros((n_frames[i], 3), np.float32) for i in words))
    assert list(mostly_known(data, Lexicon({"one": [("W",)]}), most).corpus.ids) == kept


@pytest.mark.parametrize("spoken", ["".join(p) for n in (1, 2, 3) for p in product("abc", repeat=n)])
def test_what_is_spoken_is_chosen_among_all_guesses(spoken: str) -> None:
    every = ["".join(p) for n in (1, 2, 3) for p in product("abc", repeat=n)]
    assert chosen(dict.fromkeys(every, 1 / len(every)), stretch_of(spoken)) == spoken


def test_a_string_that_is_heard_wins_over_guesses_that_do_not_fit() -> None:
    assert chosen({"ab": 0.9, "ac": 0.1}, *[stretch_of("cba")] * 3) == "cba"


def test_one_short_stretch_does_not_outweigh_the_spelling() -> None:
    one = stretch_of("ab", per_state=1, gap=1.0, heard="cb")
    assert chosen({"ab": 0.97, "cb": 0.03}, one) == "ab"


def test_the_score_is_that_of_the_definition() -> None:
    # "b" alone misses the nine frames of "a" by 2 nats each; the string that was heard misses none.
    stretch = stretch_of("ab", gap=2.0)
    for more, expected in ((0.01, "b"), (-0.01, "ab")):
        share = float(np.exp(UNGUESSED + ACOUSTIC_SCALE * 18.0 + more))
        assert chosen({"b": share}, stretch) == expected


def test_nothing_heard_and_nothing_guessed_is_nothing() -> None:
    assert chosen({}) is None
    assert chosen({}, stretch_of("ab", heard="")) is None
    assert chosen({"ab": 0.5, "ba": 0.4}) == "ab"


def test_a_stretch_too_short_for_a_candidate_says_no_more_than_a_bad_fit() -> None:
    short = stretch_of("a", per_state=1)
    long = "abcabc"
    share = np.exp(UNGUESSED + ACOUSTIC_SCALE * 0.0 - ACOUSTIC_SCALE * WORST + 0.01)
    assert chosen({long: min(share, 1.0)}, short) == long
