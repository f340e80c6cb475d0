"""Lexicon, grammars and search: from a (T, S) matrix of emission scores to words."""

from decoder.decoder import Decoder, DecoderConfig, Hypothesis, HypothesisWord
from decoder.errors import DecodingError, GrammarError, LexiconError
from decoder.grammars.grammar import Grammar, GrammarTables
from decoder.grammars.ngram import NGram
from decoder.grammars.word_loop import WordLoop
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon

__all__ = [
    "Decoder",
    "DecoderConfig",
    "DecodingError",
    "Grammar",
    "GrammarError",
    "GrammarTables",
    "Hypothesis",
    "HypothesisWord",
    "Lexicon",
    "LexiconError",
    "NGram",
    "WordLoop",
    "WordPairGrammar",
]
