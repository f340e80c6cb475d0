from .commands.begin import demo
from .commands.data import lm, suspicious
from .commands.exchange import export, import_model
from .commands.leftovers import clean
from .commands.model_info import info
from .commands.models import train
from .commands.recordings import align, align_corpus, decode, evaluate
from .commands.sparsity import sparsity
from .commands.sweeps import sweep
from .config import ExperimentConfig
from .corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from .corpora.validation import validate
from .engines.clusters import running_on
from .errors import AsrError
from .live.listen import listen
from .live.stream import Partial, Stream, StreamConfig
from .planning.plan import plan
from .recipe import Recipe
from .recognizer import Recognizer
from .reports.report import report
from .scoring.scoring import compare, score
from .serving.serve import serve
from .spotting.keywords import keywords

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
