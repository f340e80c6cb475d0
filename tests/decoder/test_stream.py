"""Scores that arrive piece by piece give the words that all of them at once give, bit for bit."""

import numpy as np
import pytest

from acoustic.hmm.topology import SILENCE, Topology
from decoder import Decoder, DecoderConfig, DecoderStream, DecodingError, Lexicon, NGram, WordLoop
from decoder import decoder as networks


@pytest.fixture(params=["word instances", "prefix tree"])
def decoder(request, task, monkeypatch):
    if request.param == "prefix tree":
        monkeypatch.setattr(networks, "MOST_INSTANCES", 0)
    words = list(task.lexicon.words)
    grammar = NGram.estimate([words[:25], words[10:], words[::-1]], order=2)
    config = DecoderConfig(beam=30.0, lm_scale=2.0, word_penalty=-1.0, n_best=3, confidence=True)
    return Decoder(task.lexicon, grammar, task.topology, config)


def pieces(scores, sizes):
    start = 0
    while start < len(scores):
        yield scores[start : start + sizes[0]]
        start += sizes[0]
        sizes = sizes[1:] + sizes[:1]


@pytest.mark.parametrize("sizes", [[1], [2, 5], [7], [1000], [0, 3]])
@pytest.mark.parametrize("wants_lattice", [True, False])
def test_any_pieces_give_the_same_outcome(decoder, task, sizes, wants_lattice):
    if not wants_lattice:
        decoder = decoder.with_config(n_best=1, confidence=False)
    stream = DecoderStream(decoder)
    for scores in task.scores:  # one sentence after the other
        for piece in pieces(scores, sizes):
            stream.accept(piece)
        found, whole = stream.finish(), decoder.decode(scores)
        assert found == whole
        assert found.alternatives == whole.alternatives


def test_nothing_heard_is_decoded_as_no_frames(decoder):
    stream = DecoderStream(decoder)
    assert stream.partial().words == ()
    assert stream.finish() == decoder.decode(np.zeros((0, decoder.network.n_states)))


@pytest.fixture
def spelled():
    """A decoder of the words AB and CD, one frame a phone or more, and scores that name the phone."""
    lexicon = Lexicon({"AB": [("a", "b")], "CD": [("c", "d")]})
    topology = Topology.monophones("abcd", n_states=1)
    decoder = Decoder(lexicon, WordLoop(lexicon.words), topology, DecoderConfig(frame_shift_s=0.5))

    def scores(phones):
        found = np.full((len(phones), topology.n_states), -20.0)
        for t, phone in enumerate(phones):
            states = topology.phone_states[topology.phone_id(SILENCE if phone == "_" else phone)]
            found[t, list(states)] = 0.0
        return found

    return decoder, scores


@pytest.mark.parametrize("n_instances", [0, 2000])
def test_partial_words_are_those_of_the_best_path(spelled, n_instances, monkeypatch):
    monkeypatch.setattr(networks, "MOST_INSTANCES", n_instances)
    decoder, scores = spelled
    stream = DecoderStream(decoder)
    seen = []
    for frame in scores("____aabb____ccd"):
        stream.accept(frame[None])
        partial = stream.partial()
        seen.append((" ".join(w.word + "?" * w.is_open for w in partial.words), partial.pause_s))
    texts, pauses = zip(*seen, strict=True)
    assert texts[:4] == ("",) * 4
    assert pauses[:4] == (0.5, 1.0, 1.5, 2.0)
    assert texts[4:8] == ("AB?",) * 4
    assert texts[8:12] == ("AB",) * 4
    assert pauses[8:12] == (0.5, 1.0, 1.5, 2.0)
    assert texts[12:] == ("AB CD?",) * 3
    last = stream.partial().words[-1]
    assert (last.start_s, last.end_s) == (6.0, 7.5)
    assert stream.finish().text == ("AB", "CD")


def test_scores_that_allow_nothing_are_told(spelled):
    decoder, scores = spelled
    stream = DecoderStream(decoder)
    impossible = np.full((1, decoder.network.n_states), -np.inf)
    for piece in (scores("__ab"), impossible, scores("cd")):
        stream.accept(piece)
    assert stream.partial().is_dead
    assert stream.finish() == decoder.decode(np.concatenate([scores("__ab"), impossible, scores("cd")]))


def test_scores_of_another_model_are_refused(spelled):
    decoder, _ = spelled
    with pytest.raises(DecodingError, match=r"expected shape \(n_frames, "):
        DecoderStream(decoder).accept(np.zeros((3, 99)))


def test_one_thread_at_a_time(decoder, task, under_way):
    stream, scores = DecoderStream(decoder), task.scores[0]
    with under_way(stream, "_search", "advance", lambda: stream.accept(scores)):
        for call in (lambda: stream.accept(scores), stream.partial, stream.finish):
            with pytest.raises(DecodingError, match="already in use by another thread, expected one"):
                call()
    assert stream.finish() == decoder.decode(scores)
