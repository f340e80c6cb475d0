from .config import ExperimentConfig
from .corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from .corpora.validation import validate
from .errors import AsrError
from .planning.plan import plan
from .recipe import Recipe
from .recognizer import Recognizer
from .scoring.scoring import compare, score
from .sparsity import sparsity
from .verbs import align, align_corpus, decode, demo, evaluate, info, lm, suspicious, train

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
    "lm",
    "plan",
    "read_corpus",
    "score",
    "sparsity",
    "suspicious",
    "train",
    "validate",
    "write_corpus",
]
