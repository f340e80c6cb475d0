"""What is exchanged with other tools: ``asr export`` and ``asr import``.

Other tools get arrays of a corpus, its transcripts, or the model itself; `asr.formats.outputs` says in which
formats. From HTK come models, to decode and align with.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.mmf import HtkModel, parse_mmf
from acoustic.hmm.topology import SILENCE
from acoustic.model import AcousticModel, log_posteriors
from asr.corpora.corpus import Corpus, Utterance, read_parts, write_corpus
from asr.corpora.layouts.sphinx import write_sphinx
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.corpora.wording import worded
from asr.errors import ConfigError, CorpusError
from asr.files import check_outside, storage_errors, write_text
from asr.formats.arrays import ARRAY_FORMATS, Items, Named
from asr.formats.htk import COMMAND, front_end_config, model_files, read_dictionary
from asr.formats.intervals import Passage
from asr.formats.model_directories import DECODING, model_directory, speakers_as_trained, write_recognizer
from asr.formats.nist import to_stm
from asr.formats.outputs import EXPORTS
from asr.formats.tables import decoded
from asr.formats.transcripts import write_transcripts
from asr.language.grammars import check_grammar, read_grammar
from asr.recognizer import Recognizer
from asr.systems import GrammarName
from asr.text.forms import PLAIN
from asr.transcribe import adapted, scored_speech
from decoder.decoder import DecoderConfig
from decoder.grammars.finite_state import FiniteStateGrammar, read_slf, write_slf
from decoder.grammars.grammar import Grammar, WordLoop
from decoder.grammars.jsgf import read_jsgf
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon
from features.audio import audio_info
from features.frontend import FrontEnd, Normalization
from foundation.errors import AsrError, listed, suggestion
from foundation.files import content_of, write_together
from foundation.threads import parallel_map

logger = logging.getLogger(__name__)

STATES = "states.txt"  # the name of each state, by its number


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes
    ----------
    path : the file (or directory) that a tool is given
    n_utterances : how many utterances are in it
    errors : why the other utterances are not
    """

    path: Path
    n_utterances: int
    errors: tuple[AsrError, ...] = ()


def export(
    experiment: str | Path,
    *,
    what: str,
    out: str | Path,
    corpus: str | Path | None = None,
    format: str | None = None,
    model: str | None = None,
    grammar: str | None = None,
) -> Exported:
    """Return what was written into a directory for another tool.

    Parameters
    ----------
    experiment : experiment directory, or one model's own
    what : ``features`` (frames as the model sees them), ``scores`` (log p(frame | state) up to a constant for
        each frame), ``posteriors`` (log P(state | frame)), ``alignments`` (the state of each frame, by the
        transcript), ``transcripts`` (in the words of the lexicon) or ``model`` (Gaussian mixtures with all
        that HTK's HVite needs, and the features of the corpus if there is one)
    out : directory to write
    corpus : the recordings, in any layout
    format : ``kaldi``, ``htk``, ``npz``, ``sphinx``, ``stm`` or ``trn``, as far as `what` has them
    model, grammar : names; that of the grammar matters for models that adapt to speakers by a first pass
    """
    formats = EXPORTS.get(what)
    if formats is None:
        hint = suggestion(what, EXPORTS)
        raise ConfigError(f'export: "{what}" is not known{hint}; expected one of: {", ".join(EXPORTS)}')
    if format is not None and format not in formats:
        hint = suggestion(format, formats)
        raise ConfigError(
            f"export: {what} as {format} is not known{hint}; expected one of: {', '.join(formats)}"
        )
    if corpus is None and what != "model":
        raise ConfigError(f"export: {what} are of recordings; expected --corpus DIR")
    if corpus is not None:
        check_outside(out, corpus)
    recognizer = Recognizer.load(experiment, model, grammar)
    if what == "model":
        files = _model(experiment, recognizer, Path(out))
        with _folder(Path(out)):
            if corpus is not None:  # of an earlier export, until this one is whole
                (Path(out) / "features.scp").unlink(missing_ok=True)
            write_together(files)
        path = Path(out) / COMMAND
    if corpus is None:
        return Exported(path, 0)
    parts = read_parts(corpus, before=speakers_as_trained(model_directory(Path(experiment), recognizer.name)))
    parts = {name: worded(part, recognizer.forms)[0] for name, part in parts.items()}
    with _folder(Path(out)):
        if what == "transcripts":
            return _transcripts(parts, recognizer, format or formats[0], Path(out))
        if what == "model":
            return replace(_arrays("features", parts, recognizer, "htk", Path(out)), path=path)
        return _arrays(what, parts, recognizer, format or formats[0], Path(out))


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make a directory that is written into; after an error, what was made and is empty goes again."""
    with storage_errors(out):
        made = [place for place in (out, *out.parents) if not place.exists()]
        out.mkdir(parents=True, exist_ok=True)
        try:
            yield
        except BaseException:
            with suppress(OSError):  # one that is not empty stays, with those above it
                for place in made:
                    place.rmdir()
            raise


def _model(experiment: str | Path, recognizer: Recognizer, out: Path) -> dict[Path, bytes]:
    """Return the files of Gaussian mixtures for HVite."""
    emissions = recognizer.model.emissions
    if not isinstance(emissions, GmmModel):
        raise ConfigError(
            f"export: model {recognizer.name} is of discriminants, expected Gaussian mixtures for HTK; "
            "choose with --model gmm, or export its scores"
        )
    grammar = read_grammar(
        recognizer.grammar, model_directory(Path(experiment), recognizer.name), recognizer.lexicon
    )
    return model_files(
        out,
        HtkModel(recognizer.model.topology, emissions, htk_kind(recognizer)),
        recognizer.lexicon,
        grammar.compile(frozenset(recognizer.lexicon.words)),
        recognizer.decoder.config,
        recognizer.model.front_end.config.mfcc,
    )


def _transcripts(parts: Mapping[str, Corpus], recognizer: Recognizer, format: str, out: Path) -> Exported:
    """Write the transcripts of a corpus; but for Sphinx's, of all splits together."""
    corpus = Corpus(tuple(u for part in parts.values() for u in part))
    if format == "sphinx":
        return Exported(write_sphinx(parts, recognizer.lexicon, out), len(corpus))
    if format == "kaldi":
        (out / "wav.scp").unlink(missing_ok=True)  # of an earlier export, until this one is whole
        known = recognizer.lexicon.restricted_to(_known(corpus, recognizer))
        Lexicon(dict(known.entries), guessed=known.guessed).write(
            out / "lexicon.txt"
        )  # without probabilities
        write_corpus(corpus, out)
        return Exported(out, len(corpus))
    path = out / f"text.{format}"
    if format == "stm":
        open_ended = {u.audio_path for u in corpus if u.end_s is None}
        duration_s = {audio: audio_info(audio).duration_s for audio in open_ended}
        rows = (
            Passage(
                u.start_s,
                duration_s[u.audio_path] if u.end_s is None else u.end_s,
                " ".join(u.words),
                u.utterance_id,
                u.speaker,
                u.audio_path.stem,
            )
            for u in corpus
        )
        write_text(path, to_stm(rows))
    else:
        write_transcripts(path, {u.utterance_id: u.words for u in corpus}, "trn")
    return Exported(path, len(corpus))


