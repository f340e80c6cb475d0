from .config import ExperimentConfig
from .corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from .corpora.validation import validate
from .engines.clusters import running_on
from .errors import AsrError
from .evaluation import evaluate
from .exports import export
from .imports import import_model
from .leftovers import clean
from .live.listen import listen
from .live.stream import Partial, Stream, StreamConfig
from .planning.plan import plan
from .recipe import Recipe
from .recognizer import Recognizer
from .reports.report import report
from .scoring.scoring import compare, score
from .serving.serve import serve
from .sparsity import sparsity
from .spotting.keywords import keywords
from .sweeps import sweep
from .verbs import align, align_corpus, decode, demo, info, lm, suspicious, train

__all__ = [
    "AsrError",
    "Corpus",
    "ExperimentConfig",
    "Partial",
    "Recipe",
    "Recognizer",
    "Stream",
    "StreamConfig",
    "Utterance",
    "align",
    "align_corpus",
    "clean",
    "compare",
    "decode",
    "demo",
    "evaluate",
    "export",
    "import_model",
    "info",
    "keywords",
    "listen",
    "lm",
    "plan",
    "read_corpus",
    "report",
    "running_on",
    "score",
    "serve",
    "sparsity",
    "suspicious",
    "sweep",
    "train",
    "validate",
    "write_corpus",
]
