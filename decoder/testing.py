"""Whether a grammar of your own does what the decoder and clusters ask of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from functools import partial

import numpy as np

from acoustic.hmm.topology import Topology
from decoder.decoder import Decoder, DecoderConfig
from decoder.grammars.grammar import Grammar, GrammarTables
from decoder.lexicon import Lexicon
from foundation.conformance import N_THREADS, conform, copied, from_threads, raised
from foundation.errors import AsrError, listed

_FRAMES_A_WORD = 60
_TYPES = {
    "arc_offsets": np.int32,
    "arc_words": np.int32,
    "arc_log_probs": np.float64,
    "arc_contexts": np.int32,
    "backoff_contexts": np.int32,
    "backoff_log_weights": np.float64,
    "final_log_probs": np.float64,
}


def check_grammar(grammar: Grammar, lexicon: Lexicon) -> None:
    """Raise an error that lists all that is wrong with a grammar.

    Its tables must be sound, of words that the lexicon has, and allow a sentence; they must be the same each
    time, from many threads, and for a copy in another process; and the decoder must find a sentence that they
    allow.

    Parameters
    ----------
    grammar : the grammar
    lexicon : pronunciations, such as it will be used with

    Raises
    ------
    ConformanceError
        Something is wrong; each line says what.
    """
    conform(type(grammar).__name__, _complaints(grammar, lexicon))


def _complaints(grammar: Grammar, lexicon: Lexicon) -> Iterator[str]:
    """Yield what is wrong; what makes no sense after a first fault is not looked at."""
    words = set(lexicon.words)
    try:
        tables = grammar.compile(words)
    except Exception as error:
        yield f"compile {raised(error)}; expected GrammarTables"
        return
    if words != set(lexicon.words):
        yield "compile changes the words it is given; expected them to stay: work on a copy"
    if not isinstance(tables, GrammarTables):
        yield (
            f"compile returns a {type(tables).__name__}, expected GrammarTables; make them with "
            "decoder.grammars.grammar.pack_tables"
        )
        return
    faults = list(_faults_of_form(tables)) or list(_faults_of_content(tables, lexicon))
    yield from faults
    yield from _faults_of_repetition(grammar, lexicon, tables)
    yield from _faults_of_copies(grammar, lexicon, tables)
    if not faults:
        yield from _faults_of_decoding(grammar, lexicon, tables)


def _faults_of_form(tables: GrammarTables) -> Iterator[str]:
    """Yield what is wrong with types, shapes and ranges, which the search trusts."""
    for name, dtype in _TYPES.items():
        found = getattr(tables, name)
        if not isinstance(found, np.ndarray) or found.dtype != dtype or found.ndim != 1:
            what = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
            yield f"{name}: got {what}, expected one row of {np.dtype(dtype)}; pack_tables makes them"
            return
    n_contexts, n_arcs, n_words = tables.n_contexts, len(tables.arc_words), len(tables.words)
    for name, expected in (
        ("arc_offsets", n_contexts + 1),
        ("backoff_contexts", n_contexts),
        ("backoff_log_weights", n_contexts),
        ("arc_log_probs", n_arcs),
        ("arc_contexts", n_arcs),
    ):
        if len(getattr(tables, name)) != expected:
            yield f"{name} has {len(getattr(tables, name))} entries, expected {expected}"
            return
    offsets = tables.arc_offsets
    if offsets[0] != 0 or offsets[-1] != n_arcs or np.any(np.diff(offsets) < 0):
        yield f"arc_offsets: expected numbers that rise from 0 to {n_arcs}, the number of arcs"
        return
    for name, low, stop in (
        ("arc_words", 0, n_words),
        ("arc_contexts", 0, n_contexts),
        ("backoff_contexts", -1, n_contexts),
    ):
        found = getattr(tables, name)
        if len(found) and not (found.min() >= low and found.max() < stop):
            yield f"{name}: got {found.min()} to {found.max()}, expected {low} to {stop - 1}"
    if not 0 <= tables.start_context < n_contexts:
        yield f"start_context is {tables.start_context}, expected 0 to {n_contexts - 1}"


def _faults_of_content(tables: GrammarTables, lexicon: Lexicon) -> Iterator[str]:
    """Yield what is wrong with words, probabilities and the sentences that are allowed."""
    if len(set(tables.words)) != len(tables.words):
        yield "words: some occur twice; expected each word once"
    unknown = sorted({tables.words[w] for w in np.unique(tables.arc_words)} - set(lexicon.words))
    if unknown:
        yield (
            f"words that are not in the lexicon: {listed(unknown, 5)}; expected only words of the collection "
            "that compile is given; leave them out and name them in dropped_words"
        )
    for c in range(tables.n_contexts):
        row = tables.arc_words[tables.arc_offsets[c] : tables.arc_offsets[c + 1]]
        if np.any(np.diff(row) <= 0):
            yield (
                f"context {c}: words are not in rising order, each once; expected so, for they are searched "
                "for"
            )
            break
    for name in ("arc_log_probs", "backoff_log_weights"):
        if not np.isfinite(getattr(tables, name)).all():
            yield f"{name}: expected finite logarithms; leave out what is impossible"
    too_high = max(tables.arc_log_probs.max(initial=-np.inf), tables.final_log_probs.max(initial=-np.inf))
    if np.isnan(tables.final_log_probs).any() or too_high > 1e-9:
        yield (
            f"log probabilities up to {too_high:g}, expected 0 or less (final_log_probs: -inf where a "
            "sentence may not end); give natural logarithms of probabilities"
        )
    if _backs_off_in_a_circle(tables):
        yield "backoff_contexts go round in a circle; expected each chain to end with -1"
    elif not _allows_a_sentence(tables):
        yield "no sentence is allowed; expected a way from start_context to a context in which one may end"


def _backs_off_in_a_circle(tables: GrammarTables) -> bool:
    """Say whether some context is its own backoff context, at whatever distance."""
    found = np.arange(tables.n_contexts)
    for _ in range(tables.n_contexts):
        found = np.where(found >= 0, tables.backoff_contexts[found], -1)
        if np.all(found < 0):
            return False
    return True


def _allows_a_sentence(tables: GrammarTables) -> bool:
    """Say whether a context in which a sentence may end can be reached."""
    seen, queue = {tables.start_context}, deque([tables.start_context])
    while queue:
        here = queue.popleft()
        if tables.final_log_probs[here] > -np.inf:
            return True
        following, context = [], here
        while context >= 0:
            arcs = slice(tables.arc_offsets[context], tables.arc_offsets[context + 1])
            following += tables.arc_contexts[arcs].tolist()
            context = int(tables.backoff_contexts[context])
        queue.extend(dict.fromkeys(c for c in following if c not in seen))
        seen.update(following)
    return False


def _faults_of_repetition(grammar: Grammar, lexicon: Lexicon, first: GrammarTables) -> Iterator[str]:
    """Yield what is wrong when the grammar is compiled again, in threads, from words in another order."""

    def compiled(backwards: bool) -> GrammarTables:
        # A list stands for a set of another process, in which words have another order.
        return grammar.compile(sorted(lexicon.words, reverse=backwards))

    try:
        alone = [compiled(False), compiled(True)]
        together = from_threads([partial(compiled, n % 2 == 1) for n in range(N_THREADS)])
    except Exception as error:
        yield f"compile {raised(error)} for the words as a list or from many threads; expected GrammarTables"
        return
    if not all(_equal(tables, first) for tables in alone):
        yield (
            "compile returns other tables the second time, or for the same words in another order; expected "
            "the same: sort what comes from a set"
        )
    elif not all(_equal(tables, first) for tables in together):
        yield "from many threads compile returns other tables; expected the same: keep nothing of a call"


def _faults_of_copies(grammar: Grammar, lexicon: Lexicon, first: GrammarTables) -> Iterator[str]:
    """Yield what is wrong when the grammar goes to another process."""
    try:
        same = _equal(copied(grammar).compile(frozenset(lexicon.words)), first)
    except Exception as error:
        yield (
            f"the grammar cannot go to another process: {raised(error)}; expected a copy: hold no open files "
            "or locks"
        )
        return
    if not same:
        yield "a copy in another process compiles to other tables; expected the same: keep all in the grammar"


def _faults_of_decoding(grammar: Grammar, lexicon: Lexicon, tables: GrammarTables) -> Iterator[str]:
    """Yield what is wrong when the decoder uses the grammar on scores of nothing in particular."""
    topology = Topology.monophones(lexicon.phones)
    scores = np.random.default_rng(0).normal(size=(_FRAMES_A_WORD, topology.n_states))
    try:
        found = Decoder(lexicon, grammar, topology, DecoderConfig(beam=np.inf)).decode(scores)
    except AsrError as error:
        yield f"the decoder refuses it: {error}"
        return
    if found.complete and tables.sentence_log_prob(found.text) == -np.inf:
        yield f'the decoder found "{" ".join(found.text)}", which sentence_log_prob does not allow'


def _equal(a: GrammarTables, b: GrammarTables) -> bool:
    """Say whether two tables are the same."""
    return all(np.array_equal(getattr(a, field.name), getattr(b, field.name)) for field in fields(b))
