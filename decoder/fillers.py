"""Fillers: words of one unit each, which together stand for any sounds between keywords."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from acoustic.hmm.topology import EDGE, SILENCES, Context, Topology
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.keyword_loop import KeywordLoop
from decoder.lexicon import Lexicon

_MARK = "~"


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
    chosen = lexicon.restricted_to(keywords)
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
