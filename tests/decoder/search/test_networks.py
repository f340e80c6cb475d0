"""Large tasks get the prefix tree; contexts across words keep word instances."""

from acoustic.hmm.topology import Topology
from decoder import Lexicon, NGram, WordLoop
from decoder import decoder as networks
from decoder.decoder import choose_network, n_word_instances
from decoder.search.network import Network
from decoder.search.tree_network import TreeNetwork

LEXICON = Lexicon({"A": [("a",)], "B": [("b", "a"), ("b",)]})


def test_a_loop_has_an_instance_of_each_word_a_trigram_one_of_each_context_after_it():
    words = set(LEXICON.words)
    assert n_word_instances(WordLoop(LEXICON.words).compile(words)) == 2
    trigram = NGram.estimate([["A", "B", "A"]], 3, vocabulary=LEXICON.words).compile(words)
    pairs = set(zip(trigram.arc_words.tolist(), trigram.arc_contexts.tolist(), strict=True))
    assert n_word_instances(trigram) == len(pairs) > 2


def test_the_size_decides(monkeypatch):
    tables = WordLoop(LEXICON.words).compile(set(LEXICON.words))
    within = Topology.monophones("ab")
    monkeypatch.setattr(networks, "MOST_INSTANCES", 2)
    assert isinstance(choose_network(LEXICON, tables, within), Network)
    monkeypatch.setattr(networks, "MOST_INSTANCES", 1)
    tree = choose_network(LEXICON, tables, within)
    assert isinstance(tree, TreeNetwork)
    assert (tree.words, tree.leaf_words.tolist()) == (("A", "B"), [-1, -1, 0, 1, 1])


def test_contexts_across_words_are_searched_by_instances(monkeypatch):
    phones = ("sil", *(f"{left}-{phone}+{right}" for phone in "ab" for left in "#ab" for right in "#ab"))
    across = Topology(
        phones,
        tuple((i,) for i in range(len(phones))),
        ((0.5,),) * len(phones),
        is_contextual=True,
        crosses_words=True,
    )
    monkeypatch.setattr(networks, "MOST_INSTANCES", 0)
    tables = WordLoop(LEXICON.words).compile(set(LEXICON.words))
    found = choose_network(LEXICON, tables, across)
    assert isinstance(found, Network)
    assert set(found.graph.chain_words.tolist()) == {-1, 0, 1}
