"""Word-pair grammars: hard, uniform, and every fault of a file with its line."""

import itertools

import numpy as np
import pytest

from acoustic.hmm.topology import Topology
from decoder import Decoder, GrammarError, Lexicon, WordPairGrammar

PAIRS = {"<s>": ["GO"], "GO": ["LEFT", "RIGHT"], "LEFT": ["</s>"], "RIGHT": ["</s>", "GO"]}


def test_word_pairs_are_uniform_over_successors_and_hard():
    tables = WordPairGrammar(PAIRS).compile({"GO", "LEFT", "RIGHT"})
    log_prob = tables.sentence_log_prob(["GO", "RIGHT", "GO", "LEFT"])
    np.testing.assert_allclose(np.exp(log_prob), 1 * 0.5 * 0.5 * 0.5 * 1, rtol=1e-12, atol=0)
    for forbidden in ([], ["LEFT"], ["GO"], ["GO", "LEFT", "GO"], ["GO", "GO"]):
        assert tables.sentence_log_prob(forbidden) == -np.inf


def test_word_pair_file_round_trip(tmp_path):
    grammar = WordPairGrammar(PAIRS)
    grammar.write(tmp_path / "word_pairs.txt")
    assert (tmp_path / "word_pairs.txt").read_text().splitlines()[:2] == ["<s>: GO", "GO: LEFT RIGHT"]
    assert WordPairGrammar.read(tmp_path / "word_pairs.txt") == grammar


def test_word_pairs_of_a_text_allow_exactly_what_occurs():
    grammar = WordPairGrammar.from_sentences([["A", "B"], ["A", "A"], []])
    assert grammar.successors == {
        "<s>": ("</s>", "A"),
        "A": ("</s>", "A", "B"),
        "B": ("</s>",),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<s>: A\nA </s>\n", r'txt:2: expected "WORD: SUCCESSOR …", got "A </s>"'),
        ("<s>: A\nA: </s>\nA: A\n", r'txt:3: expected one line for each word, got a second for "A"'),
        ("A: </s>\n", r'txt: .*expected a line "<s>: WORD …", got none'),
        ("<s>: A\nA: A\n", r"expected </s> after some word, got none"),
        ("<s>: A B\nA: </s>\n", r'expected a line for "B", which may follow "<s>", got none; add it'),
        ("<s>: A\nA: </s> B\nB:\n", r'expected a successor of "B", got none'),
        ("<s>: A\nA: </s> <s>\n", r'expected words after "A", got <s>'),
        ("<s>: A\nA: </s>\n</s>: A\n", r"expected nothing after </s>"),
    ],
)
def test_malformed_word_pairs_are_named_by_line(text, message, tmp_path):
    path = tmp_path / "word_pairs.txt"
    path.write_text(text)
    with pytest.raises(GrammarError, match=message):
        WordPairGrammar.read(path)


def test_unreadable_word_pairs(tmp_path):
    with pytest.raises(GrammarError, match="expected a readable word-pair file"):
        WordPairGrammar.read(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"<s>: \xe9\n")
    with pytest.raises(GrammarError, match="expected UTF-8"):
        WordPairGrammar.read(tmp_path / "latin.txt")


@pytest.mark.parametrize("seed", range(5))
def test_outputs_never_violate_the_word_pairs(seed):
    rng = np.random.default_rng(seed)
    words = [f"W{i}" for i in range(8)]
    text = [[words[i] for i in rng.integers(0, 8, size=4)] for _ in range(6)]
    grammar = WordPairGrammar.from_sentences(text)
    lexicon = Lexicon({w: [tuple(rng.choice(list("abc"), size=2))] for w in grammar.words})
    topology = Topology.monophones("abc")
    decoder = Decoder(lexicon, grammar, topology).with_config(n_best=8)
    found = decoder.decode(rng.normal(size=(60, topology.n_states)))
    assert found.complete
    for hypothesis in (found, *found.alternatives):
        said = ["<s>", *hypothesis.text, "</s>"]
        assert all(b in grammar.successors[a] for a, b in itertools.pairwise(said))


def test_decomposed_words_of_a_file_are_composed_as_those_of_the_lexicon(tmp_path):
    (tmp_path / "word_pairs.txt").write_text("<s>: be\u0301\nbe\u0301: </s>\n", encoding="utf-8")
    assert WordPairGrammar.read(tmp_path / "word_pairs.txt").words == ("b\u00e9",)


def test_all_problems_are_named_at_once_and_long_lists_are_cut():
    with pytest.raises(GrammarError, match=r'expected a line "<s>: .*; expected </s> after some word'):
        WordPairGrammar({"A": ["A"]})
    many = {"<s>": ["A"], "A": ["</s>", *(f"W{i:02d}" for i in range(25))]}
    with pytest.raises(GrammarError, match=r'"W19", which may follow "A", got none; add it; … and 5 more$'):
        WordPairGrammar(many)


def test_words_that_become_one_are_followed_by_what_follows_either():
    grammar = WordPairGrammar({"<s>": ["a", "A"], "a": ["b"], "A": ["</s>"], "b": ["A"]})
    assert grammar.renamed({"A": "a"}) == WordPairGrammar({"<s>": ["a"], "a": ["b", "</s>"], "b": ["a"]})


def test_words_that_a_file_cannot_hold_are_refused():
    with pytest.raises(GrammarError, match=r"expected words without white space, got 'A\\nB'"):
        WordPairGrammar({"<s>": ["A\nB"], "A\nB": ["</s>"]})
