"""ARPA files: numbers survive bit for bit, every fault is named with its line."""

import gzip

import numpy as np
import pytest

from decoder import GrammarError, NGram
from decoder.grammars.ngram import read_arpa, write_arpa

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


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_arpa_round_trip_is_exact(order, smoothing, tmp_path, oracle):
    rng = np.random.default_rng(order)
    text = oracle.random_sentences(rng, list("ABCDE"), 15)
    model = NGram.estimate(text, order, smoothing=smoothing)
    model.write(tmp_path / "m.arpa")
    assert NGram.read(tmp_path / "m.arpa") == model
    model.write(tmp_path / "m.arpa.gz")
    assert gzip.decompress((tmp_path / "m.arpa.gz").read_bytes()) == (tmp_path / "m.arpa").read_bytes()
    assert NGram.read(tmp_path / "m.arpa.gz") == model


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


def test_decomposed_words_of_a_file_are_composed_as_those_of_the_lexicon(tmp_path):
    NGram.estimate([["be\u0301"]], 2).write(tmp_path / "bigram.arpa")
    assert NGram.read(tmp_path / "bigram.arpa").words == ("b\u00e9",)


def test_tables_of_a_file_by_hand(tmp_path):
    (tmp_path / "hand.arpa").write_text(ARPA)
    log_probs, backoffs = read_arpa(tmp_path / "hand.arpa")
    assert log_probs == [
        {("</s>",): -1.0, ("<s>",): -np.inf, ("A",): -0.5, ("B",): -0.7, ("<unk>",): -2.0},
        {("<s>", "A"): -0.1, ("A", "B"): -0.6, ("B", "</s>"): -0.9},
        {("<s>", "A", "B"): -0.05},
    ]
    assert backoffs == {("<s>",): -0.2, ("A",): -0.3, ("<s>", "A"): -0.4, ("A", "B"): 0.05}


def test_written_text(tmp_path):
    write_arpa(
        tmp_path / "m.arpa",
        [{("B",): -0.25, ("A",): -np.inf}, {("A", "B"): -0.125}],
        {("A",): -0.5, ("B",): -np.inf},
    )
    assert (tmp_path / "m.arpa").read_text() == (
        "\\data\\\nngram 1=2\nngram 2=1\n\n\\1-grams:\n-99.0\tA\t-0.5\n-0.25\tB\t-99.0\n\n"
        "\\2-grams:\n-0.125\tA B\n\n\\end\\\n"
    )


def test_a_model_of_order_four_by_hand(tmp_path):
    (tmp_path / "four.arpa").write_text(
        "\\data\\\nngram 1=4\nngram 2=3\nngram 3=2\nngram 4=1\n\n"
        "\\1-grams:\n-1.0 </s>\n-99 <s> -0.25\n-0.5 A -0.3\n-0.7 B -0.1\n\n"
        "\\2-grams:\n-0.2 <s> A -0.15\n-0.4 A B -0.35\n-0.6 B A -0.45\n\n"
        "\\3-grams:\n-0.12 <s> A B -0.05\n-0.22 A B A -0.08\n\n"
        "\\4-grams:\n-0.01 <s> A B A\n\n\\end\\\n"
    )
    model = NGram.read(tmp_path / "four.arpa")
    expected = {
        ("A", ("<s>", "A", "B")): -0.01,  # listed
        ("B", ("<s>", "A", "B")): -0.05 - 0.35 - 0.1 - 0.7,  # backs off three times
        ("A", ("B", "A", "B")): -0.22,  # no weight of "B A B": its trigram
        ("B", ("A", "B", "A")): -0.08 - 0.45 - 0.4,  # backs off twice, to "A B"
        ("</s>", ("A", "B", "A")): -0.08 - 0.45 - 0.3 - 1.0,
        ("A", ("A", "A", "A")): -0.3 - 0.5,
    }
    for (word, history), log10 in expected.items():
        np.testing.assert_allclose(model.log_prob(word, history), np.log(10) * log10, rtol=1e-12, atol=0)
    tables = model.compile({"A", "B"})
    total = -0.2 - 0.12 - 0.01 + (-0.08 - 0.45 - 0.4)  # A B A B
    total += -0.35 - 0.1 - 1.0  # no 4-gram context "B A B", then "A B", then "B"
    np.testing.assert_allclose(tables.sentence_log_prob("ABAB"), np.log(10) * total, rtol=1e-12, atol=0)


def test_words_that_a_file_cannot_hold_are_refused(tmp_path):
    with pytest.raises(GrammarError, match=r"expected words without white space, got 'NEW\\nYORK'"):
        NGram.estimate([["NEW\nYORK", "GO"]], 1).write(tmp_path / "a.arpa")
    assert not (tmp_path / "a.arpa").exists()
