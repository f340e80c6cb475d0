import gzip
import itertools

import numpy as np
import pytest

from decoder import GrammarError, NGram

LN10 = np.log(10.0)
ARPA = """\
A model by hand; what stands before the data is a comment.

\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-1.0\t</s>
-99\t<s>\t-0.2
-0.5\tA\t-0.3
-0.7\tB
-2.0\t<unk>

\\2-grams:
-0.1\t<s> A\t-0.4
-0.6 A B 0.05
-0.9\tB </s>

\\3-grams:
-0.05\t<s> A B

\\end\\
"""
SMOOTHINGS = ("witten-bell", "absolute", "kneser-ney")


@pytest.fixture
def by_hand(tmp_path):
    path = tmp_path / "hand.arpa"
    path.write_text(ARPA)
    return NGram.read(path)


@pytest.mark.parametrize(
    ("word", "history", "log10"),
    [
        ("A", [], -0.5),
        ("A", ["<s>"], -0.1),
        ("B", ["<s>"], -0.2 - 0.7),
        ("B", ["<s>", "A"], -0.05),
        ("A", ["<s>", "A"], -0.4 - 0.3 - 0.5),
        ("</s>", ["A", "B"], 0.05 - 0.9),
        ("A", ["A", "B"], 0.05 + 0.0 - 0.5),
        ("B", ["A", "A"], -0.6),
        ("B", ["B", "B", "B", "A"], -0.6),
        ("NEW", ["A"], -0.3 - 2.0),
        ("B", ["NEW"], -0.7),
    ],
)
def test_exact_values_of_a_model_by_hand(word, history, log10, by_hand):
    np.testing.assert_allclose(by_hand.log_prob(word, history), LN10 * log10, rtol=1e-14, atol=0)


def test_sentence_and_perplexity_of_a_model_by_hand(by_hand):
    log10 = -0.1 + -0.05 + (0.05 - 0.9)
    np.testing.assert_allclose(by_hand.sentence_log_prob(["A", "B"]), LN10 * log10, rtol=1e-14, atol=0)
    np.testing.assert_allclose(by_hand.perplexity([["A", "B"]]), 10 ** (-log10 / 3), rtol=1e-12, atol=0)
    with pytest.raises(GrammarError, match="expected at least one sentence"):
        by_hand.perplexity([])


def test_without_unknown_word_an_unknown_word_is_impossible():
    model = NGram.estimate([["A"]], 2)
    assert model.log_prob("B", ["A"]) == -np.inf
    assert model.perplexity([["B"]]) == np.inf


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_arpa_round_trip_is_exact(order, smoothing, tmp_path, oracle):
    rng = np.random.default_rng(order)
    text = oracle.random_sentences(rng, list("ABCDE"), 15)
    model = NGram.estimate(text, order, smoothing=smoothing)
    model.write(tmp_path / "m.arpa")
    assert NGram.read(tmp_path / "m.arpa") == model
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress((tmp_path / "m.arpa").read_bytes()))
    assert NGram.read(tmp_path / "m.arpa.gz") == model


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_probabilities_sum_to_one_in_every_context(order, smoothing, oracle):
    words = list("ABCDE")  # E never occurs in the text
    text = oracle.random_sentences(np.random.default_rng(order), words[:4], 12)
    model = NGram.estimate(text, order, vocabulary=words, smoothing=smoothing)
    for n in range(order + 1):
        for history in itertools.product(["<s>", *words], repeat=n):
            total = sum(np.exp(model.log_prob(word, history)) for word in [*words, "</s>"])
            np.testing.assert_allclose(total, 1.0, rtol=0, atol=1e-12)
    assert min(np.exp(model.log_prob(w, ["A"])) for w in [*words, "</s>"]) > 0


def test_witten_bell_by_hand():
    model = NGram.estimate([["A", "B"], ["A"]], 2, vocabulary=["A", "B", "C"])
    # Events A B C </s>; counts A 2, B 1, </s> 2 of 5 with 3 kinds: (c + 3 / 4) / 8.
    unigram = {"A": 2.75 / 8, "B": 1.75 / 8, "C": 0.75 / 8, "</s>": 2.75 / 8}
    for word, p in unigram.items():
        np.testing.assert_allclose(np.exp(model.log_prob(word)), p, rtol=1e-12, atol=0)
    # After A once B, once </s>: (c + 2 P(w)) / 4.
    for word, count in {"A": 0, "B": 1, "C": 0, "</s>": 1}.items():
        expected = (count + 2 * unigram[word]) / 4
        np.testing.assert_allclose(np.exp(model.log_prob(word, ["A"])), expected, rtol=1e-12, atol=0)


def test_kneser_ney_unigrams_count_left_contexts():
    # SAN FRANCISCO: frequent, but only ever after SAN; D is clipped to 0.9 (no count of two).
    text = [["SAN", "FRANCISCO"]] * 5 + [["A", "B"], ["B", "A"]]
    model = NGram.estimate(text, 2, smoothing="kneser-ney")
    assert model.log_prob("FRANCISCO") < model.log_prob("B")
    assert NGram.estimate(text, 2, smoothing="absolute").log_prob("FRANCISCO") > model.log_prob("FRANCISCO")


