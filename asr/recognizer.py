"""A trained model in use: recordings in, words or alignments out."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acoustic.emissions.alignment import BLOCK_FRAMES, Frames, align_frames, align_with_margins
from acoustic.emissions.model_files import AcousticModel, load_model, save_model
from acoustic.errors import ModelError
from acoustic.hmm.alignment import Alignment
from acoustic.hmm.fit import FitCurve
from acoustic.hmm.graph import UtteranceGraph, utterance_graph
from asr.config import GrammarName
from asr.corpora.speech_data import warn_of_low_rates
from asr.corpora.wording import PLAIN, forms_for
from asr.decoding.grammars import read_grammar
from asr.decoding.judging import Judge, heard, tell_of_no_speech
from asr.decoding.keywords import REJECTION, Keywords, read_keywords
from asr.decoding.passes import Judged, ScoredSpeech, adapted, decode_all
from asr.decoding.rejection import USUAL, Rejection
from asr.decoding.stretches import speech_in_stretches
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.files import as_train_wrote, read_json, read_object, write_json
from asr.live.stream import Stream, StreamConfig, StreamParts
from asr.text.forms import Word, WordForms
from asr.training.fit import load_curves
from decoder.decoder import Decoder, DecoderConfig, Hypothesis
from decoder.lexicon import Lexicon
from features.audio import audio_blocks
from features.errors import AudioError
from features.recording import UNCUT_S, Recording
from foundation.arrays import Singles
from foundation.errors import AsrError, did_you_mean
from foundation.records import record_of
from foundation.threads import parallel_map, single_threaded_libraries

DECODING = "decoding.json"
LEXICON = "lexicon.txt"
TRAINED_ON = "trained_on.json"  # ids of the utterances
WORDING = "wording.json"  # how transcripts are read, and words written
MODELS = "models"
DEFAULT_MODEL = "default.json"
SPOTTING = "keywords"  # in place of a grammar's name
POINTS = "points"  # of a sweep, each with models of its own
_OF_ONE = (AsrError, ArithmeticError, MemoryError)  # what one recording may raise
_UNKNOWN = 0.5  # the confidence of a word whose pronunciation nobody knows


@dataclass(frozen=True)
class Recognizer:
    """An acoustic model with its lexicon, its grammar and the weights tuned for them.

    Attributes
    ----------
    name : name of the model
    model : front end, topology, emissions
    lexicon : pronunciations
    grammar : name of the grammar in use
    decoder : decoder with the tuned weights
    first_pass : decoder of the words from which the adaptation to speakers is estimated, if the model adapts
    text : how transcripts are read (`asr.config.ExperimentConfig`)
    spelling : words that are always written in one way, other than the lexicon's
    word_curve : how probable an aligned word is by how well it fits; None if the corpus did not tell
    rejection : which words count as spoken; None keeps all
    keywords : words that the model finds among other sounds, once ``asr keywords`` has chosen them
    rule : which words count as spoken when that is asked for, once ``asr keywords`` has learned it
    """

    name: str
    model: AcousticModel
    lexicon: Lexicon
    grammar: str
    decoder: Decoder
    first_pass: Decoder | None = None
    text: str = PLAIN
    spelling: Mapping[str, str] = field(default_factory=dict)
    word_curve: FitCurve | None = None
    rejection: Rejection | None = None
    keywords: Keywords | None = None
    rule: Rejection | None = None

    @classmethod
    def load(cls, directory: str | Path, model: str | None = None, grammar: str | None = None) -> Recognizer:
        """Return the recogniser of an experiment directory, or of one model's own directory.

        Parameters
        ----------
        directory : experiment directory that ``asr train`` wrote, or one folder below its ``models``
        model : name; by default the one that was best on dev
        grammar : name; by default the last one of the recipe
        """
        path = model_directory(Path(directory), model)
        name, config, first = _decoding_options(path / DECODING, grammar)
        lexicon, rule = Lexicon.read(path / LEXICON), read_keywords(path, REJECTION)
        acoustic_model = load_model(path)
        for options in (config, first):
            _check_shift(path, options, acoustic_model.front_end.frame_shift_s)
        decoder = Decoder(lexicon, read_grammar(name, path, lexicon), acoustic_model.topology, config)
        if acoustic_model.adaptation is not None and first is None:
            raise ExperimentError(
                f'{path / DECODING}: no "first_pass" for grammar "{name}", expected one, for the model '
                "adapts to speakers; run asr train again"
            )
        first_pass = None if first is None else decoder.with_config(**asdict(first))
        wording = read_object(path / WORDING)
        with as_train_wrote(path / WORDING):
            found = record_of(
                _Wording, wording | {"spelling": list(wording["spelling"].items())}, ExperimentError
            )
            text, spelling = found.text, dict(found.spelling)
        return cls(
            path.name,
            acoustic_model,
            lexicon,
            name,
            decoder,
            first_pass,
            text,
            spelling,
            load_curves(path).word,
            keywords=read_keywords(path),
            rule=None if rule is None else rule.rejection,
        )

    def with_options(self, **changes: Any) -> Recognizer:
        """Return the same recogniser with other decoder options (`decoder.DecoderConfig`)."""
        return replace(self, decoder=self.decoder.with_config(**changes))

    def with_rejection(self) -> Recognizer:
        """Return the same recogniser, which leaves out words that were probably not spoken.

        The rule is the one that ``asr keywords`` has learned without keywords; before that, a rough one of
        how well words of the training data fit.
        """
        return replace(self, rejection=self.rule or Rejection.of_curve(self.word_curve or USUAL))

    def spotting(self) -> Recognizer:
        """Return the same recogniser, which finds keywords and nothing else.

        The words and the threshold are those that ``asr keywords`` has chosen. Frames are not adapted, for
        other people may speak.
        """
        if self.keywords is None:
            raise ExperimentError(
                f"{self.name}: no keywords are chosen, expected some; run asr keywords EXP --words …"
            )
        decoder = self.keywords.decoder(self.lexicon, self.model.topology, self.decoder.config)
        return replace(
            self, grammar=SPOTTING, decoder=decoder, first_pass=None, rejection=self.keywords.rejection
        )

    def transcribe(self, recording: str | Path | Singles) -> Hypothesis:
        """Return what is said in a recording, given as a path or as samples (T,) at the model's rate.

        Where nothing is spoken there are no words, and ``no_speech`` says why.
        """
        with single_threaded_libraries():
            found = self._heard([self._recording(recording)], [""])[0]
        tell_of_no_speech("samples" if isinstance(recording, np.ndarray) else recording, found)
        return self.as_written(found)

    def transcribe_all(
        self, recordings: Sequence[str | Path], *, same_speaker: bool = False
    ) -> list[Hypothesis | AsrError]:
        """Return for each recording its hypothesis, or the error that kept it from being decoded.

        With ``same_speaker`` all recordings are normalised together and share one adaptation, which helps
        when each is short.
        """
        warn_of_low_rates(map(Path, recordings), self.model.front_end.config.mfcc.sample_rate)
        read = list(parallel_map(self._recording_or_error, list(recordings)))
        named = zip(map(str, recordings), read, strict=True)
        usable = [(name, r) for name, r in named if isinstance(r, Recording)]
        speakers = ["" if same_speaker else str(n) for n in range(len(usable))]
        decoded = iter(self._heard_or_errors(usable, speakers))
        found = [next(decoded) if isinstance(r, Recording) else r for r in read]
        for recording, hypothesis in zip(recordings, found, strict=True):
            if isinstance(hypothesis, Hypothesis):
                tell_of_no_speech(recording, hypothesis)
        return [f if isinstance(f, AsrError) else self.as_written(f) for f in found]

    def stream(self, sample_rate: int | None = None, config: StreamConfig | None = None) -> Stream:
        """Return a stream that recognises one speaker's speech while it is spoken.

        Parameters
        ----------
        sample_rate : samples per second of what the stream will be given; None is the model's own rate
        config : when sentences end, `StreamConfig()` by default
        """
        adapts = self.first_pass is not None
        parts = StreamParts(self.model, self.lexicon, self.decoder, adapts, self._judge.spoken, self._written)
        return Stream(parts, sample_rate, config)

    @cached_property
    def forms(self) -> WordForms | None:
        """The forms in which transcripts may write the words; None if they are taken as they stand."""
        return forms_for(self.text, self.lexicon, ())

    def read(self, transcript: str) -> list[Word]:
        """Return the words of a transcript as the lexicon has them, and as they are written."""
        if self.forms is None:
            return [Word(word, word) for word in unicodedata.normalize("NFC", transcript).split()]
        return self.forms.read(transcript)

    def as_written(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with the words as people write them, where there is one way to."""
        if not self.spelling:
            return hypothesis
        words = tuple(replace(w, word=self._written(w.word)) for w in hypothesis.words)
        others = tuple(map(self.as_written, hypothesis.alternatives))
        return replace(hypothesis, words=words, alternatives=others)

    def _written(self, word: str) -> str:
        """Return a word of the lexicon as people write it."""
        return self.spelling.get(word, word)

    def decode(self, speech: ScoredSpeech) -> list[Hypothesis]:
        """Return the lexicon's words for each recording, frames adapted if the model does that."""
        return self._decode(speech, None if self.rejection is None else self._judge.kept)

    def _decode(self, speech: ScoredSpeech, judged: Judged | None) -> list[Hypothesis]:
        """Return the hypothesis of each recording after it is judged."""
        return decode_all(self.adapted(speech).scores, self.decoder, judged, speech.names)

    def adapted(self, speech: ScoredSpeech) -> ScoredSpeech:
        """Return the speech with frames adapted to its speakers, if the model does that."""
        if self.first_pass is None:
            return speech
        return adapted(speech, self.model, self.first_pass, self.lexicon)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.model, self.lexicon, self.rejection)

    def _heard(self, recordings: Sequence[Recording], speakers: Sequence[str]) -> list[Hypothesis]:
        """Return the lexicon's words for each recording, none where nothing is spoken."""
        return heard(recordings, speakers, self._in_stretches)

    def _in_stretches(self, recordings: Sequence[Recording], speakers: Sequence[str]) -> list[Hypothesis]:
        """Return the lexicon's words for each recording, decoded stretch by stretch if it is long."""
        speech = speech_in_stretches(recordings, speakers, self.model)
        return speech.joined(
            self._decode(speech.scored, self._judge.spoken),
            self.model.front_end.frame_shift_s,
            self.decoder.config.n_best,
        )

    def _heard_or_errors(
        self, recordings: Sequence[tuple[str, Recording]], speakers: Sequence[str]
    ) -> list[Hypothesis | AsrError]:
        """Return the words of each named recording; one that cannot be decoded does not cost the others."""
        given = [recording for _, recording in recordings]
        try:
            return list(self._heard(given, speakers))
        except _OF_ONE:
            errors = [self._error_of(*named) for named in recordings]
            if not any(errors):
                raise
        good = [n for n, error in enumerate(errors) if error is None]
        again = iter(self._heard([given[n] for n in good], [speakers[n] for n in good]))
        return [next(again) if error is None else error for error in errors]

    def _error_of(self, name: str, recording: Recording) -> AsrError | None:
        """Return why a recording cannot be decoded by itself, None if it can."""
        try:
            self._heard([recording], [""])
        except AsrError as error:
            return type(error)(f"{name}: {error}")
        except _OF_ONE as error:
            what = f"{type(error).__name__}: {error}; expected a recording that can be scored; leave it out"
            return ModelError(f"{name}: {what}")
        return None

    def align(self, recording: str | Path | Singles, words: Sequence[str]) -> Alignment:
        """Return where each word, phone and state of a transcript lies in a recording."""
        with single_threaded_libraries():
            return self.align_frames(self.frames(recording), words)

    def align_frames(self, frames: Frames, words: Sequence[str]) -> Alignment:
        """Return the alignment of the front end's frames (T, D), or blocks of them, with a transcript.

        Words that are not in the lexicon are any sequence of phones, but one word must be in it.
        """
        return align_frames(frames, self._graph(words), self.model)

    def align_with_confidences(
        self, frames: Frames, words: Sequence[str]
    ) -> tuple[Alignment, tuple[float, ...] | None]:
        """Return the alignment of the front end's frames, as `align_frames`, and each word's confidence.

        Words of unknown pronunciation have the confidence 1/2. None: the training data were too few to tell.
        """
        if self.word_curve is None:
            return self.align_frames(frames, words), None
        alignment, fits = align_with_margins(frames, self._graph(words), self.model)
        return alignment, tuple(np.nan_to_num(self.word_curve(fits.words), nan=_UNKNOWN).tolist())

    def frames(self, recording: str | Path | Singles) -> Sequence[Singles]:
        """Return the front end's frames (T, D) of a recording, normalised by itself, in blocks.

        What is no longer than a minute is one block; those of a longer recording are computed when they are
        asked for.
        """
        with single_threaded_libraries():
            found = self._recording(recording)
            is_short = len(found) * self.model.front_end.frame_shift_s <= UNCUT_S
            return self.model.front_end.frame_blocks(found, len(found) if is_short else BLOCK_FRAMES)

    def _graph(self, words: Sequence[str]) -> UtteranceGraph:
        spoken = self.lexicon.spoken(words)
        if words and all(ways is None for ways in spoken):
            hint = did_you_mean(self.lexicon.nearest(words[0]))
            raise CorpusError(
                f'word "{words[0]}" is not in the model\'s lexicon{hint}, nor is any other; correct the '
                f"transcript, or train with the word in {LEXICON}"
            )
        return utterance_graph(spoken, self.model.topology)

    def _recording(self, recording: str | Path | Singles) -> Recording:
        config = self.model.front_end.config.mfcc
        if isinstance(recording, np.ndarray):
            return Recording.of(recording, config)
        return Recording.of_blocks(audio_blocks(recording, config.sample_rate), config)

    def _recording_or_error(self, recording: str | Path) -> Recording | AsrError:
        try:
            return self._recording(recording)
        except AsrError as error:
            return error if str(recording) in str(error) else type(error)(f"{recording}: {error}")
        except MemoryError:
            return AudioError(f"{recording}: needs more memory than there is; cut it into pieces")


