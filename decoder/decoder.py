"""From a matrix of emission scores to words with times."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from acoustic.hmm.topology import Topology
from decoder.errors import DecodingError
from decoder.grammars.grammar import Grammar, GrammarTables
from decoder.lexicon import Lexicon
from decoder.search.compiled import Pruning, Weights
from decoder.search.lattice import (
    Lattice,
    WeighedLattice,
    best_sequences,
    build_lattice,
    edge_posteriors,
    word_confidence,
)
from decoder.search.network import Network, build_network
from decoder.search.tree_network import TreeNetwork, build_tree_network
from decoder.search.tree_search import BEAM_SHARE, MAX_ACTIVE, TreeSearch
from decoder.search.viterbi import WordSearch
from decoder.search.word_ends import Search, SearchResult, trace
from foundation.arrays import Floats
from foundation.errors import suggestion

MOST_INSTANCES = 2000  # with more word instances, the prefix tree is faster; docs/adr/0013-prefix-tree.md
CROSSING_SHARE = 0.5  # of them where contexts reach across words, since each is several and slow to lay out

# Sums of more would be infinite in single precision, or ask for more words than there is memory.
_LARGEST = {
    "lm_scale": 1e6,
    "word_penalty": 1e9,
    "silence_log_prob": 1e9,
    "posterior_scale": 1e6,
    "frame_shift_s": 10.0,
    "n_best": 100_000,
    "max_active": 2**31 - 1,
}


@dataclass(frozen=True)
class DecoderConfig:
    """How a decoder weighs and prunes; all scores are natural logarithms.

    Attributes
    ----------
    lm_scale : factor of the grammar's log probabilities
    word_penalty : added for every word; negative values give fewer words
    silence_log_prob : added for every optional silence or short pause
    beam : paths this much worse than the best path at a frame are dropped; inf drops none. In a prefix tree
        it is 0.6 of that, since paths there are compared with what they may still cost
    max_active : at most this many pronunciations, or places of a large vocabulary's prefix tree, are followed
        in a frame (ties stay); 0 = no limit; None = 5,000 in a prefix tree with a beam, otherwise no limit
    lattice_beam : alternatives this much worse than the best path are left out of the lattice; the beam is
        narrowed if there are too many
    n_best : number of word sequences wanted
    confidence : whether words get a confidence
    posterior_scale : factor of all scores before they become posteriors; None = 1 / max(1, lm_scale)
    frame_shift_s : time between frames
    """

    lm_scale: float = 1.0
    word_penalty: float = 0.0
    silence_log_prob: float = 0.0
    beam: float = 200.0
    max_active: int | None = None
    lattice_beam: float = 50.0
    n_best: int = 1
    confidence: bool = False
    posterior_scale: float | None = None
    frame_shift_s: float = 0.01

    @property
    def effective_posterior_scale(self) -> float:
        """The posterior scale in use."""
        return 1.0 / max(1.0, self.lm_scale) if self.posterior_scale is None else self.posterior_scale

    def __post_init__(self) -> None:
        finite = ("lm_scale", "word_penalty", "silence_log_prob", "frame_shift_s", "posterior_scale")
        for name in finite:
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise DecodingError(
                    f"{name}: expected a finite number, got {value}; correct the configuration"
                )
        lowest = {"lm_scale": 0.0, "beam": 0.0, "lattice_beam": 0.0, "max_active": 0, "n_best": 1}
        for name, low in lowest.items():
            value = getattr(self, name)
            if value is not None and not value >= low:
                raise DecodingError(
                    f"{name}: expected at least {low}, got {value}; correct the configuration"
                )
        for name, most in _LARGEST.items():
            value = getattr(self, name)
            if value is not None and abs(value) > most:
                raise DecodingError(
                    f"{name}: expected {most:,} at most, got {value}; correct the configuration"
                )
        for name in ("frame_shift_s", "posterior_scale"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise DecodingError(f"{name}: expected more than 0, got {value}; correct the configuration")


@dataclass(frozen=True)
class HypothesisWord:
    """One recognised word.

    Attributes
    ----------
    word : the word as it is written in the lexicon
    start_s, end_s : seconds from the first frame
    log_score : its share of the total score, grammar and penalty included
    confidence : posterior probability in [0, 1]; None when it was not asked for
    """

    word: str
    start_s: float
    end_s: float
    log_score: float
    confidence: float | None = None


@dataclass(frozen=True)
class Hypothesis:
    """A recognised sentence.

    Attributes
    ----------
    words : in order of time; silences are left out
    log_score : total log score of the path
    complete : False when no path covers all frames and ends where the grammar allows it; ``words`` are then
        the finished words of the best partial path
    alternatives : the next best word sequences, best first (``n_best - 1`` of them, or as many as there are)
    no_speech : why nothing is spoken there, if ``words`` are none for that reason; empty otherwise
    rejected : words that were found, and count as not spoken
    """

    words: tuple[HypothesisWord, ...]
    log_score: float
    complete: bool
    alternatives: tuple[Hypothesis, ...] = field(default=(), repr=False)
    no_speech: str = ""
    rejected: tuple[HypothesisWord, ...] = field(default=(), repr=False)

    @property
    def text(self) -> tuple[str, ...]:
        """The words alone."""
        return tuple(word.word for word in self.words)


class Decoder:
    """Finds the most probable words for a score matrix.

    Decoding changes nothing in the decoder, so many threads may share one; the search runs outside the
    interpreter lock.

    Parameters
    ----------
    lexicon : pronunciations of every word of the grammar
    grammar : ``WordLoop``, ``WordPairGrammar``, ``NGram``, or anything else with ``compile``
    topology : phones, states and transition probabilities of the model the scores come from
    config : weights and pruning

    Attributes
    ----------
    words_without_pronunciation : words of a statistical grammar that were left out, sorted
    words_outside_grammar : words of the lexicon that the grammar never allows, sorted
    """

    def __init__(
        self, lexicon: Lexicon, grammar: Grammar, topology: Topology, config: DecoderConfig | None = None
    ) -> None:
        self.config = config or DecoderConfig()
        tables = grammar.compile(frozenset(lexicon.words))
        self.network: Network | TreeNetwork = choose_network(lexicon, tables, topology)
        allowed = {tables.words[w] for w in np.unique(tables.arc_words)}
        self.words_without_pronunciation = tables.dropped_words
        self.words_outside_grammar = tuple(sorted(set(lexicon.words) - allowed))

    def with_config(self, **changes: float | bool | None) -> Decoder:
        """Return a decoder over the same network with some options changed; this takes hardly any time."""
        known = {f.name for f in fields(DecoderConfig)}
        unknown = sorted(set(changes) - known)
        if unknown:
            named = ", ".join(f'"{name}"{suggestion(name, known)}' for name in unknown)
            raise DecodingError(f"no decoder option {named}, expected some of: {', '.join(sorted(known))}")
        other = copy.copy(self)
        other.config = replace(self.config, **changes)  # type: ignore[arg-type]
        return other

    def decode(self, scores: ArrayLike) -> Hypothesis:
        """Return the best words for log emission scores of shape (T, S); -inf is an impossible state.

        Raises
        ------
        DecodingError
            The matrix has another number of columns than the topology has states, or holds NaN or +inf.
        """
        matrix = check_scores(scores, self.network.n_states)
        search = self.search(len(matrix))
        search.advance(matrix)
        return self.outcome(search)

    def search(self, n_frames: int = 0) -> Search:
        """Return a search over about so many frames that has not begun yet; `outcome` ends it."""
        return self._search(float(self.config.lattice_beam) if self._wants_lattice else -np.inf, n_frames)

    def outcome(self, search: Search) -> Hypothesis:
        """End a `search` and return the best words for the scores that it was given."""
        config, result = self.config, search.end()
        best = self._hypothesis(result)
        if not self._wants_lattice:
            return best
        lattice = build_lattice(self.network.arc_table, result, self._weights, float(config.lattice_beam))
        alternatives = self._alternatives(lattice, best) if config.n_best > 1 else ()
        if config.confidence:
            posteriors = edge_posteriors(lattice, config.effective_posterior_scale)
            best = self._with_confidence(best, lattice, posteriors)
            alternatives = tuple(self._with_confidence(h, lattice, posteriors) for h in alternatives)
        return replace(best, alternatives=alternatives)

    def decode_with_lattice(
        self, scores: ArrayLike, beam: float, max_edges_per_frame: int
    ) -> tuple[Hypothesis, WeighedLattice]:
        """Return what `decode` returns, and a lattice in which the best words with other weights are found.

        Parameters
        ----------
        scores : (T, S) log emission scores
        beam : word ends this much worse than the best path at a frame are not in the lattice, in nats
        max_edges_per_frame : the beam is halved until the lattice has no more edges than that on average
        """
        matrix = check_scores(scores, self.network.n_states)
        search = self._search(beam, len(matrix))
        search.advance(matrix)
        result, weights = search.end(), self._weights
        lattice = build_lattice(self.network.arc_table, result, weights, beam, max_edges_per_frame)
        return self._hypothesis(result), WeighedLattice(lattice, weights, self.network.words)

    @property
    def _weights(self) -> Weights:
        config = self.config
        return Weights(float(config.lm_scale), float(config.word_penalty), float(config.silence_log_prob))

    @property
    def _wants_lattice(self) -> bool:
        return self.config.confidence or self.config.n_best > 1

    def _search(self, record_beam: float, n_frames: int) -> Search:
        """Return a new search of the kind that belongs to the network."""
        beam, max_active = float(self.config.beam), self.config.max_active
        if isinstance(self.network, TreeNetwork):
            if max_active is None:
                max_active = MAX_ACTIVE if beam < np.inf else 0
            pruning = Pruning(BEAM_SHARE * beam, int(max_active), record_beam)
            return TreeSearch(self.network, self._weights, pruning)
        pruning = Pruning(beam, int(max_active or 0), record_beam)
        return WordSearch(self.network, self._weights, pruning, n_frames)

    def _hypothesis(self, result: SearchResult) -> Hypothesis:
        """Return the words on the best path of a search."""
        records = result.records
        words = []
        for record in trace(records, result.best):
            before = records.predecessors[record]
            word = int(records.words[record])
            score = float(records.scores[record] - records.scores[before])
            words.append(self._word(word, int(records.ends[before]), int(records.ends[record]), score))
        return Hypothesis(tuple(w for w in words if w), result.log_score, result.complete)

    def _alternatives(self, lattice: Lattice, best: Hypothesis) -> tuple[Hypothesis, ...]:
        """Return the best word sequences of the lattice other than the best one of the search."""
        found = []
        for path in best_sequences(lattice, self.config.n_best):
            edges = np.asarray(path.edges, dtype=np.int64)
            starts = lattice.boundaries[lattice.sources[edges]]
            ends = lattice.boundaries[lattice.targets[edges]]
            words = map(self._word, lattice.words[edges], starts, ends, lattice.scores[edges])
            found.append(Hypothesis(tuple(w for w in words if w), path.log_score, best.complete))
        return tuple(h for h in found if h.text != best.text)[: self.config.n_best - 1]

    def _word(self, word: int, start: int, end: int, log_score: float) -> HypothesisWord | None:
        """Return a word between two boundaries, None for a silence."""
        if word < 0:
            return None
        shift = self.config.frame_shift_s
        return HypothesisWord(
            self.network.words[word], int(start) * shift, int(end) * shift, float(log_score)
        )

    def _with_confidence(self, hypothesis: Hypothesis, lattice: Lattice, posteriors: Floats) -> Hypothesis:
        """Return the hypothesis with the confidence of each word."""
        shift = self.config.frame_shift_s
        words = tuple(
            replace(
                word,
                confidence=word_confidence(
                    lattice,
                    posteriors,
                    self.network.words.index(word.word),
                    round(word.start_s / shift),
                    round(word.end_s / shift),
                ),
            )
            for word in hypothesis.words
        )
        return replace(hypothesis, words=words)


def check_scores(scores: ArrayLike, n_states: int) -> Floats:
    """Return a score matrix as C-ordered (T, S) float64, or raise a DecodingError that says what is wrong."""
    try:
        given = np.asarray(scores)
    except ValueError:  # lists of several lengths
        given = np.asarray(None)
    if given.dtype.kind not in "fiub":
        got = f"a {type(scores).__name__} of {given.dtype}"
        raise DecodingError(
            f"scores: expected numbers of shape (n_frames, {n_states}), got {got}; give an array of floats"
        )
    matrix = np.ascontiguousarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_states:
        raise DecodingError(
            f"scores: expected shape (n_frames, {n_states}), one column per state of the topology, "
            f"got {matrix.shape}; use the scores and topology of one model"
        )
    if len(matrix) and not matrix.max() < np.inf:  # NaN compares false
        frame, state = np.argwhere(np.isnan(matrix) | (matrix == np.inf))[0]
        raise DecodingError(
            f"scores: expected finite log scores or -inf, got {matrix[frame, state]} in frame {frame}, "
            f"state {state}; check the features and the model"
        )
    return matrix


def choose_network(lexicon: Lexicon, tables: GrammarTables, topology: Topology) -> Network | TreeNetwork:
    """Return a prefix tree for large vocabularies and grammars, word instances for small ones."""
    share = CROSSING_SHARE if topology.crosses_words else 1.0
    if n_word_instances(tables) <= share * MOST_INSTANCES:
        return build_network(lexicon, tables, topology)
    return build_tree_network(lexicon, tables, topology)


def n_word_instances(tables: GrammarTables) -> int:
    """Return the number of pairs of a word and the context after it."""
    return len(np.unique(tables.arc_words.astype(np.int64) * tables.n_contexts + tables.arc_contexts))
