from .alignment import Alignment, Segment, align
from .emissions.emission_model import EmissionModel
from .errors import AlignmentError, ModelError, TrainingError
from .hmm.forward_backward import Posteriors, posteriors
from .hmm.gmm import GmmModel
from .hmm.graph import UtteranceGraph, utterance_graph
from .hmm.topology import Topology
from .hmm.training import GmmConfig, GmmHmm, Progress, TrainingUtterance, flat_start, grow, train_stage
from .hmm.viterbi import best_path
from .model import AcousticModel, load_model, save_model

__all__ = [
    "AcousticModel",
    "Alignment",
    "AlignmentError",
    "EmissionModel",
    "GmmConfig",
    "GmmHmm",
    "GmmModel",
    "ModelError",
    "Posteriors",
    "Progress",
    "Segment",
    "Topology",
    "TrainingError",
    "TrainingUtterance",
    "UtteranceGraph",
    "align",
    "best_path",
    "flat_start",
    "grow",
    "load_model",
    "posteriors",
    "save_model",
    "train_stage",
    "utterance_graph",
]
