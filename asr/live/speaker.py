"""What a stream knows of its speaker beside loudness and mean: a transform of the frames, kept up to date.

It is estimated as in a second pass (`acoustic.emissions.adaptation`), from the frames and words heard so far,
and holds for the frames that follow. An update takes some ten milliseconds of processor time, so it is made
where it is due: the words do not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from acoustic.emissions.adaptation import Statistics, Transform, statistics_of, transform_of
from acoustic.model import AcousticModel
from asr.decoding.passes import heard_states
from decoder.lexicon import Lexicon
from foundation.arrays import Singles

MEMORY_S = 60.0  # of speech that the transform follows


class SpeakerAdaptation:
    """The transform of a speaker's frames, from all that was heard of the speaker so far.

    Parameters
    ----------
    model : its targets of adaptation; without any, frames stay as they are
    lexicon : pronunciations of the words
    """

    def __init__(self, model: AcousticModel, lexicon: Lexicon) -> None:
        self._model, self._lexicon = model, lexicon
        self._transform: Transform | None = None
        self._most = MEMORY_S / model.front_end.frame_shift_s
        self._settled: Statistics | None = None  # of sentences that are over

    def adapted(self, frames: Singles) -> Singles:
        """Return frames (T, D) as the transform maps them."""
        return frames if self._transform is None else self._transform.apply(frames)

    def update(
        self, frames: Sequence[Singles], scores: Sequence[Singles], words: Sequence[str], *, is_over: bool
    ) -> None:
        """Estimate the transform anew, with a sentence that is under way or over.

        Parameters
        ----------
        frames : blocks (T, D) of the sentence up to the end of the last word, not adapted
        scores : their emission scores (T, S)
        words : the words in them
        is_over : whether the sentence counts from now on; otherwise the next update brings it once more
        """
        targets = self._model.adaptation
        if targets is None or not words or not frames:
            return
        together = np.concatenate(frames)
        states = heard_states(np.concatenate(scores), words, self._lexicon, self._model)
        own = statistics_of([(together, states)], targets)
        every = own if self._settled is None else self._settled.plus(own)
        if every.n_frames:
            self._transform = transform_of(every, targets)
        if is_over:
            self._settled = every.at_most(self._most)