def _known(corpus: Corpus, recognizer: Recognizer) -> set[str]:
    return {word for word in corpus.vocabulary if word in recognizer.lexicon}


def _arrays(
    what: str, parts: Mapping[str, Corpus], recognizer: Recognizer, format: str, out: Path
) -> Exported:
    """Write an array for each utterance that can be used."""
    corpus = Corpus(tuple(u for part in parts.values() for u in part))
    data, unusable = usable_cepstra(corpus, recognizer.model.front_end.config)
    if not len(data.corpus):
        problems = listed([str(error) for error in unusable.values()], 1)
        raise CorpusError(f"no utterance can be used, expected at least one: {problems}; see asr validate")
    errors = list(unusable.values())
    kind = htk_kind(recognizer) if what == "features" else "USER"
    described = Named(what, kind, recognizer.model.front_end.frame_shift_s)
    items, written = _items(what, data, recognizer), []

    def good() -> Items:
        for utterance, found in items:
            if isinstance(found, AsrError):
                errors.append(found)
            else:
                written.append(utterance)
                yield utterance.utterance_id, found

    for name in (*(["wav.scp"] if format == "kaldi" else []), *([STATES] if what != "features" else [])):
        (out / name).unlink(missing_ok=True)  # of an earlier export, until this one is whole
    path = ARRAY_FORMATS[format](good(), out, described)
    if what != "features":
        names = recognizer.model.topology.state_names()
        write_text(out / STATES, "".join(f"{number}\t{name}\n" for number, name in enumerate(names)))
    if format == "kaldi":
        write_corpus(Corpus(tuple(written)), out)
    return Exported(path, len(written), tuple(errors))


def htk_kind(recognizer: Recognizer) -> str:
    """Return HTK's name for the features that a model sees."""
    config = recognizer.model.front_end.config
    if config.projection != "none":
        return "USER"
    letters = ["E"] * config.mfcc.energy + ["D", "A"][: config.mfcc.derivatives]
    return "_".join(["MFCC", *letters])


def _items(
    what: str, data: SpeechData, recognizer: Recognizer
) -> Iterator[tuple[Utterance, NDArray[Any] | AsrError]]:
    """Yield what is exported of each utterance, or why it cannot be had."""
    if what == "alignments":
        return _alignments(data, recognizer)
    speech = scored_speech(data.cepstra, data.speakers, recognizer.model)
    if recognizer.first_pass is not None:
        speech = adapted(speech, recognizer.model, recognizer.first_pass, recognizer.lexicon)
    if what == "features":
        return zip(data.corpus, speech.frames, strict=True)
    if what == "scores":
        return zip(data.corpus, speech.scores, strict=True)
    found = (log_posteriors(scores, recognizer.model) for scores in speech.scores)
    return zip(data.corpus, found, strict=True)


def _alignments(
    data: SpeechData, recognizer: Recognizer
) -> Iterator[tuple[Utterance, NDArray[Any] | AsrError]]:
    """Yield the state of each frame, (T,) int32."""
    frames = recognizer.model.front_end.transformed(data.cepstra, data.speakers)

    def one(place: int) -> tuple[Utterance, NDArray[Any] | AsrError]:
        utterance = data.corpus.utterances[place]
        try:
            if not utterance.words:
                raise CorpusError("empty transcript, expected the words spoken; write them")
            return utterance, recognizer.align_frames(frames[place], utterance.words).states
        except AsrError as error:
            return utterance, type(error)(f"{utterance.utterance_id}: {error}")

    return parallel_map(one, range(len(data.corpus)))


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
    with _folder(out):
        (out / DECODING).unlink(missing_ok=True)  # of an earlier one; it comes last, and makes a recogniser
        if isinstance(made, NGram):
            made.write(out / "arpa.arpa")
        elif name != "loop":
            write_slf(out / f"{name}.slf", made.compile(lexicon.words))
        write_recognizer(out, acoustic, lexicon, {name: asdict(options)}, {}, name, text=PLAIN)
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
