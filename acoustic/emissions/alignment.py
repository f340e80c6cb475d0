"""Where the words, phones and states of a transcript lie in an utterance, by an acoustic model."""

from __future__ import annotations

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.hmm.alignment import Alignment, align
from acoustic.hmm.fit import Margins, loop_scores, margins
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import UtteranceGraph, loop_graph
from foundation.arrays import Singles


def align_frames(
    frames: Singles, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> Alignment:
    """Return the alignment of one utterance; where possible only the states of its transcript are scored.

    Parameters
    ----------
    frames : (T, D) float32 frames of the model's front end
    graph : graph of the transcript
    model : acoustic model that scores the frames
    beam : paths this much worse than the best path at a frame are dropped, in nats
    """
    if isinstance(model.emissions, GmmModel):
        states = np.unique(graph.states)
        scores = model.emissions.log_likelihoods(frames, states)
        return align(scores, graph, model.topology, states=states, beam=beam)
    return align(model.emissions.log_likelihoods(frames), graph, model.topology, beam=beam)


def align_with_margins(
    frames: Singles, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> tuple[Alignment, Margins]:
    """Return the alignment of one utterance and how well its words fit; the parameters are the same."""
    scores = model.emissions.log_likelihoods(frames)
    alignment = align(scores, graph, model.topology, beam=beam)
    return alignment, margins(
        scores, loop_scores(scores, loop_graph(model.topology), model.topology, beam), alignment
    )