def model_directory(directory: Path, model: str | None) -> Path:
    """Return where a model lies, given the experiment directory (or the model's own)."""
    if (directory / DECODING).is_file():
        own_name = directory.resolve().name
        if model not in (None, own_name):
            raise _not_one_of(directory, "model", str(model), [own_name])
        return directory
    models = sorted(p.name for p in (directory / MODELS).glob("[!.]*") if (p / DECODING).is_file())
    if not models:
        points = sorted(p.parent.as_posix() for p in (directory / POINTS).glob(f"*/{MODELS}"))
        if points:
            raise ExperimentError(
                f"{directory}: a sweep, expected one of its points; choose one: {', '.join(points)}"
            )
        if directory.is_file():
            raise ExperimentError(
                f"{directory}: a file, expected a directory that asr train has finished; give that first"
            )
        what = "no trained model in it" if directory.is_dir() else "no such directory"
        raise ExperimentError(
            f"{directory}: {what}; expected a directory that asr train has finished; "
            "check the path or run asr train"
        )
    name = model or _default_model(directory, models)
    if name not in models:
        raise _not_one_of(directory, "model", name, models)
    return directory / MODELS / name


def _default_model(directory: Path, models: Sequence[str]) -> str:
    """Return the model that was best on dev."""
    if not (directory / DEFAULT_MODEL).is_file():
        raise ExperimentError(
            f"{directory}: training has not finished, no model is the best one yet; "
            f"run asr train again, or choose with --model: {', '.join(models)}"
        )
    record = read_json(directory / DEFAULT_MODEL)
    return str(record.get("model")) if isinstance(record, dict) else ""


