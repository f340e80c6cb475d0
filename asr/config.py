"""The whole configuration of an experiment, and how ``--set key=value`` changes it.

The configuration is a record of records: one for each stage, one for each section of a way of training. What
can be set, and to which values, follows from the types of their fields; which models an option belongs to
stands in `HOMES`.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from acoustic.emissions.aligned_frames import THESIS, HybridConfig
from acoustic.emissions.one_vs_rest import KrlsConfig
from acoustic.hmm.training import GmmConfig
from acoustic.hmm.tying import TyingConfig
from acoustic.pairs.train_forward import PairForwardConfig
from acoustic.pairs.train_pools import PoolsConfig
from acoustic.pairs.train_svm import SvmConfig
from acoustic.ways import PRESETS, WAYS, find_way, in_words, meant, promised
from asr.errors import ConfigError
from asr.systems import GmmSystem, GrammarName, HybridSystem, System
from decoder.decoder import DecoderConfig
from features.frontend import FrontEndConfig, Normalization, Projection
from features.mfcc import MfccConfig
from foundation.errors import AsrError, near, suggestion

_of_ways = (f"{way.section}.{name}" for way in WAYS.values() for name in way.values)
CHOOSABLE = tuple(dict.fromkeys(["hybrid.sigma", *_of_ways]))  # full names
if TYPE_CHECKING:
    ChosenName = str
else:
    ChosenName = Literal[CHOOSABLE]

# Who speaks: as found or guessed, one person in all, each recording by itself, the topmost folder, what the
# name of a recording begins with.
Speakers = Literal["auto", "one", "recordings", "folders", "prefix"]
_LARGEST_WEIGHT, _MOST_VALUES = 1_000_000, 1000
_LANGUAGE = re.compile(r"[a-z]{2,3}([_-][A-Za-z]{2,4})?")


def check_text(text: str) -> None:
    """Raise a ConfigError unless this is a value of the option ``text``: plain, exact, or a language."""
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

    Where the best value is the first or last of its list, values beyond it are tried, in the list's own
    steps. A single value is used as it is. Without a dev set each weight gets the listed value nearest to its
    start: 0 for the word penalty, 8 for the scale of the grammar and 0 for the silence.

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
    without_lexicon : what words are made of where the corpus brings no ``lexicon.txt``: ``letters``, each a
        sound; ``words``, each a whole with states of its own; ``auto`` takes what makes fewer errors on
        recordings that were held out, letters where words are many or have few recordings
    speakers : who speaks in a corpus: ``auto`` is what folders, tables or transcripts say, else what the
        names of the recordings show, else each recording by itself; ``one`` person, each of the
        ``recordings`` by itself, the topmost ``folders`` and the ``prefix`` of the names overrule that
    chosen_on_dev : options that are not used as they are configured but chosen on the dev set for each model,
        from the values in `acoustic.ways`; an option that is set on the command line is not chosen
    text : how transcripts are read: ``plain`` compares words without regard to case and punctuation,
        ``exact`` takes them as they stand; a language such as ``en`` is plain, with numerals spelt out in
        that language (by the package ``num2words``)
    unusable : what to do about recordings and transcripts that cannot be used: ``stop`` ends with an error
        that names them all, ``skip`` leaves them out and names them in the log, a number such as ``0.1``
        leaves them out if they are at most this share of the corpus, and otherwise ends with the error
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
    without_lexicon: Literal["auto", "letters", "words"] = "auto"
    unusable: str = "0.1"
    speakers: Speakers = "auto"
    chosen_on_dev: tuple[ChosenName, ...] = ()

    def __post_init__(self) -> None:
        wrong = [name for name in self.grammars if name not in get_args(GrammarName)]
        if wrong or not self.grammars:
            raise ConfigError(
                f"grammars: expected one or more of {', '.join(get_args(GrammarName))}; "
                f"got {', '.join(f'{w}{suggestion(w, get_args(GrammarName))}' for w in wrong) or 'none'}; "
                "change it"
            )
        check_text(self.text)
        try:
            is_share = 0 <= self.most_unusable <= 1
        except ValueError:
            is_share = False
        if not is_share:
            raise ConfigError(
                f'unusable: expected stop, skip or a share from 0 to 1, got "{self.unusable}"'
                f"{suggestion(self.unusable, ['stop', 'skip'])}; change it"
            )

    @property
    def most_unusable(self) -> float:
        """Largest share of a split that is left out because it cannot be used."""
        return float({"stop": "0", "skip": "1"}.get(self.unusable, self.unusable))

    def of_way(self, way: str) -> object:
        """Return the configuration of a way of training, or None for other packages' classifiers."""
        section = find_way(way).section
        return getattr(self, section) if section else None


