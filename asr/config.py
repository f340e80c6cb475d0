"""The whole configuration of an experiment: one part for each stage, one for each way of training."""

from __future__ import annotations

import math
import re
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

GrammarName = Literal["loop", "unigram", "bigram", "trigram", "word-pair", "arpa", "jsgf", "slf"]
ChosenName = Literal[
    "hybrid.sigma", "forward.n_centers", "forward.tol", "forward.epsilon", "svm.cost", "krls.nu"
]

_LARGEST_WEIGHT, _MOST_VALUES = 1_000_000, 1000
_LANGUAGE = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,4})?")


def check_text(text: str) -> None:
    """Raise a ConfigError if this is no way of reading transcripts."""
    if text not in ("plain", "exact") and not _LANGUAGE.fullmatch(text):
        known = "plain, exact or a language such as en, de or pt_BR"
        raise ConfigError(f'text: expected {known}, got "{text}"; change it')


@dataclass(frozen=True)
class FrontEndOptions:
    """How recordings become frames: those options of `features.MfccConfig` that differ from corpus to corpus.

    Attributes
    ----------
    sample_rate : samples a second of the audio; recordings of other rates are resampled
    window_ms : length of a frame in milliseconds
    shift_ms : distance between the starts of two frames in milliseconds
    n_channels : number of triangular filters of the mel filter bank
    low_hz : lower edge of the filter bank in Hz
    high_hz : upper edge of the filter bank in Hz; none is half the sample rate
    normalize : what the cepstra's mean and variance are normalised over: the recordings of each speaker
        (``speaker``; where speakers are not known, each recording counts as a speaker), each recording
        (``utterance``), the training corpus (``global``, as in the thesis), or nothing (``none``)
    context : number of neighbouring frames on each side that a discriminant projection (LDA) sees
    n_components : number of dimensions after a discriminant projection (LDA)
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
        """Return the front end of a model; ``context`` and ``n_components`` need a projection."""
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
    """How a decoder prunes; the weights of its scores are tuned on the dev set.

    Attributes
    ----------
    beam : paths this much worse than the best path at a frame are dropped, in nats; inf drops none
    """

    beam: float = DecoderConfig.beam

    def decoder(self, frame_shift_s: float) -> DecoderConfig:
        """Return the decoder's configuration with neutral weights."""
        return DecoderConfig(beam=self.beam, frame_shift_s=frame_shift_s)

    def __post_init__(self) -> None:
        self.decoder(0.01)  # checks the beam


@dataclass(frozen=True)
class TuningConfig:
    """Values of the decoder's weights, tried on the dev set one weight after the other until none improves.

    A single value is used as it is. Without a dev set each weight gets the listed value nearest to its start:
    0 for the word penalty, 8 for the scale of the grammar and 0 for the silence.

    Attributes
    ----------
    word_penalties : values tried for the score added for every word
    lm_scales : values tried for the factor of the grammar's log probabilities; the word loop and word pairs
        have no probabilities and hence no factor
    silence_log_probs : values tried for the score added for every optional silence or short pause
    """

    word_penalties: tuple[float, ...] = (0.0, -8.0, -16.0, -24.0, -32.0, -40.0, -50.0, -60.0, -75.0)
    lm_scales: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 18.0, 24.0)
    silence_log_probs: tuple[float, ...] = (0.0, -5.0, -10.0, -20.0)

    def __post_init__(self) -> None:
        for name in ("word_penalties", "lm_scales", "silence_log_probs"):
            values = getattr(self, name)
            if not values or not all(map(math.isfinite, values)):
                raise ConfigError(f"{name}: expected one finite number or more, got {values}; change it")
            if max(map(abs, values)) > _LARGEST_WEIGHT or len(values) > _MOST_VALUES:
                expected = f"at most {_MOST_VALUES} numbers within ±{_LARGEST_WEIGHT:,}"
                raise ConfigError(f"{name}: expected {expected}, got {str(values)[:100]}; change it")
        if min(self.lm_scales) < 0:
            raise ConfigError(f"lm_scales: expected numbers from 0 on, got {self.lm_scales}; change it")


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything beside the data that decides the outcome of an experiment.

    Attributes
    ----------
    front_end, gmm, tying, hybrid, pools, forward, svm, krls, decoder, tuning : configurations of the parts
    grammars : grammars that are evaluated, of ``loop``, ``unigram``, ``bigram``, ``trigram``,
        ``word-pair``, ``arpa``, ``jsgf`` and ``slf``; the last one is the default of ``asr decode``
    retrain_with_dev : whether the final models are trained on train and dev together, with the weights tuned
        on dev
    chosen_on_dev : options that are not used as they are configured but chosen on the dev set for each model,
        from the values in `asr.training.choice`; an option that is set on the command line is not chosen
    text : how transcripts are read: ``plain`` compares words without regard to case and punctuation,
        ``exact`` takes them as they stand; a language such as ``en`` is plain, with numerals spelt out in
        that language (by the package ``num2words``)
    unusable : what to do about recordings and transcripts that cannot be used: ``stop`` ends with an error
        that names them all, ``skip`` leaves them out and names them in the log, a number such as ``0.1``
        leaves them out if they are at most this share of a split, and otherwise ends with the error
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
    text: str = "plain"
    unusable: str = "0.1"
    chosen_on_dev: tuple[ChosenName, ...] = ()

    def __post_init__(self) -> None:
        wrong = [name for name in self.grammars if name not in get_args(GrammarName)]
        if wrong or not self.grammars:
            raise ConfigError(
                f"grammars: expected one or more of {', '.join(get_args(GrammarName))}; "
                f"got {', '.join(wrong) or 'none'}; change it"
            )
        check_text(self.text)
        try:
            is_share = 0 <= self.most_unusable <= 1
        except ValueError:
            is_share = False
        if not is_share:
            raise ConfigError(
                f'unusable: expected stop, skip or a share from 0 to 1, got "{self.unusable}"; change it'
            )

    @property
    def most_unusable(self) -> float:
        """Largest share of a split that is left out because it cannot be used."""
        return float({"stop": "0", "skip": "1"}.get(self.unusable, self.unusable))

    def of_way(self, way: str) -> object:
        """Return the configuration of a way of training, or None for other packages' classifiers."""
        return getattr(self, WAYS[way].section) if way in WAYS else None