def _decoding_options(path: Path, grammar: str | None) -> tuple[str, DecoderConfig, DecoderConfig | None]:
    """Return the grammar's name (the default if None), its decoder options and those of the first pass."""
    record = read_object(path)
    with as_train_wrote(path):
        name = grammar or str(record["default_grammar"])
        configs, firsts = (
            {
                known: record_of(DecoderConfig, options, ExperimentError, f"{known}.")
                for known, options in dict(found).items()
            }
            for found in (record["grammars"], record.get("first_pass", {}))
        )
    if name not in configs:
        raise _not_one_of(path.parent, "grammar", name, list(configs))
    return name, configs[name], firsts.get(name)


class _Wording(NamedTuple):
    """What the file of wording holds."""

    text: str
    spelling: Sequence[tuple[str, str]]


def _check_shift(directory: Path, options: DecoderConfig | None, frame_shift_s: float) -> None:
    """Raise an error unless the decoder counts time by the frames that the front end makes."""
    if options is not None and abs(options.frame_shift_s - frame_shift_s) > 1e-3 * frame_shift_s:
        raise ExperimentError(
            f"{directory / DECODING}: frame_shift_s is {options.frame_shift_s:g}, expected the "
            f"{frame_shift_s:g} s of the front end; train again or restore the file"
        )


