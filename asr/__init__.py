"""Speech recognition and forced alignment from small transcribed corpora, on a CPU."""

from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from asr.corpora.validation import validate
from asr.recipe import Recipe
from asr.recognizer import Recognizer
from asr.scoring.scoring import compare, score
from asr.sparsity import sparsity
from asr.verbs import align, align_corpus, decode, demo, evaluate, info, train
from foundation.errors import AsrError

__all__ = [
    "AsrError",
    "Corpus",
    "ExperimentConfig",
    "Recipe",
    "Recognizer",
    "Utterance",
    "align",
    "align_corpus",
    "compare",
    "decode",
    "demo",
    "evaluate",
    "info",
    "read_corpus",
    "score",
    "sparsity",
    "train",
    "validate",
    "write_corpus",
]
