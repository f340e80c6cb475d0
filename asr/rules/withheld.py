"""Words that are withheld from the search, so that it finds others in their place.

A word that is not in the grammar is heard as one that is. What that sounds like, in each voice and room of a
corpus, its own utterances show if the search is not given one of their words, or none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from asr.recognizer import Recognizer
from asr.rules.hearing import Piece
from decoder.decoder import Decoder
from decoder.grammars.grammar import WordLoop

_N_WORDS = 200  # that the search is given at most: it is made anew for each utterance


def withheld(recognizer: Recognizer, pieces: Sequence[Piece], *, without_one: bool = True) -> list[Piece]:
    """Return each utterance twice more: without one of its words, if it has several, and without all of them.

    With a word go those that sound the same. Beside the one that is withheld, the search finds words that
    are right all the same.
    """
    lexicon = recognizer.lexicon
    of_sound: dict[tuple[str, ...], set[str]] = {}
    for word in lexicon:
        for pronunciation in lexicon.pronunciations(word):
            of_sound.setdefault(pronunciation, set()).add(word)

    def alike(words: Iterable[str]) -> set[str]:
        return {other for word in words for p in lexicon.pronunciations(word) for other in of_sound[p]}

    def both(piece: Piece, place: int) -> Iterator[Piece]:
        known = sorted({word for word in piece.words if word in lexicon})
        one = [[known[place % len(known)]]] if without_one and len(known) > 1 else []
        for missing in (*one, known) if known else ():
            if words := _words_without(lexicon.words, alike(missing), known, place):
                yield replace(piece, decoder=partial(_loop, recognizer, words), is_counted=False)

    return [other for n, piece in enumerate(pieces) if piece.is_counted for other in both(piece, n)]


def _words_without(
    all_words: Sequence[str], missing: set[str], own: Sequence[str], seed: int
) -> tuple[str, ...]:
    """Return words of a lexicon, not too many: the utterance's own but for those missing, and others."""
    words = [word for word in all_words if word not in missing]
    if len(words) > _N_WORDS:
        drawn = np.random.default_rng(seed).choice(len(words), _N_WORDS, replace=False)
        words = sorted({words[n] for n in drawn} | (set(own) - missing))
    return tuple(words)


def _loop(recognizer: Recognizer, words: tuple[str, ...]) -> Decoder:
    """Return a decoder of any sequence of some words."""
    config = replace(recognizer.decoder.config, n_best=1, confidence=False)
    lexicon = recognizer.lexicon.restricted_to(words)
    return Decoder(lexicon, WordLoop(words), recognizer.model.topology, config)
