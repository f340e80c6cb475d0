"""Acoustic models: hidden Markov models, discriminants, emission scores, model files."""

from acoustic.emissions.model_files import AcousticModel, load_model, save_model
from acoustic.emissions.protocol import EmissionModel
from acoustic.errors import AlignmentError, ModelError, TrainingError
from acoustic.hmm.alignment import Alignment, Segment, align
from acoustic.hmm.forward_backward import Posteriors, best_path, posteriors
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import UtteranceGraph, utterance_graph
from acoustic.hmm.topology import Topology
from acoustic.hmm.training import (
    GmmConfig,
    GmmHmm,
    Progress,
    TrainingUtterance,
    flat_start,
    grow,
    train_stage,
)

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
