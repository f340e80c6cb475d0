"""The whole configuration of an experiment: one part for each stage, one for each way of training."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from acoustic.emissions.hybrid import WAYS, HybridConfig
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from asr.errors import ConfigError
from decoder.decoder import DecoderConfig
from features.frontend import FrontEndConfig, Normalization, Projection
from features.mfcc import MfccConfig

GrammarName = Literal["loop", "unigram", "bigram", "trigram", "word-pair", "arpa"]


@dataclass(frozen=True)
class FrontEndOptions:
    """From recordings to frames; more is in `features.MfccConfig`, of which these are what corpora differ in.

    Attributes
    ----------
    sample_rate : samples a second; recordings of other rates are brought to it
    window_ms, shift_ms : length of a frame and distance between two frames
    n_channels : mel triangles
    low_hz, high_hz : edges of the filter bank; none is half the sample rate
    normalize : mean and variance over each speaker's recordings (``speaker``; each recording is a speaker of
        its own where they are not known), each recording (``utterance``), the training corpus (``global``,
        the thesis), or not at all (``none``)
    context : frames on each side of the window that a discriminant projection sees
    n_components : dimensions after that projection
    """

    sample_rate: int = 16000
    window_ms: float = 25.0
    shift_ms: float = 10.0
    n_channels: int = 26
    low_hz: float = MfccConfig.low_hz
    high_hz: float | None = None
    normalize: Normalization = "speaker"
    context: int = 6
    n_components: int = 60

    def front_end(self, projection: Projection = "none", *, keep_cepstra: bool = False) -> FrontEndConfig:
        """Return the front end of a model; what only a projection uses does not change one that has none."""
        mfcc = MfccConfig(
            sample_rate=self.sample_rate,
            window_ms=self.window_ms,
            shift_ms=self.shift_ms,
            n_channels=self.n_channels,
            low_hz=self.low_hz,
            high_hz=self.high_hz,
        )
        if projection == "none":
            return FrontEndConfig(mfcc, self.normalize, keep_cepstra=keep_cepstra)
        return FrontEndConfig(
            mfcc,
            self.normalize,
            projection=projection,
            context=self.context,
            n_components=self.n_components,
            keep_cepstra=keep_cepstra,
        )


@dataclass(frozen=True)
class DecoderOptions:
    """How a decoder prunes; its weights are tuned.

    Attributes
    ----------
    beam : paths this much worse than the best one of a frame are given up, in nats; inf = none
    """

    beam: float = DecoderConfig.beam

    def decoder(self, frame_shift_s: float) -> DecoderConfig:
        """Return the decoder's configuration, its weights neutral."""
        return DecoderConfig(beam=self.beam, frame_shift_s=frame_shift_s)

    def __post_init__(self) -> None:
        self.decoder(0.01)  # checks the beam


@dataclass(frozen=True)
class TuningConfig:
    """What is tried on the dev set, one thing after the other, until nothing gets better.

    One value alone is taken as it is. Without a dev set it is the value next to 0, 8 and 0.

    Attributes
    ----------
    word_penalties : values tried; added for every word
    lm_scales : values tried; factors of the grammar's log probabilities. The loop and word pairs have none
    silence_log_probs : values tried; added for every optional silence or short pause
    """

    word_penalties: tuple[float, ...] = (0.0, -8.0, -16.0, -24.0, -32.0, -40.0, -50.0, -60.0, -75.0)
    lm_scales: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 18.0, 24.0)
    silence_log_probs: tuple[float, ...] = (0.0, -5.0, -10.0, -20.0)

    def __post_init__(self) -> None:
        for name in ("word_penalties", "lm_scales", "silence_log_probs"):
            values = getattr(self, name)
            if not values or not all(map(math.isfinite, values)):
                raise ConfigError(f"{name}: expected one finite number or more, got {values}; change it")
        if min(self.lm_scales) < 0:
            raise ConfigError(f"lm_scales: expected numbers from 0 on, got {self.lm_scales}; change it")


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything that decides the outcome of an experiment, beside the data.

    Attributes
    ----------
    front_end, gmm, tying, hybrid, pools, forward, svm, krls, decoder, tuning : configurations of the parts
    grammars : what is evaluated; the last one is the default of ``asr decode``
    retrain_with_dev : train the final models on train and dev together, with what was tuned on dev
    unusable : what happens to recordings and transcripts that cannot be used: ``stop`` names them all,
        ``skip`` leaves them out and names them in the log
    """

    front_end: FrontEndOptions = field(default_factory=FrontEndOptions)
    gmm: GmmConfig = field(default_factory=GmmConfig)
    tying: TyingConfig = field(default_factory=TyingConfig)
    hybrid: HybridConfig = field(default_factory=HybridConfig)
    pools: PoolsConfig = field(default_factory=PoolsConfig)
    forward: PairForwardConfig = field(default_factory=PairForwardConfig)
    svm: SvmConfig = field(default_factory=SvmConfig)
    krls: KrlsConfig = field(default_factory=KrlsConfig)
    decoder: DecoderOptions = field(default_factory=DecoderOptions)
    tuning: TuningConfig = field(default_factory=TuningConfig)
    grammars: tuple[GrammarName, ...] = ("loop",)
    retrain_with_dev: bool = True
    unusable: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        wrong = [name for name in self.grammars if name not in get_args(GrammarName)]
        if wrong or not self.grammars:
            raise ConfigError(
                f"grammars: expected one or more of {', '.join(get_args(GrammarName))}; "
                f"got {', '.join(wrong) or 'none'}; change it"
            )
        if self.unusable not in ("stop", "skip"):
            raise ConfigError(f'unusable: expected stop or skip, got "{self.unusable}"; change it')

    def of_way(self, way: str) -> object:
        """Return the configuration of a way of training; None for classifiers of others."""
        return getattr(self, WAYS[way].section) if way in WAYS else None
