"""What HTK's programs need beside the models: dictionary, word network, list of models, configuration.

Silences stand at the end of pronunciations, so that HVite may hear one after each word, or none, and before
the first: the sentences are those of our own search, but that it may hear several silences in a row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from acoustic.hmm.mmf import HtkModel, format_mmf
from acoustic.hmm.topology import SILENCES, Topology
from asr.errors import ConfigError, ExperimentError
from decoder.decoder import DecoderConfig
from decoder.grammars.finite_state import format_slf
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START, GrammarTables
from decoder.lexicon import Lexicon
from features.frontend import FrontEndConfig, Normalization
from features.mfcc import MfccConfig

HMMS, LIST, DICTIONARY, NETWORK = "hmmdefs", "hmmlist", "dict", "wdnet"
CONFIG, EXTRACTION, COMMAND = "config", "hcopy.cfg", "command.txt"
_UNITS_PER_MS = 10_000  # HTK's times are in 100 ns
_PLAIN = re.compile(r"""[^\s"'\\\[\]\d.+-][^\s"'\\\[\]]*""")
_STRING = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|(\[[^\[\]]*\])|(\S+)""")
_PROBABILITY = re.compile(r"(?:\d+|\d*\.\d+)(?:[eE][-+]?\d+)?")


def model_files(
    out: Path,
    model: HtkModel,
    lexicon: Lexicon,
    tables: GrammarTables,
    decoder: DecoderConfig,
    mfcc: MfccConfig,
) -> dict[Path, bytes]:
    """Return the files that HVite needs, with the command that decodes as `COMMAND`."""
    topology = model.topology
    if topology.crosses_words:
        raise ExperimentError(
            "contexts reach across words, expected monophones or contexts within words for HTK; export gmm"
        )
    used = {tables.words[w] for w in tables.arc_words.tolist()}
    settings = [f"TARGETKIND = {model.kind}", *(f"{name} = F" for name in _NO_CONTEXTS)]
    texts = {
        COMMAND: f"HVite -C {CONFIG} -H {HMMS} -S features.scp -i words.mlf -w {NETWORK} "
        f"-s {decoder.lm_scale!r} -p {decoder.word_penalty!r} {DICTIONARY} {LIST}\n",
        HMMS: format_mmf(model),
        LIST: "".join(f"{phone}\n" for phone in topology.phones),
        DICTIONARY: "".join(_dictionary(lexicon.restricted_to(used), topology)),
        NETWORK: format_slf(tables, (SENTENCE_START, SENTENCE_END)),
        CONFIG: "".join(f"{line}\n" for line in settings),
    }
    if model.kind != "USER":
        texts[EXTRACTION] = "".join(_extraction(model.kind, mfcc))
    return {out / name: text.encode() for name, text in texts.items()}


_NO_CONTEXTS = ("FORCECXTEXP", "ALLOWXWRDEXP", "ALLOWCXTEXP")  # the dictionary names the models as they are


def _dictionary(lexicon: Lexicon, topology: Topology) -> Iterator[str]:
    """Yield a line for each pronunciation without a silence behind it and with each one."""
    endings = ["", *(f" {phone}" for phone in SILENCES if phone in topology)]
    yield from (f"{SENTENCE_START} []{ending}\n" for ending in endings)
    yield f"{SENTENCE_END} []\n"
    for word in lexicon:
        for variant in dict.fromkeys(lexicon.pronunciations(word)):
            phones = " ".join(topology.units(variant))
            yield from (f"{_quoted(word)} [{_quoted(word)}] {phones}{ending}\n" for ending in endings)


def _quoted(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else '"' + re.sub(r'["\\]', r"\\\g<0>", word) + '"'


def _extraction(kind: str, mfcc: MfccConfig) -> Iterator[str]:
    """Yield the lines of HCopy's configuration for cepstra as they are before they are normalised."""
    values = {
        "SOURCEFORMAT": "WAV",
        "TARGETKIND": kind,
        "TARGETRATE": f"{mfcc.shift_ms * _UNITS_PER_MS:.1f}",
        "WINDOWSIZE": f"{mfcc.window_ms * _UNITS_PER_MS:.1f}",
        "USEHAMMING": "T",
        "PREEMCOEF": mfcc.preemphasis,
        "NUMCHANS": mfcc.n_channels,
        "NUMCEPS": mfcc.n_cepstra,
        "CEPLIFTER": mfcc.lifter,
        "LOFREQ": mfcc.low_hz if mfcc.low_hz else -1.0,
        "HIFREQ": -1.0 if mfcc.high_hz is None else mfcc.high_hz,
        "DELTAWINDOW": mfcc.delta_window,
        "ACCWINDOW": mfcc.delta_window,
        "ENORMALISE": "T" if mfcc.energy_normalize else "F",
        "USEPOWER": "F",
        "SAVEWITHCRC": "F",
    }
    return (f"{name} = {value}\n" for name, value in values.items())


def read_dictionary(text: str, name: str) -> tuple[Lexicon, set[str]]:
    """Return the words of a dictionary of HTK, and the words that are nothing but silence.

    Silences at the end of pronunciations are left out; white space within words becomes ``_``. What a word is
    written as (``[OUT]``) and probabilities of pronunciations are passed over.
    """
    silent: set[str] = set()
    entries: dict[str, list[tuple[str, ...]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        fields = [_unquoted(match) for match in _STRING.finditer(line)]
        if not fields:
            continue
        word, *phones = fields
        word = "_".join(word.split())
        if phones and phones[0].startswith("["):
            phones = phones[1:]
        if phones and _PROBABILITY.fullmatch(phones[0]) and len(phones) > 1:
            phones = phones[1:]
        while phones and phones[-1] in SILENCES:
            phones = phones[:-1]
        if any(phone in SILENCES for phone in phones):
            raise ConfigError(f'{name}:{number}: silence within "{word}", expected it at the end; correct it')
        if phones:
            entries.setdefault(word, []).append(tuple(phones))
        else:
            silent.add(word)
    if not entries:
        raise ConfigError(f'{name}: no words, expected lines "WORD [OUT] PH PH …"; check the path')
    lexicon = Lexicon({word: tuple(dict.fromkeys(variants)) for word, variants in entries.items()})
    return lexicon, silent - entries.keys()


def _unquoted(match: re.Match[str]) -> str:
    double, single, brackets, bare = match.groups()
    found = next(part for part in (double, single, brackets, bare) if part is not None)
    return re.sub(r"\\(.)", r"\1", found)


_MOST = 1e12  # of any number in a configuration; by feel
_CONFIG_LINE = re.compile(r'\s*(?:[A-Z0-9]+:\s*)?([A-Za-z0-9]+)\s*=\s*"?([^"#\s]+)"?\s*(?:#.*)?')


def front_end_config(
    kind: str, config_text: str = "", name: str = "config", *, sample_rate: int = 16000,
    normalize: Normalization = "none",
) -> FrontEndConfig:  # fmt: skip
    """Return the front end that computes features of a kind as HCopy does with a configuration."""
    base, *letters = kind.split("_")
    if base != "MFCC" or not set(letters) <= set("EDA") or ("A" in letters and "D" not in letters):
        raise ConfigError(
            f"models of {kind or 'features of no kind'}, expected MFCC with _E, _D and _A alone; train "
            "them anew on such features"
        )
    values = dict(_settings(config_text.split("\n"), name))

    def number(key: str, default: float) -> float:
        try:
            found = float(values.get(key, default))
        except ValueError:
            found = math.nan
        if not abs(found) < _MOST:
            raise ConfigError(f"{name}: {key} = {values[key][:40]}, expected a number; correct it")
        return found

    def frequency(key: str) -> float | None:
        value = number(key, -1.0)
        return None if value < 0 else value

    unsupported = {"USEPOWER": "F", "USEHAMMING": "T", "ZMEANSOURCE": "F"}
    for key, wanted in unsupported.items():
        if values.get(key, wanted)[:1].upper() != wanted:
            raise ConfigError(f"{name}: {key} = {values[key]}, expected {wanted}; train with that")
    mfcc = MfccConfig(
        sample_rate=sample_rate,
        window_ms=number("WINDOWSIZE", 250_000) / _UNITS_PER_MS,
        shift_ms=number("TARGETRATE", 100_000) / _UNITS_PER_MS,
        n_channels=int(number("NUMCHANS", 20)),
        n_cepstra=int(number("NUMCEPS", 12)),
        lifter=int(number("CEPLIFTER", 22)),
        preemphasis=number("PREEMCOEF", 0.97),
        low_hz=frequency("LOFREQ") or 0.0,
        high_hz=frequency("HIFREQ"),
        delta_window=int(number("DELTAWINDOW", 2)),
        energy="E" in letters,
        energy_normalize=values.get("ENORMALISE", "T")[:1].upper() == "T",
        derivatives=len({"D", "A"}.intersection(letters)),
    )
    return FrontEndConfig(mfcc, normalize)


def _settings(lines: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _CONFIG_LINE.fullmatch(line)
        if match is None:
            raise ConfigError(
                f'{name}:{number}: expected NAME = VALUE, got "{line.strip()[:40]}"; correct it'
            )
        yield match[1].upper(), match[2]
