"""Utterances whose own words the search is not given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asr import Recognizer
from asr.decoding.model_directories import model_directory
from asr.spotting.pieces import Piece, find_words, pieces_of_corpus, withheld
from decoder import Lexicon


@pytest.fixture(scope="module")
def recognizer(trained: Path) -> Recognizer:
    return Recognizer.load(trained)


@pytest.fixture(scope="module")
def pieces(recognizer: Recognizer, tones: Path, trained: Path) -> list[Piece]:
    return pieces_of_corpus(recognizer, tones, model_directory(trained, None), with_backwards=True)


def words_of(piece: Piece) -> tuple[str, ...]:
    assert piece.decoder is not None
    return piece.decoder().network.words


def test_each_utterance_without_one_word_and_without_all(recognizer: Recognizer, pieces: list[Piece]) -> None:
    found = withheld(recognizer, pieces)
    assert len(found) == 2 * 40  # speech backwards has no words
    for piece, without_one, without_all in zip(pieces[:40], found[0::2], found[1::2], strict=True):
        assert piece.group == without_one.group == without_all.group
        assert set(words_of(without_all)) == set(recognizer.lexicon.words) - set(piece.words)
        assert len(set(piece.words) - set(words_of(without_one))) == 1
        assert not without_one.is_counted
        assert not without_all.is_counted


def test_what_is_found_instead_is_wrong_and_other_words_are_right(
    recognizer: Recognizer, pieces: list[Piece]
) -> None:
    heard = find_words(
        recognizer, withheld(recognizer, pieces), recognizer.lexicon.words, [recognizer.decoder]
    )
    without_one, without_all = ([c for h in some for c in h.found[0]] for some in (heard[0::2], heard[1::2]))
    assert without_all
    assert not any(c.is_spoken for c in without_all)
    right = [c.is_spoken for c in without_one]
    assert 0.2 < sum(right) / len(right) < 0.8
    assert sum(h.n_spoken + h.seconds for h in heard) == 0


def test_words_that_sound_the_same_are_withheld_together(recognizer: Recognizer, pieces: list[Piece]) -> None:
    entries = dict(recognizer.lexicon.entries)
    other = replace(recognizer, lexicon=Lexicon({**entries, "ASSA": entries["ASA"]}))
    spoken = [replace(piece, words=("ASA",)) for piece in pieces[:3]]
    for piece in withheld(other, spoken):
        assert set(words_of(piece)) == set(entries) - {"ASA"}


def test_an_utterance_of_all_words_is_heard_without_one_only(
    recognizer: Recognizer, pieces: list[Piece]
) -> None:
    every = replace(pieces[0], words=recognizer.lexicon.words)
    (found,) = withheld(recognizer, [every])
    assert len(words_of(found)) == len(recognizer.lexicon.words) - 1
    assert withheld(recognizer, [every], without_one=False) == []
    (single,) = withheld(recognizer, [replace(every, words=("ASA", "ASA"))])
    assert set(words_of(single)) == set(recognizer.lexicon.words) - {"ASA"}
    assert withheld(recognizer, [replace(every, words=("NOBODY",))]) == []


def test_of_a_large_lexicon_some_words_are_enough(
    recognizer: Recognizer, pieces: list[Piece], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asr.spotting.pieces._N_WORDS", 1)
    for piece, other in zip(pieces[:40], withheld(recognizer, pieces)[0::2], strict=True):
        others = set(words_of(other)) - set(piece.words)
        missing = set(piece.words) - set(words_of(other))
        assert (len(missing), len(others) <= 1) == (1, True)
