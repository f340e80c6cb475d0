"""A trained model in use: recordings in, words or alignments out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acoustic.alignment import Alignment, FitCurve, Frames, align_frames, align_with_margins
from acoustic.emissions.kinds import describe
from acoustic.hmm.graph import UtteranceGraph, utterance_graph
from acoustic.hmm.viterbi import BLOCK_FRAMES
from acoustic.model import AcousticModel, load_model
from acoustic.ways import in_words
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.formats.model_directories import (
    DECODING,
    LEXICON,
    check_belongs,
    check_shift,
    decoding_options,
    load_curves,
    model_directory,
    read_wording,
)
from asr.language.grammars import COMMANDS, read_grammar
from asr.progress import say
from asr.spotting.rejection import (
    USUAL,
    CommandRule,
    Judge,
    Keywords,
    Rejection,
    read_command_rule,
    read_keywords,
    read_rule,
)
from asr.transcribe import (
    Parts,
    ScoredSpeech,
    adapted,
    as_written,
    decode_all,
    read_recording,
    tell_of_no_speech,
    transcribe,
    transcribe_files,
)
from decoder.decoder import Decoder, Hypothesis
from decoder.errors import GrammarError, LexiconError
from decoder.lexicon import Lexicon
from decoder.stream import joined
from features.audio import audio_blocks, audio_info, read_audio
from features.errors import AudioError
from features.recording import UNCUT_S
from foundation.arrays import Singles
from foundation.errors import AsrError, did_you_mean
from foundation.files import as_path, composed
from foundation.records import check_words
from foundation.threads import single_threaded_libraries

if TYPE_CHECKING:
    from asr.corpora.utterances import Utterance
    from asr.live.stream import CommandStream, Stream, StreamConfig
    from asr.text.forms import Word, WordForms

SPOTTING = "keywords"  # in place of a grammar's name
_SHORT_TEXT = 10_000  # characters that need no look at how long the recording is
_FASTEST = 1000  # characters a second that nobody speaks, and no text has, remarks included; by feel
_UNKNOWN = 0.5  # the confidence of a word whose pronunciation nobody knows; by feel


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
    rejection : which words count as spoken; None keeps all. With a list of commands, whose rule was learned,
        this is so from the start
    keywords : words that the model finds among other sounds, once ``asr keywords`` has chosen them
    rule : which words count as spoken when that is asked for; None if neither training nor ``asr keywords``
        could learn it
    """

    name: str
    model: AcousticModel
    lexicon: Lexicon
    grammar: str
    decoder: Decoder
    first_pass: Decoder | None = None
    text: str = "plain"  # `asr.text.forms.PLAIN`; only who reads transcripts imports their forms
    spelling: Mapping[str, str] = field(default_factory=dict)
    word_curve: FitCurve | None = None
    rejection: Rejection | CommandRule | None = None
    keywords: Keywords | None = None
    rule: Rejection | CommandRule | None = None

    @classmethod
    def load(
        cls,
        directory: str | Path,
        model: str | None = None,
        grammar: str | None = None,
        *,
        with_chosen: bool = True,
    ) -> Recognizer:
        """Return the recogniser of an experiment directory, or of one model's own directory.

        Parameters
        ----------
        directory : experiment directory that ``asr train`` wrote, or one folder below its ``models``
        model : name; by default the one that was best on dev
        grammar : name; by default the last one of the recipe
        with_chosen : whether it has what ``asr keywords`` has chosen, and the rule of training
        """
        path = model_directory(as_path(directory, ExperimentError), model)
        name, config, first = decoding_options(path / DECODING, grammar)
        lexicon = Lexicon.read(path / LEXICON)
        acoustic_model = load_model(path)
        check_belongs(path)
        of_commands = read_command_rule(path) if with_chosen and name == COMMANDS else None
        if model not in (None, path.resolve().name):
            what = in_words(describe(acoustic_model.emissions))
            say(f"{model} is another name of {path.resolve().name} here: {what}")
        for options in (config, first):
            check_shift(path, options, acoustic_model.front_end.frame_shift_s)
        if name == COMMANDS:  # of which one is said, whatever its number of words
            config = replace(config, word_penalty=0.0)
        graph = read_grammar(name, path, lexicon)
        try:
            decoder = Decoder(lexicon, graph, acoustic_model.topology, config)
        except LexiconError as error:  # it is that of another model
            problem = str(error).removeprefix("lexicon: ")
            raise LexiconError(f"{path / LEXICON}: {problem}") from None
        except GrammarError as error:  # it has no word of the lexicon
            raise GrammarError(f"{path}: {error}") from None
        if acoustic_model.adaptation is not None and first is None:
            raise ExperimentError(
                f'{path / DECODING}: no "first_pass" for grammar "{name}", expected one, for the model '
                "adapts to speakers; run asr train again"
            )
        # Commands are one voice's, as a rule: other people's words would only draw the frames away from it.
        is_adapting = first is not None and name != COMMANDS
        first_pass = decoder.with_config(**asdict(first)) if first is not None and is_adapting else None
        text, spelling = read_wording(path)
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
            rejection=of_commands,
            keywords=read_keywords(path) if with_chosen else None,
            rule=of_commands or (read_rule(path) if with_chosen else None),
        )

    @property
    def one_each(self) -> bool:
        """Whether a sentence is one of a list of commands."""
        return self.grammar == COMMANDS

    def with_options(self, **changes: Any) -> Recognizer:
        """Return the same recogniser with other decoder options (`decoder.DecoderConfig`)."""
        return replace(self, decoder=self.decoder.with_config(**changes))

    def with_rejection(self) -> Recognizer:
        """Return the same recogniser, which leaves out words that were probably not spoken.

        The rule is the one that ``asr keywords`` has learned without keywords; before that, the one that
        training has learned from dev; without dev, a rough one of how well words of the training data fit.
        With a list of commands it is the one that training has learned from takes that it had left out.
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

    def sure(self, *, reject: bool | None = None, keywords: bool = False) -> Recognizer:
        """Return the same recogniser, which gives every word a confidence.

        Parameters
        ----------
        reject : whether words that were probably not spoken are left out, see `with_rejection`; None: as the
            recogniser was loaded
        keywords : only the keywords that were chosen are found, see `spotting`
        """
        if reject and keywords:
            raise ConfigError("got both reject and keywords, expected one of them; keywords reject all else")
        if keywords:
            return self.spotting()
        if reject or (reject is None and self.rejection is not None):
            return self.with_rejection()
        lenient = self.rule.lenient() if isinstance(self.rule, CommandRule) else None
        return replace(self, rejection=lenient).with_options(confidence=True)

    def transcribe(self, recording: str | Path | Singles) -> Hypothesis:
        """Return what is said in a recording, given as a path or as samples (T,) at the model's rate.

        Where nothing is spoken there are no words, and ``no_speech`` says why.
        """
        if self.one_each:
            found = self._heard_live(recording)
        else:
            with single_threaded_libraries():
                (found,) = transcribe([read_recording(recording, self.model)], [""], self.parts)
        tell_of_no_speech("samples" if isinstance(recording, np.ndarray) else recording, found)
        return found

    def transcribe_all(
        self,
        recordings: Sequence[str | Path],
        *,
        same_speaker: bool = False,
        speakers: Sequence[str] | None = None,
    ) -> list[Hypothesis | AsrError]:
        """Return for each recording its hypothesis, or the error that kept it from being decoded.

        With ``same_speaker`` all recordings are normalised together and share one adaptation, which helps
        when each is short; so have those of one speaker where ``speakers`` names that of each.
        """
        if not isinstance(recordings, Sequence) or isinstance(recordings, str | bytes):
            got = f"a {type(recordings).__name__}"
            raise ConfigError(f"recordings: expected a list of paths, got {got}; transcribe takes one")
        for recording in recordings:
            as_path(recording, AudioError)
        if self.one_each:
            return [self._heard_or_error(recording) for recording in recordings]
        named = [""] * len(recordings) if same_speaker else speakers
        return transcribe_files(recordings, self.parts, speakers=named)

    def hear_command(self, utterance: Utterance) -> Hypothesis:
        """Return the lexicon's words for an utterance of a corpus, heard as `transcribe` hears commands."""
        rate = self.model.front_end.config.mfcc.sample_rate
        samples = read_audio(utterance.audio_path, rate, utterance.start_s, utterance.end_s)
        return replace(self, spelling={})._heard_live(samples)

    def _heard_live(self, recording: str | Path | Singles) -> Hypothesis:
        """Return what a stream hears in a recording: one command a sentence, which ends where it is quiet."""
        stream, found = self.stream(), list[Hypothesis]()
        rate = self.model.front_end.config.mfcc.sample_rate
        blocks = [recording] if isinstance(recording, np.ndarray) else audio_blocks(recording, rate)
        for block in blocks:
            found += stream.accept(block).finished
        found.append(stream.finish())
        return joined(found, [0] * len(found), self.model.front_end.frame_shift_s)

    def _heard_or_error(self, recording: str | Path) -> Hypothesis | AsrError:
        try:
            return self.transcribe(recording)
        except AsrError as error:
            return error if str(recording) in str(error) else type(error)(f"{recording}: {error}")

    def stream(
        self, sample_rate: int | None = None, config: StreamConfig | None = None
    ) -> Stream | CommandStream:
        """Return a stream that recognises one speaker's speech while it is spoken.

        Parameters
        ----------
        sample_rate : samples per second of what the stream will be given; None is the model's own rate
        config : when sentences end, `StreamConfig()` by default
        """
        from asr.live.stream import CommandStream, Stream  # only who listens needs it

        return (CommandStream if self.one_each else Stream)(self.parts, sample_rate, config)

    @cached_property
    def forms(self) -> WordForms | None:
        """The forms in which transcripts may write the words; None if they are taken as they stand."""
        from asr.corpora.wording import forms_for  # only who reads transcripts needs it

        return forms_for(self.text, self.lexicon, ())

    def read(self, transcript: str, recording: str | Path | None = None) -> list[Word]:
        """Return the words of a transcript as the lexicon has them, and as they are written.

        One that is far too long for the ``recording``, if that is given, is an error before it is read.
        """
        from asr.text.forms import Word

        if not isinstance(transcript, str):
            got = f"a {type(transcript).__name__}"
            raise CorpusError(f"transcript: expected a text, got {got}; give one")
        if recording is not None and len(transcript) > _SHORT_TEXT:
            _check_length(transcript, audio_info(recording).duration_s)

        if self.forms is None:
            return [Word(word, word) for word in composed(transcript).split()]
        return self.forms.read(transcript)

    def as_written(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with the words as people write them, where there is one way to."""
        return as_written(hypothesis, self.spelling)

    def decode(self, speech: ScoredSpeech) -> list[Hypothesis]:
        """Return the lexicon's words for each recording, frames adapted if the model does that.

        All are decoded, even where `transcribe` would find no speech.
        """
        # Whether a sentence is a command is judged as it is heard live (`transcribe`), not of whole speakers.
        judged = self.parts.judge.kept if isinstance(self.rejection, Rejection) else None
        return decode_all(self.adapted(speech).scores, self.decoder, judged, speech.names)

    def adapted(self, speech: ScoredSpeech) -> ScoredSpeech:
        """Return the speech with frames adapted to its speakers, if the model does that."""
        if self.first_pass is None:
            return speech
        return adapted(speech, self.model, self.first_pass, self.lexicon)

    @cached_property
    def parts(self) -> Parts:
        """What recordings are transcribed with (`asr.transcribe`)."""
        judge = Judge(self.model, self.lexicon, self.rejection)
        return Parts(self.model, self.lexicon, self.decoder, self.first_pass, judge, self.spelling)

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
            found = read_recording(recording, self.model)
            is_short = len(found) * self.model.front_end.frame_shift_s <= UNCUT_S
            return self.model.front_end.frame_blocks(found, len(found) if is_short else BLOCK_FRAMES)

    def _graph(self, words: Sequence[str]) -> UtteranceGraph:
        check_words("words", words, CorpusError)
        spoken = self.lexicon.spoken(words)
        if words and all(ways is None for ways in spoken):
            hint = did_you_mean(self.lexicon.nearest(words[0]))
            raise CorpusError(
                f'word "{words[0]}" is not in the model\'s lexicon{hint}, nor is any other; correct the '
                f"transcript, or train with the word in {LEXICON}"
            )
        return utterance_graph(spoken, self.model.topology, self.lexicon.spoken_usage(words))


def _check_length(transcript: str, duration_s: float) -> None:
    if len(transcript) > _SHORT_TEXT + _FASTEST * duration_s:
        raise CorpusError(
            f"the transcript has {len(transcript):,} characters, expected those of a recording of "
            f"{duration_s:.1f} s; check that it belongs to the recording"
        )
