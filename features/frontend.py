"""From recordings to the frames an acoustic model sees: cepstra, normalisation, projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from features.errors import FeatureError
from features.mfcc import MfccConfig, check_config, mfcc
from features.normalization import Standardizer, normalize, normalize_groups
from features.projection import LinearProjection
from foundation.arrays import Singles
from foundation.checks import check_choices, check_lowest

Normalization = Literal["none", "utterance", "speaker", "global"]
Projection = Literal["none", "lda"]


@dataclass(frozen=True)
class FrontEndConfig:
    """How cepstra are computed, normalised and projected before a model sees them.

    Attributes
    ----------
    mfcc : how the cepstra are computed
    normalize : what mean and variance are normalised over: the recordings of each speaker (``speaker``; where
        speakers are not known, each recording counts as a speaker), each recording (``utterance``), the
        training corpus (``global``, as in the thesis), or nothing (``none``)
    normalize_variance : scale to variance one, too (``global`` always does)
    prior_frames : number of frames of the training corpus that a speaker's own statistics are smoothed with
        (``speaker``)
    projection : ``lda`` replaces cepstra and derivatives by a discriminant projection of a context window of
        static cepstra
    context : number of frames on each side of that window
    n_components : number of dimensions after the projection
    keep_cepstra : whether cepstra and derivatives are kept in columns after the projected dimensions
    """

    mfcc: MfccConfig = field(default_factory=MfccConfig)
    normalize: Normalization = "speaker"
    normalize_variance: bool = True
    prior_frames: float = 200.0
    projection: Projection = "none"
    context: int = 6
    n_components: int = 60
    keep_cepstra: bool = False

    def __post_init__(self) -> None:
        check_choices(self, FeatureError)
        check_lowest(self, {"context": 0, "n_components": 1, "prior_frames": 0}, FeatureError)

    def check(self) -> None:
        """Raise FeatureError naming the field that cannot be used together with the others."""
        check_config(self.mfcc)
        n_spliced = (2 * self.context + 1) * self.mfcc.n_static
        if self.projection != "none" and self.n_components > n_spliced:
            raise FeatureError(
                f"n_components: expected at most {n_spliced} (the columns of the context window), "
                f"got {self.n_components}; lower it or widen context"
            )


@dataclass(frozen=True)
class FrontEnd:
    """A front end with what it learned from the training corpus."""

    config: FrontEndConfig
    standardizer: Standardizer | None = None
    projection: LinearProjection | None = None

    def __post_init__(self) -> None:
        self.config.check()

    @property
    def frame_shift_s(self) -> float:
        """Seconds from one frame to the next."""
        return self.config.mfcc.shift_ms / 1000

    def cepstra(self, samples: Singles) -> Singles:
        """Return the cepstra with their derivatives (T, 39), not yet normalised; silence has none."""
        frames = mfcc(samples, self.config.mfcc)
        if not np.any(samples):
            raise FeatureError(
                "samples: expected a recording, got digital silence (all samples are 0); record it again"
            )
        return frames

    def transform(self, cepstra: Sequence[Singles], speakers: Sequence[str] | None = None) -> list[Singles]:
        """Return the model's input frames for recordings given as `cepstra`.

        Parameters
        ----------
        cepstra : one array (T, 39) for each recording
        speakers : for each recording its speaker; unknown by default

        Returns
        -------
        list of (T, D) float32
        """
        normalized = self.normalize(cepstra, speakers)
        if self.projection is None:
            return normalized
        n_static = self.config.mfcc.n_static
        projected = [self.projection.transform(f[:, :n_static]) for f in normalized]
        if not self.config.keep_cepstra:
            return projected
        return [np.column_stack(pair) for pair in zip(projected, normalized, strict=True)]

    def normalize(self, cepstra: Sequence[Singles], speakers: Sequence[str] | None = None) -> list[Singles]:
        """Return normalised cepstra, the static ones alone if a projection replaces the others."""
        if self.config.projection != "none" and not self.config.keep_cepstra:
            n_static = self.config.mfcc.n_static
            cepstra = [frames[:, :n_static] for frames in cepstra]
        variance = self.config.normalize_variance
        if self.config.normalize == "global":
            if self.standardizer is None:
                raise FeatureError(
                    "global normalisation needs training statistics, got none; fit the front end first"
                )
            return [self.standardizer.transform(frames) for frames in cepstra]
        if self.config.normalize == "speaker":
            # An unknown speaker counts as a speaker of this one recording.
            groups = [str(n) for n in range(len(cepstra))] if speakers is None else speakers
            return normalize_groups(
                cepstra,
                groups,
                variance=variance,
                prior=self.standardizer,
                prior_frames=self.config.prior_frames,
            )
        if self.config.normalize == "none":
            return [np.ascontiguousarray(frames, dtype=np.float32) for frames in cepstra]
        return [normalize(frames, variance=variance) for frames in cepstra]