def _not_one_of(directory: Path, what: str, name: str, known: Sequence[str]) -> ConfigError:
    hint = did_you_mean(difflib.get_close_matches(name, known, n=1))
    return ConfigError(f'{directory}: no {what} "{name}"{hint}; expected one of: {", ".join(known)}')


def write_recognizer(
    directory: Path,
    model: AcousticModel,
    lexicon: Lexicon,
    grammars: Mapping[GrammarName, Mapping[str, Any]],
    first_pass: Mapping[GrammarName, Mapping[str, Any]],
    default: str,
    *,
    text: str = PLAIN,
    spelling: Mapping[str, str] | None = None,
) -> None:
    """Write a model's own directory; the grammars' files are the caller's.

    Parameters
    ----------
    directory : directory to write, made if it does not exist
    model, lexicon : what is written
    grammars : decoder options of each grammar
    first_pass : decoder options of each grammar in the first pass; empty for a model that does not adapt
    default : name of the default grammar
    text, spelling : those of `Recognizer`
    """
    save_model(model, directory)
    lexicon.write(directory / LEXICON)
    write_json(directory / WORDING, {"text": text, "spelling": spelling or {}})
    write_json(
        directory / DECODING, {"default_grammar": default, "grammars": grammars, "first_pass": first_pass}
    )