def test_words_outside_the_vocabulary_count_as_unknown():
    model = NGram.estimate([["A", "X"], ["Y"]], 2, vocabulary=["A"])
    assert model.words == ("A",)
    assert model.log_prob("Z", ["A"]) == model.log_prob("<unk>", ["A"]) > model.log_prob("A", ["A"])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_tables_give_the_same_probabilities(order, oracle):
    words = list("ABCD")
    rng = np.random.default_rng(order)
    model = NGram.estimate(oracle.random_sentences(rng, words, 10), order, vocabulary=words)
    tables = model.compile(set(words))
    for n in range(5):
        for sentence in itertools.product(words, repeat=n):
            np.testing.assert_allclose(
                tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
            )


def test_tables_are_exact_for_a_pruned_model_whose_prefixes_are_missing():
    model = NGram(
        (
            {("<s>",): -np.inf, ("A",): -0.4, ("B",): -0.5, ("</s>",): -0.6},
            {("<s>", "A"): -0.3},
            {("A", "B", "A"): -0.1, ("<s>", "B", "B"): -0.2},  # neither "A B" nor "<s> B" is listed
        ),
        {("<s>",): -0.7, ("A",): -0.2, ("A", "B"): -0.9},
    )
    tables = model.compile({"A", "B"})
    for n in range(6):
        for sentence in itertools.product("AB", repeat=n):
            np.testing.assert_allclose(
                tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
            )


def test_tables_of_fewer_words_keep_the_probabilities_of_the_rest(oracle):
    model = NGram.estimate(oracle.random_sentences(np.random.default_rng(1), list("ABCD"), 9), 3)
    tables = model.compile({"A", "C", "Z"})
    assert tables.dropped_words == ("B", "D")
    for sentence in itertools.product("AC", repeat=4):
        np.testing.assert_allclose(
            tables.sentence_log_prob(sentence), model.sentence_log_prob(sentence), rtol=1e-12, atol=0
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", r'hand.arpa: expected a line "\\data\\", got none'),
        ("ngram 2=3", "ngram 3=3", r'hand.arpa:5: expected "ngram 2=…", got ngram 3=3'),
        ("ngram 1=5", "ngram 1=6", r"hand.arpa:15: expected 6 1-grams, got 5 1-grams before this line"),
        (
            "-0.6 A B",
            "-0.6 A B C",
            r'hand.arpa:17: expected a log10 probability, 2 words and perhaps .*"-0.6 A B C 0.05"',
        ),
        ("-0.05\t<s> A B", "-0.05\t<s> A B 0.1", r"hand.arpa:21: expected a log10 probability, 3 words, got"),
        ("-0.7\tB", "-0.x\tB", r'hand.arpa:12: expected a log10 probability, 1 words .* got "-0.x'),
        ("-0.7\tB", "0.7\tB", r"hand.arpa:12: expected a log10 probability of at most 0"),
        ("-0.7\tB", "nan\tB", r"hand.arpa:12: expected a log10 probability of at most 0"),
        ("-0.7\tB", "-0.7\tA", r'hand.arpa:12: expected each n-gram once, got "A" again'),
        ("\\2-grams:", "\\4-grams:", r'hand.arpa:15: expected "\\2-grams:", got \\4-grams:'),
        ("\\end\\", "", r'hand.arpa:21: expected "\\end\\" at the end, got the end of the file'),
        ("-0.6 A B", "-0.6 A X", r'hand.arpa: n-gram: expected n-grams of listed unigrams, got "A X"'),
        ("ngram 1=5\nngram 2=3\nngram 3=1\n", "", r'expected "ngram 1=…"'),
    ],
)
def test_malformed_arpa_is_named_by_line(old, new, message, tmp_path):
    path = tmp_path / "hand.arpa"
    path.write_text(ARPA.replace(old, new))
    with pytest.raises(GrammarError, match=message):
        NGram.read(path)


def test_unreadable_arpa(tmp_path):
    with pytest.raises(GrammarError, match=r"none\.arpa: expected a readable ARPA file"):
        NGram.read(tmp_path / "none.arpa")
    (tmp_path / "b.arpa").write_bytes(b"\xff\xfe\x80")
    with pytest.raises(GrammarError, match="expected UTF-8"):
        NGram.read(tmp_path / "b.arpa")
    (tmp_path / "b.arpa.gz").write_bytes(b"no gzip")
    with pytest.raises(GrammarError, match="expected a readable ARPA file"):
        NGram.read(tmp_path / "b.arpa.gz")
    (tmp_path / "b.arpa.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 20)
    with pytest.raises(GrammarError, match="expected a readable ARPA file"):
        NGram.read(tmp_path / "b.arpa.gz")
    (tmp_path / "cut.arpa").write_text("\\data\\\nngram 1=1\n")
    with pytest.raises(GrammarError, match=r'expected "\\1-grams:", got the end'):
        NGram.read(tmp_path / "cut.arpa")


@pytest.mark.parametrize(
    ("sentences", "order", "smoothing", "message"),
    [
        ([["A"]], 0, "absolute", "expected an order of at least 1, got 0"),
        ([], 2, "absolute", "expected at least one sentence, got none"),
        ([["A"]], 2, "good-turing", 'expected smoothing among .* got "good-turing"'),
        ([["A"], ["<s>", "A"]], 2, "absolute", "sentence 2: expected words only, got a sentence mark"),
    ],
)
def test_estimate_refuses(sentences, order, smoothing, message):
    with pytest.raises(GrammarError, match=message):
        NGram.estimate(sentences, order, smoothing=smoothing)
