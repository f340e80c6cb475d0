"""From recordings to the frames an acoustic model sees: cepstra, normalisation, projection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from features.errors import FeatureError
from features.mfcc import MfccConfig, check_config, mfcc
from features.normalization import Scale, Standardizer, group_scales
from features.projection import LinearProjection
from features.recording import Recording
from foundation.arrays import Singles
from foundation.records import check_choices, check_highest, check_lowest
from foundation.sequences import Computed

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
        check_highest(self, {"context": 1000, "n_components": 10_000, "prior_frames": 1e12}, FeatureError)

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

    def check(self) -> None:
        """Raise FeatureError unless what was learned fits the configuration."""
        config = self.config
        if (config.projection == "none") != (self.projection is None):
            raise FeatureError(
                f'projection is "{config.projection}", expected its matrix with it, and none without; '
                "train again"
            )
        if config.normalize == "global" and self.standardizer is None:
            raise FeatureError("standardizer: expected one for global normalisation, got none; train again")
        if self.standardizer is not None:
            self.standardizer.check(self.n_normalized)
        if self.projection is not None:
            self.projection.check(config.mfcc.n_static)

    def then(self, projection: LinearProjection) -> FrontEnd:
        """Return the front end whose frames are projected once more, without their neighbours."""
        whole = projection if self.projection is None else self.projection.then(projection)
        return replace(self, projection=whole)

    @property
    def n_normalized(self) -> int:
        """Number of columns that are normalised."""
        is_static = self.config.projection != "none" and not self.config.keep_cepstra
        return self.config.mfcc.n_static if is_static else self.config.mfcc.n_features

    @property
    def n_columns(self) -> int:
        """Number D of columns of the model's input frames."""
        if self.projection is None:
            return self.n_normalized
        return self.projection.n_components + (self.n_normalized if self.config.keep_cepstra else 0)

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
        return list(self.transformed(cepstra, speakers))

    def transformed(
        self, cepstra: Sequence[Singles], speakers: Sequence[str] | None = None
    ) -> Computed[Singles]:
        """Return what `transform` does; only statistics are computed now, frames whenever they are needed."""
        return self.normalized(cepstra, speakers).map(self._projected)

    def normalized(
        self, cepstra: Sequence[Singles], speakers: Sequence[str] | None = None
    ) -> Computed[Singles]:
        """Return normalised cepstra, the static ones alone if a projection replaces the others."""
        groups = self.groups(len(cepstra), speakers)
        if len(groups) != len(cepstra):
            raise FeatureError(
                f"speakers: expected one for each of {len(cepstra)} recordings, got {len(groups)}; "
                "pass as many of both"
            )
        scales = self.scales(zip(groups, cepstra, strict=True))
        return Computed(lambda n: self._normalized(cepstra[n], scales[groups[n]]), len(groups))

    def groups(self, n_recordings: int, speakers: Sequence[str] | None = None) -> list[str]:
        """Return for each recording the name of the group it is normalised with."""
        if self.config.normalize == "speaker" and speakers is not None:
            return list(speakers)
        # An unknown speaker counts as a speaker of this one recording.
        return [str(n) for n in range(n_recordings)]

    def scales(self, pieces: Iterable[tuple[str, Singles]]) -> dict[str, Scale | None]:
        """Return how each group is normalised, from pieces (T, 39) of its `cepstra`; None for not at all."""
        config = self.config
        if config.normalize in ("none", "global"):
            known = self._global_scale() if config.normalize == "global" else None
            return {group: known for group, _ in pieces}
        prior = self.standardizer if config.normalize == "speaker" else None
        used = ((group, self.used(frames)) for group, frames in pieces)
        found = group_scales(
            used, variance=config.normalize_variance, prior=prior, prior_frames=config.prior_frames
        )
        return dict(found)

    def frames(self, recording: Recording, scale: Scale | None, start: int, stop: int) -> Singles:
        """Return the model's input frames [start, stop) of a recording, (stop − start, D) float32."""
        margin = 0 if self.projection is None else self.projection.context
        first = max(start - margin, 0)
        cepstra = recording.cepstra(first, min(stop + margin, len(recording)))
        return self._projected(self._normalized(cepstra, scale))[start - first : stop - first]

    def frame_blocks(self, recording: Recording, n_frames: int) -> Computed[Singles]:
        """Return the model's input frames of a recording, normalised by itself, so many in a block.

        A block is computed when it is asked for. What fits in one has the frames that `transform` gives.
        """
        bounds = [
            (start, min(start + n_frames, len(recording))) for start in range(0, len(recording), n_frames)
        ]
        scale = self.scales(("", recording.cepstra(*piece)) for piece in bounds).get("")
        return Computed(lambda n: self.frames(recording, scale, *bounds[n]), len(bounds))

    def used(self, cepstra: Singles) -> Singles:
        """Return the columns of `cepstra` (T, 39) that are normalised."""
        return cepstra[:, : self.n_normalized]

    def _normalized(self, cepstra: Singles, scale: Scale | None) -> Singles:
        used = self.used(cepstra)
        return np.ascontiguousarray(used, dtype=np.float32) if scale is None else scale.apply(used)

    def _projected(self, normalized: Singles) -> Singles:
        if self.projection is None:
            return normalized
        projected = self.projection.transform(normalized[:, : self.config.mfcc.n_static])
        return np.column_stack([projected, normalized]) if self.config.keep_cepstra else projected

    def _global_scale(self) -> Scale:
        if self.standardizer is None:
            raise FeatureError(
                "global normalisation needs training statistics, got none; fit the front end first"
            )
        return Scale(self.standardizer.mean_, self.standardizer.scale_)
