"""Acoustic models: topology, Gaussian mixtures, training, forced alignment, model files.

The whole-word recogniser lies in `acoustic.whole_word`, apart because its engine is slow to import.
"""

from acoustic.alignment import Alignment, Segment, align
from acoustic.emission import EmissionModel
from acoustic.errors import AlignmentError, ModelError, TrainingError
from acoustic.gmm import GmmModel
from acoustic.graph import UtteranceGraph, utterance_graph
from acoustic.hmm import Posteriors, best_path, posteriors
from acoustic.model import AcousticModel, load_model, save_model
from acoustic.topology import Topology
from acoustic.training import GmmConfig, GmmHmm, Progress, TrainingUtterance, flat_start, grow, train_stage

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
