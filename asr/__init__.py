"""Speech recognition and forced alignment from small transcribed corpora, on a CPU."""

from asr.config import ExperimentConfig
from asr.corpus import Corpus, Utterance, read_corpus, write_corpus
from asr.recipe import Recipe
from asr.recognizer import Recognizer
from asr.scoring import compare, score
from asr.sparsity import sparsity
from asr.validation import validate
from asr.verbs import align, align_corpus, decode, demo, evaluate, info, train
from features.errors import AsrError

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