def with_preset(config: ExperimentConfig, preset: str, thesis: HybridConfig = THESIS) -> ExperimentConfig:
    """Return the configuration of a preset, with a recipe's hybrid of the preset ``thesis``.

    The preset ``thesis`` is the recogniser of thesis chapter 4, which standardises features over the training
    set, stops the selection by residual and λ, chooses σ on a development set, trains on the training set
    alone, and decodes with word pairs.
    """
    if preset != "thesis":
        return config
    # A recipe that brings a σ of its own has none to choose.
    known: set[str] = {"hybrid.sigma"} if thesis.sigma != THESIS.sigma else set()
    return replace(
        config,
        front_end=replace(config.front_end, normalize="global"),
        hybrid=thesis,
        chosen_on_dev=tuple(name for name in CHOOSABLE if name not in known),
        grammars=tuple(dict.fromkeys(["word-pair", *config.grammars])),
        retrain_with_dev=False,
    )


_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def with_settings(config: ExperimentConfig, settings: Iterable[str]) -> ExperimentConfig:
    """Return the configuration changed by settings such as ``gmm.beam=300``.

    A key may be given without its section where only one section has it: ``n_channels=40`` is
    ``front_end.n_channels=40``.
    """
    for setting in settings:
        key, text = split_setting(setting)
        name = full_key(key)
        config = _changed(config, name, key, text)
        # What is set is not chosen.
        config = replace(config, chosen_on_dev=tuple(c for c in config.chosen_on_dev if c != name))
    config.front_end.front_end("lda").check()  # only now: one setting may be right with the next
    return config


def known_keys(config: object, prefix: str = "") -> dict[str, Any]:
    """Return the type of every option below a configuration by its full dotted name."""
    hints = get_type_hints(type(config))
    keys: dict[str, Any] = {}
    for option in fields(config):  # type: ignore[arg-type]
        value = getattr(config, option.name)
        if is_dataclass(value):
            keys |= known_keys(value, f"{prefix}{option.name}.")
        else:
            keys[prefix + option.name] = hints[option.name]
    return keys


