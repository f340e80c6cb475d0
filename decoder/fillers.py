"""Keywords among fillers, which are words of one unit each and together stand for any other sounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from acoustic.hmm.topology import EDGE, SILENCES, Context, Topology
from decoder.decoder import Decoder, DecoderConfig
from decoder.errors import GrammarError
from decoder.grammars.grammar import GrammarTables, pack_tables
from decoder.lexicon import Lexicon

_MARK = "~"  # with which names of fillers begin; more of them, if a word does, too


@dataclass(frozen=True, init=False)
class KeywordLoop:
    """Any keyword or filler after any other; a filler costs so much, a keyword nothing.

    If fillers cost nothing, no keyword is ever found: those of its phones fit at least as well.

    Examples
    --------
    >>> tables = KeywordLoop(["YES"], ["~1", "~2"], filler_cost=7.0).compile({"YES", "~1", "~2"})
    >>> tables.sentence_log_prob(["~2", "YES", "~1", "YES"])
    -14.0
    """

    keywords: tuple[str, ...]
    fillers: tuple[str, ...]
    filler_cost: float

    def __init__(self, keywords: Iterable[str], fillers: Iterable[str], filler_cost: float) -> None:
        object.__setattr__(self, "keywords", tuple(sorted(set(keywords))))
        object.__setattr__(self, "fillers", tuple(sorted(set(fillers))))
        object.__setattr__(self, "filler_cost", filler_cost)
        if not self.keywords:
            raise GrammarError("keyword loop: expected at least one keyword, got none; give the words")
        if not 0 <= self.filler_cost < np.inf:
            raise GrammarError(
                f"keyword loop: expected fillers that cost 0 or more, got {filler_cost}; correct the cost"
            )
        if both := set(self.keywords) & set(self.fillers):
            raise GrammarError(
                f'keyword loop: "{min(both)}" is both a keyword and a filler, expected one of them; '
                "rename the filler"
            )

    def compile(self, pronounceable: Collection[str]) -> GrammarTables:
        """Return one context with every keyword and filler; all must have a pronunciation."""
        words = (*self.keywords, *self.fillers)
        n_keywords = len(self.keywords)
        arcs = [(w, 0.0 if w < n_keywords else -self.filler_cost, 0) for w in range(len(words))]
        return pack_tables(words, [arcs], [0.0], 0)


@dataclass(frozen=True)
class Fillers:
    """Words of one unit each, for every unit of a model but silences.

    Attributes
    ----------
    names : words, each of which is a phone of this name, too
    topology : the model's, with the phones of the fillers, whose states are those of its units
    """

    names: tuple[str, ...]
    topology: Topology


def fillers(topology: Topology, words: Iterable[str]) -> Fillers:
    """Return a filler for each unit of a topology that has states of its own, named like no word."""
    mark = _free_mark(words)
    chains = [
        (states, loops)
        for phone, states, loops in zip(
            topology.phones, topology.phone_states, topology.self_loops, strict=True
        )
        if phone not in SILENCES
    ]
    first = dict(reversed(chains))  # of several units that share all states the first one
    names = [f"{mark}{n}" for n in range(len(first))]
    # In contexts a word of one phone is that phone between the edges of the word.
    units = [Context(EDGE, name, EDGE).name for name in names] if topology.is_contextual else names
    longer = replace(
        topology,
        phones=(*topology.phones, *units),
        phone_states=(*topology.phone_states, *first),
        self_loops=(*topology.self_loops, *first.values()),
        crosses_words=False,  # fillers have no neighbours
    )
    return Fillers(tuple(names), longer)


def _free_mark(words: Iterable[str]) -> str:
    """Return a text with which no word begins."""
    known, mark = tuple(words), _MARK
    while any(word.startswith(mark) for word in known):
        mark += _MARK
    return mark


def keyword_decoder(
    keywords: Iterable[str], filler_cost: float, lexicon: Lexicon, topology: Topology, config: DecoderConfig
) -> Decoder:
    """Return a decoder of keywords among fillers; which of its words are fillers, the lexicon tells.

    Parameters
    ----------
    keywords : words of the lexicon
    filler_cost : what each filler and silence costs, in nats; the more, the more keywords are found
    lexicon : pronunciations
    topology : that of the model
    config : options of the decoder; weights of grammars, words and silences are not used
    """
    found = fillers(topology, lexicon.words)
    # Fillers have no usage, so that of the keywords would make them dearer than their cost says.
    chosen = Lexicon(lexicon.restricted_to(keywords).entries)
    of_fillers = Lexicon({name: [(name,)] for name in found.names})
    return Decoder(
        chosen.merged(of_fillers),
        KeywordLoop(chosen.words, found.names, filler_cost),
        found.topology,
        replace(
            config,
            lm_scale=1.0,
            word_penalty=0.0,
            silence_log_prob=-filler_cost,
            n_best=1,
            confidence=False,
        ),
    )
