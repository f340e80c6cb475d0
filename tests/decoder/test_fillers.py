"""Keywords among fillers, on scores that say which phone is spoken."""

import numpy as np
import pytest

from acoustic import Topology
from decoder import DecoderConfig, Lexicon, LexiconError
from decoder.fillers import fillers, keyword_decoder
from decoder.lexicon import Usage

LEXICON = Lexicon({"AB": [("a", "b")], "BA": [("b", "a")], "ABBA": [("a", "b", "b", "a")]})
TOPOLOGY = Topology.monophones("ab", n_states=1)  # sil, a and b are states 0, 1 and 2


def spoken(states, strength=10.0):
    scores = np.zeros((len(states), 3))
    scores[np.arange(len(states)), states] = strength
    return scores


def found(scores, cost, keywords=("AB",), topology=TOPOLOGY):
    decoder = keyword_decoder(keywords, cost, LEXICON, topology, DecoderConfig(word_penalty=-50.0))
    words = decoder.decode(scores).words
    return [(w.word, round(w.start_s * 100), round(w.end_s * 100)) for w in words if w.word in LEXICON]


class TestKeywordDecoder:
    def test_a_keyword_is_found_among_other_sounds(self):
        scores = spoken([0, 0, 2, 2, 2, 1, 1, 2, 2, 0, 0, 2, 2])
        assert found(scores, cost=2.0) == [("AB", 5, 9)]

    def test_other_sounds_have_none(self):
        assert found(spoken([0, 2, 2, 2, 2, 0]), cost=2.0) == []
        # One of its frames is 10 nats worse, but it takes the place of a filler and two silences.
        (word, *_) = found(spoken([0, 2, 2, 2, 2, 0]), cost=12.0)
        assert word[0] == "AB"

    def test_only_the_words_asked_for(self):
        scores = spoken([0, 2, 2, 1, 1, 0])
        assert found(scores, cost=2.0) == []
        assert found(scores, cost=2.0, keywords=("AB", "BA")) == [("BA", 1, 5)]

    def test_phones_in_context(self):
        topology = Topology.monophones(["#-a+b", "a-b+#", "#-b+a", "b-a+#"], n_states=1)
        names = topology.phones
        contextual = Topology(names, topology.phone_states, topology.self_loops, is_contextual=True)
        states = {name: contextual.phone_states[contextual.phone_id(name)][0] for name in names}
        path = [0, states["#-b+a"], states["#-b+a"], states["#-a+b"], states["a-b+#"], 0]
        scores = np.zeros((6, contextual.n_states))
        scores[np.arange(6), path] = 10.0
        assert found(scores, 2.0, ("AB",), contextual) == [("AB", 3, 5)]

    def test_usage_makes_keywords_no_dearer(self):
        """Fillers have none, so the scores are those of the lexicon without it."""
        usage = {(word, LEXICON.pronunciations(word)[0]): Usage(0.4, 0.3, 0.6, 0.7) for word in LEXICON}
        used = Lexicon(LEXICON.entries, usage=usage)
        scores = spoken([0, 0, 2, 2, 2, 1, 1, 2, 2, 0, 0, 2, 2], strength=3.0)
        for cost in (1.0, 2.0, 5.0):
            plain, other = (
                keyword_decoder(["AB", "BA"], cost, lexicon, TOPOLOGY, DecoderConfig()).decode(scores)
                for lexicon in (LEXICON, used)
            )
            assert plain == other
            assert plain.log_score == other.log_score > 0

    def test_a_word_that_the_lexicon_lacks(self):
        with pytest.raises(LexiconError, match='word "AC" is not in the lexicon'):
            keyword_decoder(["AC"], 2.0, LEXICON, TOPOLOGY, DecoderConfig())


class TestFillers:
    def test_one_for_each_unit_with_states_of_its_own(self):
        found = fillers(TOPOLOGY, LEXICON.words)
        assert found.names == ("~0", "~1")
        assert found.topology.n_states == TOPOLOGY.n_states
        states = [found.topology.phone_states[found.topology.phone_id(name)] for name in found.names]
        assert sorted(states) == [(1,), (2,)]

    def test_units_that_share_all_states_share_a_filler(self):
        tied = Topology(("sil", "a", "e", "b"), ((0,), (1,), (1,), (2,)), ((0.6,), (0.6,), (0.5,), (0.6,)))
        found = fillers(tied, [])
        assert len(found.names) == 2
        assert found.topology.self_loops[found.topology.phone_id("~0")] == (0.6,)

    def test_no_word_begins_like_a_filler(self):
        assert fillers(TOPOLOGY, ["~", "~~a"]).names == ("~~~0", "~~~1")