def full_key(key: str) -> str:
    """Return the full name of an option given by its full name or by an unambiguous end of it."""
    keys = known_keys(ExperimentConfig())
    matches = [known for known in keys if known == key or known.endswith("." + key)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ConfigError(f"--set {key}: ambiguous, expected one of: {', '.join(matches)}; write it in full")
    last = key.rsplit(".", 1)[-1]
    alike = [known for known in keys if known.rsplit(".", 1)[-1] == last]
    if not alike:
        ends = {known.rsplit(".", 1)[-1]: known for known in keys} | {known: known for known in keys}
        alike = list(dict.fromkeys(ends[name] for name in near(key, ends, 3)))
    hint = f"did you mean {' or '.join(alike)}?" if alike else f"expected one of: {', '.join(keys)}"
    raise ConfigError(f"--set {key}: unknown option; {hint}")


def short_key(key: str) -> str:
    """Return the shortest end of an option's full name that no other option has.

    >>> short_key("gmm.mixtures"), short_key("gmm.beam")
    ('mixtures', 'gmm.beam')
    """
    parts, keys = key.split("."), known_keys(ExperimentConfig())
    ends = [".".join(parts[n:]) for n in reversed(range(len(parts)))]
    return next(e for e in ends if sum(k == e or k.endswith("." + e) for k in keys) == 1)


def is_list(key: str) -> bool:
    """Return whether the value of an option, given by its full name, is itself a list."""
    return get_origin(known_keys(ExperimentConfig())[key]) is tuple


def check_settings(settings: Iterable[str], systems: Mapping[str, System], config: ExperimentConfig) -> None:
    """Raise an error if a setting belongs to no model that is trained, and say to which it does."""
    for setting in settings:
        key = full_key(split_setting(setting)[0])
        home = home_of(key)
        if home is not None and not any(home.has(system, config) for system in systems.values()):
            raise ConfigError(
                f"--set {key}: belongs to {home.models}; got {', '.join(systems)}, which it does not change; "
                "leave it out, or train such a model"
            )


class Home(NamedTuple):
    """The models that an option belongs to: in words, and as a function that decides it for a system."""

    models: str
    has: Callable[[System, ExperimentConfig], bool]


def _is_hybrid(system: System, config: ExperimentConfig) -> bool:
    return isinstance(system, HybridSystem)


def section_of(system: System) -> str:
    """Return the section of a system's way of training, empty for others."""
    return find_way(system.way).section if isinstance(system, HybridSystem) else ""


def trained_in_words(system: System, config: ExperimentConfig) -> str:
    """Return what a system will be with a configuration, in words.

    >>> trained_in_words(HybridSystem("pools"), ExperimentConfig())[:51]
    'pairs of states share up to 100 centres a state, ch'
    """
    if isinstance(system, GmmSystem):
        return in_words({"kind": "gmm", "gaussians_a_state": system.n_components})
    found = promised(system.way, config.of_way(system.way))
    if not config.hybrid.gmm_weight:
        return in_words(found)
    return in_words({"kind": "combined", "first": found, "second": {"kind": "gmm"}})


def _is_tied(system: System, config: ExperimentConfig) -> bool:
    return _is_hybrid(system, config) and config.hybrid.units != "phone"


def _is_projected(system: System, config: ExperimentConfig) -> bool:
    if isinstance(system, GmmSystem):
        return system.projection != "none"
    return config.hybrid.input_projection != "none"


def _of_kinds(*kinds: str) -> Callable[[System, ExperimentConfig], bool]:
    """Return whether a system's emission model is of one of these kinds, as a function of the system."""
    return lambda system, config: isinstance(system, HybridSystem) and find_way(system.way).kind in kinds


def _of_section(section: str) -> Home:
    """Return the home of a section: the models whose way of training has it."""
    names = [name for name, way in WAYS.items() if way.section == section]
    in_all = [name for name in names if all(meant(name, preset) == name for preset in PRESETS)]
    said = [_listed(in_all)]
    for preset in PRESETS:
        if own := [name for name in names if name not in in_all and meant(name, preset) == name]:
            said.append(f"{_listed(own)} of the preset {preset}")
    return Home(", and ".join(filter(None, said)), lambda system, config: section_of(system) == section)


def _listed(names: Iterable[str]) -> str:
    """Return names as a person lists them.

    >>> _listed(["npd", "orols", "svm"])
    'npd, orols and svm'
    """
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


_MODELS = list(WAYS)
_PROJECTED = Home("gmm-lda, and hybrids with hybrid.input_projection=lda", _is_projected)
_OUR_OWN = Home(
    _listed(_MODELS), lambda system, config: isinstance(system, HybridSystem) and system.way in WAYS
)

# An option has the home of the longest name here that it begins with; others belong to all models.
HOMES: dict[str, Home] = {
    "front_end.context": _PROJECTED,
    "front_end.n_components": _PROJECTED,
    "tying": Home("hybrids with hybrid.units=context or cross-word", _is_tied),
    "hybrid": Home("hybrids: " + _listed([*_MODELS, "sklearn:module.Class", "plugins"]), _is_hybrid),
    "hybrid.prior_scale": Home(
        _listed([*_MODELS, "sklearn:module.Class"]), _of_kinds("pairwise", "one-vs-rest", "sklearn")
    ),
    "hybrid.sigma": _OUR_OWN,
    "hybrid.calibration": _OUR_OWN,
    "hybrid.coupling": Home(
        _listed(name for name, way in WAYS.items() if way.kind == "pairwise"), _of_kinds("pairwise")
    ),
    **{way.section: _of_section(way.section) for way in WAYS.values()},
    "chosen_on_dev": _OUR_OWN,
}


def home_of(key: str) -> Home | None:
    """Return the home of an option, None if it belongs to all models."""
    parts = key.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((HOMES[name] for name in names if name in HOMES), None)


def split_setting(setting: str) -> tuple[str, str]:
    """Return key and value of a setting as they are written."""
    key, separator, text = setting.partition("=")
    if not separator:
        raise ConfigError(f'--set "{setting}": no "=", expected key=value, for example gmm.beam=300')
    return key.strip(), text.strip()


def _changed(config: Any, path: str, key: str, text: str) -> Any:
    """Return a configuration with the option at a dotted path set to what a text says."""
    name, _, rest = path.partition(".")
    if rest:
        return replace(config, **{name: _changed(getattr(config, name), rest, key, text)})
    kind = get_type_hints(type(config))[name]
    try:
        return replace(config, **{name: _parsed(text, kind)})
    except AsrError as error:
        raise ConfigError(f"--set {key}={text}: {error}") from None
    except ValueError:
        hint = suggestion(text.rpartition(",")[2].strip(), _choices(kind))
        raise ConfigError(f'--set {key}: "{text}" does not fit{hint}, expected {_described(kind)}') from None


def _parsed(text: str, kind: Any) -> Any:
    """Return a text as a value of a type; ValueError if it is none."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return (
            None
            if text.lower() == "none"
            else _parsed(text, next(a for a in arguments if a is not type(None)))
        )
    if origin is tuple:
        return tuple(_parsed(part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    if origin is Literal:
        if text not in arguments:
            raise ValueError(text)
        return text
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise ValueError(text)
        return _BOOLEANS[text.lower()]
    return kind(text)


def _choices(kind: Any) -> tuple[str, ...]:
    """Return the values that a type allows, where it lists any."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(c for part in get_args(kind) for c in _choices(part))


def _described(kind: Any) -> str:
    """Return how to say a type to a person."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("none" if a is type(None) else _described(a) for a in arguments)
    if origin is tuple:
        return f"{_described(arguments[0])}, … separated by commas"
    if origin is Literal:
        return "one of: " + ", ".join(arguments)
    return {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}[kind]
