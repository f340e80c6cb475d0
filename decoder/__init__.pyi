from .decoder import Decoder, DecoderConfig, Hypothesis, HypothesisWord
from .errors import DecodingError, GrammarError, LexiconError
from .grammars.grammar import Grammar, GrammarTables, WordLoop
from .grammars.ngram import NGram
from .grammars.word_pair import WordPairGrammar
from .lexicon import Lexicon
from .stream import DecoderStream, PartialHypothesis, PartialWord

__all__ = [
    "Decoder",
    "DecoderConfig",
    "DecoderStream",
    "DecodingError",
    "Grammar",
    "GrammarError",
    "GrammarTables",
    "Hypothesis",
    "HypothesisWord",
    "Lexicon",
    "LexiconError",
    "NGram",
    "PartialHypothesis",
    "PartialWord",
    "WordLoop",
    "WordPairGrammar",
]
