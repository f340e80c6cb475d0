"""Lexicon, grammars and search: from a (T, S) matrix of emission scores to words."""

from decoder.decoder import Decoder, DecoderConfig, Hypothesis, HypothesisWord
from decoder.errors import DecodingError, GrammarError, LexiconError
from decoder.grammar import Grammar, GrammarTables, WordLoop
from decoder.lexicon import Lexicon
from decoder.ngram import NGram
from decoder.word_pair import WordPairGrammar

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
