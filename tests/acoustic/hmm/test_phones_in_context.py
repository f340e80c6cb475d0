"""Phones in context against all sentences of a few words."""

import itertools

import pytest

from acoustic import ModelError
from acoustic.hmm.topology import EDGE, Context, all_contexts, base_phone, contexts, in_context

WORDS = [("T", "UW"), ("T", "EH", "N"), ("A",), ("N", "OW")]


def contexts_of_all_sentences(words, n_words):
    """Return what is heard in all sentences: a pause, which counts as an edge, may be between any words."""
    found = set()
    for sentence in itertools.product(words, repeat=n_words):
        for pauses in itertools.product((False, True), repeat=n_words - 1):
            phones = [EDGE, *sentence[0]]
            for is_paused, word in zip(pauses, sentence[1:], strict=True):
                phones += [EDGE, *word] if is_paused else word
            phones.append(EDGE)
            triples = zip(phones, phones[1:], phones[2:], strict=False)
            found |= {Context(*triple) for triple in triples if triple[1] != EDGE}
    return found


def test_across_words_they_are_those_of_all_sentences():
    found = all_contexts(WORDS, crosses_words=True)
    assert list(found) == sorted(contexts_of_all_sentences(WORDS, 3))


def test_within_words_they_are_those_of_single_words():
    found = all_contexts(reversed([*WORDS, *WORDS]))
    assert list(found) == sorted(contexts_of_all_sentences(WORDS, 1))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(("left", "right"), [(EDGE, EDGE), ("S", EDGE), (EDGE, "S"), ("T", "S")])
def test_names_lead_back_to_the_phones(word, left, right):
    names = in_context(word, left, right)
    assert tuple(map(base_phone, names)) == word
    assert names == tuple(context.name for context in contexts(word, left, right))
    assert names[0].startswith(f"{left}-")
    assert names[-1].endswith(f"+{right}")
    for earlier, later in itertools.pairwise(contexts(word, left, right)):
        assert (earlier.phone, earlier.right) == (later.left, later.phone)


@pytest.mark.parametrize("name", ["sil", "sp", "AH", "a-b", "a+b", ""])
def test_a_phone_without_a_context_is_its_own_base(name):
    assert base_phone(name) == name


def test_no_words_no_contexts():
    assert all_contexts([]) == ()
    assert contexts(()) == ()


@pytest.mark.parametrize("phone", ["a-b", "x+", "#"])
def test_phones_that_could_not_be_told_from_their_context(phone):
    with pytest.raises(ModelError, match=r"phones .*: models in context write phones as L-P\+R .*; rename"):
        all_contexts([*WORDS, ("T", phone)])
