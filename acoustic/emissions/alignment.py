"""Where the words, phones and states of a transcript lie in an utterance, by an acoustic model.

Frames come as one array or, of a recording so long that its scores would fill the memory, as a sequence of
blocks, each of which may be computed when it is asked for. The blocks' scores are computed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from acoustic.emissions.model_files import AcousticModel
from acoustic.hmm.alignment import Alignment, align_in_blocks
from acoustic.hmm.fit import Margins, margins_along
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.graph import UtteranceGraph, loop_graph
from acoustic.hmm.viterbi import BestPath
from foundation.arrays import Reals, Singles
from foundation.sequences import Computed

BLOCK_FRAMES = 4096  # scored at a time
Frames = Singles | Sequence[Singles]


def align_frames(
    frames: Frames, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> Alignment:
    """Return the alignment of one utterance; where possible only the states of its transcript are scored.

    Parameters
    ----------
    frames : (T, D) float32 frames of the model's front end, or blocks of them
    graph : graph of the transcript
    model : acoustic model that scores the frames
    beam : paths this much worse than the best path at a frame are dropped, in nats
    """
    blocks, states = in_blocks(frames), np.unique(graph.states)
    emissions = model.emissions

    def scores() -> Iterator[Reals]:
        if isinstance(emissions, GmmModel):
            yield from (emissions.log_likelihoods(block, states) for block in blocks)
        else:
            yield from (model.scores(block)[:, states] for block in blocks)

    n_frames = sum(map(len, blocks))
    return align_in_blocks(scores, n_frames, graph, model.topology, states=states, beam=beam)[0]


def align_with_margins(
    frames: Frames, graph: UtteranceGraph, model: AcousticModel, beam: float = 400.0
) -> tuple[Alignment, Margins]:
    """Return the alignment of one utterance and how well its words fit; the parameters are the same."""
    blocks, loop = in_blocks(frames), loop_graph(model.topology)
    loops: list[BestPath] = []
    highest: list[Reals] = []  # of any state, for frames too few for any phone

    def scores() -> Iterator[Reals]:
        loops[:], highest[:] = [BestPath(loop.states.astype(np.int64), loop, model.topology, beam)], []
        for block in blocks:
            found = model.scores(block)
            loops[0].take(found)
            highest.append(found.max(axis=1))
            yield found

    n_frames = sum(map(len, blocks))
    alignment, own = align_in_blocks(scores, n_frames, graph, model.topology, beam=beam)
    *_, of_loop = loops[0].end()
    return alignment, margins_along(own, of_loop if len(of_loop) else np.concatenate(highest), alignment)


def in_blocks(frames: Frames) -> Sequence[Singles]:
    """Return the blocks of frames; of an array those of as many frames as are scored at a time."""
    if not isinstance(frames, np.ndarray):
        return frames
    n_blocks = max(-(-len(frames) // BLOCK_FRAMES), 1)
    return Computed(lambda n: frames[n * BLOCK_FRAMES : (n + 1) * BLOCK_FRAMES], n_blocks)
