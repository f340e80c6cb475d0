"""A recording as its static cepstra, from which frames are computed stretch by stretch when they are needed.

Static cepstra of an hour take 19 MB; samples would take 230, frames with derivatives 56 and more. Whatever is
longer than a minute is cut into stretches where it is quiet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from features.errors import FeatureError
from features.mfcc import (
    BLOCK_FRAMES,
    MfccConfig,
    add_derivatives,
    check_samples,
    mfcc_plan,
    static_frames,
    whole_static,
)
from features.samples import frame_powers
from foundation.arrays import Reals, Singles

UNCUT_S = 60.0  # what is no longer than this is one stretch; by feel
STRETCH_S = (20.0, 40.0)  # least and greatest length of a stretch, but for the last one; by feel
PAUSE_S = 0.3  # what must be quiet for a cut; by feel
_BLOCK_SAMPLES = 1 << 18


@dataclass(frozen=True)
class Recording:
    """The static cepstra of a recording, and how loud it is at each frame.

    Attributes
    ----------
    config : how the cepstra were computed
    static : (T, n_static) float32
    powers : (T,) float32, mean square of the differences of neighbouring samples, in which a hum is weak
    """

    config: MfccConfig
    static: Singles
    powers: Singles

    @classmethod
    def of(cls, samples: Reals, config: MfccConfig) -> Recording:
        """Return the recording of samples (n_samples,) at the rate of the configuration."""
        check_samples(samples)
        starts = range(0, max(samples.size, 1), _BLOCK_SAMPLES)
        return cls.of_blocks((samples[start : start + _BLOCK_SAMPLES] for start in starts), config)

    @classmethod
    def of_blocks(cls, blocks: Iterable[Reals], config: MfccConfig) -> Recording:
        """Return the recording of blocks of samples one behind the other."""
        plan, shift = mfcc_plan(config), config.shift_samples
        rest: Reals = np.empty(0, dtype=np.float32)
        n_samples, is_silent = 0, True
        static, powers = np.empty((0, config.n_static), np.float32), np.empty(0, np.float32)

        def take(piece: Reals) -> None:
            new, n_before = static_frames(piece, plan), len(static)
            for array in (static, powers):  # they grow where they lie: lists of pieces would be copied
                array.resize((n_before + len(new), *array.shape[1:]), refcheck=False)
            static[n_before:], powers[n_before:] = new, frame_powers(piece, len(new), shift)

        for block in blocks:
            check_samples(block)
            n_samples, is_silent = n_samples + block.size, is_silent and not np.any(block)
            rest = np.concatenate([rest, block]) if rest.size else block
            starts = _whole_blocks(rest.size, config)
            for start in starts:
                take(rest[start : start + (BLOCK_FRAMES - 1) * shift + config.window_samples])
            rest = rest[len(starts) * BLOCK_FRAMES * shift :]
        take(rest)
        whole = whole_static(static, n_samples, config)
        if is_silent:
            raise FeatureError(
                "samples: expected a recording, got digital silence (all samples are 0); record it again"
            )
        return cls(config, whole, powers)

    def __len__(self) -> int:
        """Return the number T of frames."""
        return len(self.static)

    def cepstra(self, start: int, stop: int) -> Singles:
        """Return the cepstra of frames [start, stop) with their derivatives, as `features.mfcc.mfcc` does."""
        window, order = self.config.delta_window, self.config.derivatives
        first = max(start - window * order, 0)
        piece = self.static[first : stop + window * order]
        return add_derivatives(piece, window, order)[start - first : stop - first]

    def stretches(self) -> list[tuple[int, int]]:
        """Return the stretches [start, stop) into which the recording is cut where it is quietest."""
        per_s = 1000.0 / self.config.shift_ms
        uncut, shortest, longest = (round(s * per_s) for s in (UNCUT_S, *STRETCH_S))
        half = max(round(PAUSE_S * per_s / 2), 1)
        bounds = [0]
        while len(self) - bounds[-1] > uncut:
            first, last = bounds[-1] + shortest - half, bounds[-1] + longest + half
            sums = np.cumsum(self.powers[first:last], dtype=np.float64)
            around = sums[2 * half :] - sums[: -2 * half]
            bounds.append(first + half + 1 + int(around.argmin()))
        return list(zip(bounds, [*bounds[1:], len(self)], strict=True))


def _whole_blocks(n_samples: int, config: MfccConfig) -> range:
    """Return where whole blocks of frames start in some samples.

    Frames are computed in the same blocks however the samples come: their last digits depend on the block.
    """
    block = BLOCK_FRAMES * config.shift_samples
    longer = max(config.window_samples - config.shift_samples, 0)
    return range(0, n_samples - block - longer + 1, block)
