"""Models of other tools for decoding and aligning here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from acoustic.hmm.mmf import parse_mmf
from acoustic.hmm.topology import SILENCE
from acoustic.model import AcousticModel
from asr.config import GrammarName
from asr.corpora.tables import decoded
from asr.corpora.wording import PLAIN
from asr.decoding.grammars import check_grammar
from asr.errors import ConfigError
from asr.files import storage_errors
from asr.formats.htk import front_end_config, read_dictionary
from asr.model_directories import write_recognizer
from decoder.decoder import DecoderConfig
from decoder.grammars.finite_state import FiniteStateGrammar
from decoder.grammars.grammar import Grammar
from decoder.grammars.jsgf import read_jsgf
from decoder.grammars.ngram import NGram
from decoder.grammars.slf import read_slf, write_slf
from decoder.grammars.word_loop import WordLoop
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, Normalization
from foundation.errors import listed
from foundation.regular_files import content_of


def import_model(
    mmf: str | Path,
    *,
    dictionary: str | Path,
    out: str | Path,
    config: str | Path | None = None,
    grammar: str | Path | None = None,
    sample_rate: int = 16000,
    normalize: Normalization = "none",
    lm_scale: float = 1.0,
    word_penalty: float = 0.0,
) -> Path:
    """Return the directory of a model made of HTK's HMMs: ``asr decode``, ``align`` and ``export`` take it.

    Parameters
    ----------
    mmf : master macro file in text with monophone HMMs of Gaussian mixtures, on MFCC with _E, _D, _A
    dictionary : HTK's dictionary, or a lexicon with the same phones
    out : directory to write
    config : configuration of HCopy with which the features were computed; HTK's usual values by default
    grammar : ``.arpa``, ``.jsgf`` or ``.slf`` (HTK's word network); any sequence of words by default
    sample_rate : of the recordings that the models were trained on
    normalize : what was normalised over to mean 0 and variance 1 before HTK saw the features
    lm_scale, word_penalty : HVite's ``-s`` and ``-p``
    """
    model = parse_mmf(_text(mmf), str(mmf))
    front_end = front_end_config(
        model.kind,
        _text(config) if config is not None else "",
        str(config),
        sample_rate=sample_rate,
        normalize=normalize,
    )
    n_columns = model.emissions.n_features
    if front_end.mfcc.n_features != n_columns:
        raise ConfigError(
            f"{mmf}: {n_columns} columns, expected {front_end.mfcc.n_features} of {model.kind} by the "
            "configuration; give the one they were computed with as --config"
        )
    lexicon, silent = read_dictionary(_text(dictionary), str(dictionary))
    missing = sorted({SILENCE, *lexicon.phones} - set(model.topology.phones))
    if missing:
        raise ConfigError(f"{mmf}: no HMM of {listed(missing)}, expected one for each phone of {dictionary}")
    acoustic = AcousticModel(
        FrontEnd(front_end), model.topology, model.emissions, np.ones(model.topology.n_states)
    )
    name, made = _grammar(grammar, lexicon, silent)
    check_grammar(name, made, lexicon)
    frame_shift_s = front_end.mfcc.shift_ms / 1000
    options = DecoderConfig(lm_scale=lm_scale, word_penalty=word_penalty, frame_shift_s=frame_shift_s)
    out = Path(out)
    with storage_errors(out):
        write_recognizer(out, acoustic, lexicon, {name: asdict(options)}, {}, name, text=PLAIN)
        if isinstance(made, NGram):
            made.write(out / "arpa.arpa")
        elif name != "loop":
            write_slf(out / f"{name}.slf", made.compile(lexicon.words))
    return out


def _text(path: str | Path) -> str:
    """Return the text of a file of HTK, or an error of one line."""
    try:
        return decoded(content_of(path)).replace("\r\n", "\n")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}), expected a file of HTK; check the path"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8, expected a text of HTK; convert it, or write models without -B"
        ) from error


def _grammar(path: str | Path | None, lexicon: Lexicon, silent: set[str]) -> tuple[GrammarName, Grammar]:
    """Return name and content of a grammar; words that are silence say nothing in it."""
    if path is None:
        return "loop", WordLoop(lexicon.words)
    suffix = Path(path).suffix.lower()
    if suffix == ".arpa":
        return "arpa", NGram.read(path)
    if suffix not in (".slf", ".jsgf"):
        raise ConfigError(
            f'{path}: expected a grammar called .arpa, .jsgf or .slf, got "{suffix}"; rename it'
        )
    found = read_slf(path) if suffix == ".slf" else read_jsgf(path)
    arcs = [arc._replace(word=None) if arc.word in silent else arc for arc in found.arcs]
    return "slf" if suffix == ".slf" else "jsgf", FiniteStateGrammar(arcs, found.start, found.final)
