"""What the server answers, as JSON: these classes are also its description for programs (OpenAPI)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Annotated, Any, Self

from pydantic import BaseModel, FailFast, Field, model_validator

from asr.formats.aligned import AlignedUtterance
from asr.formats.intervals import Interval
from asr.formats.outputs import json_words
from asr.serving.state import Server
from asr.serving.takes import LONGEST_PROMPT, MOST_PROMPTS, Take, fault_of
from asr.serving.training import Progress
from decoder.decoder import Hypothesis, HypothesisWord
from decoder.lexicon import Lexicon, spelling_fault
from foundation.errors import in_a_line

Seconds = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
_EXPERIMENT = re.compile(r"\bEXP\b")  # as commands in help and messages name it
MOST_WORDS = 200  # of a model that are named; by feel
MOST_SENT = 20_000  # words that are sent to be written: hours of speech
WARNING = "why its words are less sure than they seem, if they are"
Label = Annotated[str, Field(min_length=1, max_length=200)]


class Problem(BaseModel):
    """What is wrong with a request, in one line."""

    error: str


class Word(BaseModel):
    """A word, when it is spoken, and how sure that is (null: not known)."""

    word: Label
    start_s: Seconds
    end_s: Seconds
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.end_s < self.start_s:
            raise ValueError("end_s: expected at least start_s")
        return self


class Phone(BaseModel):
    """A phone, or another unit that words are made of, and when it is spoken."""

    phone: str
    start_s: float
    end_s: float


class Transcript(BaseModel):
    """The words of a recording."""

    text: str
    words: list[Word]
    duration_s: float
    log_score: float
    complete: bool
    no_speech: str = Field("", description="why nothing is spoken in it, if that is so")
    rejected: list[Word] = Field([], description="words that count as not spoken")
    warning: str = Field("", description=WARNING)


class Aligned(BaseModel):
    """The words of a transcript and their phones in a recording."""

    words: list[Word]
    phones: list[Phone]
    duration_s: float
    warning: str = Field("", description=WARNING)


def _number(text: str) -> float:
    return float(text)


class Sentence(BaseModel):
    """Words to be written in a format."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = "recording"
    duration_s: Seconds
    words: Annotated[list[Word], Field(max_length=MOST_SENT), FailFast()]

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Return the words that JSON says; `ValueError` if it says none.

        A thread that reads JSON stops all others while it makes lists and texts, and not while it comes back
        to Python, as it does here for each object and number.
        """
        if body.count(b"[") > MOST_SENT + 100:  # words such as [noise] among them
            raise ValueError("JSON of too many lists")
        try:
            found = json.loads(
                body, object_pairs_hook=lambda p: dict(p), parse_int=_number, parse_float=_number
            )
        except RecursionError:
            raise ValueError("JSON of too many brackets") from None
        return cls.model_validate(found)

    def hypothesis(self) -> Hypothesis:
        """Return the words as the writers of formats take them."""
        words = (HypothesisWord(w.word, w.start_s, w.end_s, 0.0, w.confidence) for w in self.words)
        return Hypothesis(tuple(words), 0.0, True)


class Bounds(BaseModel):
    """How much a client may send."""

    upload_bytes: int
    audio_s: float
    streams: int
    most_prompts: int = MOST_PROMPTS
    longest_prompt: int = LONGEST_PROMPT


class Model(BaseModel):
    """What is in use."""

    ready: bool
    experiment: str
    model: str | None = None
    grammar: str | None = None
    sample_rate: int | None = None
    words: list[str] = []
    n_words: int = 0
    commands: list[str] = []  # of which a sentence is one, if there is such a list
    rejects: bool = False  # whether what was probably not spoken is left out
    has_phones: bool = False  # whether words are made of phones that somebody wrote down
    limits: Bounds


class TakeAnswer(BaseModel):
    """A take and its levels, in dB relative to full scale."""

    name: str
    prompt: str
    duration_s: float
    peak_db: float
    snr_db: float
    fault: str | None


class HeardTake(BaseModel):
    """What a model that did not know a take has heard in it, when the last training tried that."""

    id: str = Field(description="name of the take")
    said: str
    heard: str
    kept: bool = Field(description="whether it counts as a command")


class Studio(BaseModel):
    """Prompts, takes, what is lacking before a training, and how well the last one recognises takes."""

    folder: str
    prompts: list[str]
    takes: list[TakeAnswer]
    aside: list[str] = Field([], description="what lies in the folder and is no take, and why")
    lacking: list[str]
    n_lacking: int = Field(0, description="how many recordings are lacking before a training")
    least_of_each: int = Field(0, description="how many recordings of each prompt make a training possible")
    heard: list[HeardTake] = []
    is_trained: bool = Field(
        False, description="whether the last training was of just these takes and prompts"
    )


class Prompts(BaseModel):
    """Prompts in order."""

    prompts: Annotated[list[str], Field(max_length=MOST_PROMPTS)]


class TrainingAnswer(BaseModel):
    """How far a training is: status idle, running, done, failed or cancelled; share from 0 to 1."""

    status: str
    step: str
    share: float
    seconds: float
    message: str
    lines: list[str]


def transcript(found: Hypothesis, duration_s: float, warning: str = "") -> Transcript:
    """Return a recognised recording."""
    rejected = json_words(replace(found, words=found.rejected))["words"]
    own = {
        "duration_s": round(duration_s, 3),
        "no_speech": found.no_speech,
        "rejected": rejected,
        "warning": warning,
    }
    return Transcript.model_validate({**json_words(found), **own})


def aligned(found: AlignedUtterance, warning: str = "") -> Aligned:
    """Return an aligned recording."""
    words = found.tiers["words"]
    sure = found.confidences or [None] * len(words)
    return Aligned(
        words=[Word(word=i.label, confidence=c, **_times(i)) for i, c in zip(words, sure, strict=True)],
        phones=[Phone(phone=i.label, **_times(i)) for i in found.tiers["phones"]],
        duration_s=found.duration_s,
        warning=warning,
    )


def _times(interval: Interval) -> dict[str, Any]:
    return {"start_s": round(interval.start_s, 3), "end_s": round(interval.end_s, 3)}


def model(server: Server) -> Model:
    """Return what is served; of the experiment only its name, not where it lies."""
    served, most = server.served, server.limits
    limits = Bounds(upload_bytes=most.upload_bytes, audio_s=most.audio_s, streams=most.streams)
    name = in_a_line(served.experiment.absolute().name)
    if not served.is_ready:
        return Model(ready=False, experiment=name, limits=limits)
    recognizer = served.recognizer
    words = recognizer.lexicon.words
    return Model(
        ready=True,
        experiment=name,
        model=recognizer.name,
        grammar=recognizer.grammar,
        sample_rate=recognizer.model.front_end.config.mfcc.sample_rate,
        words=[recognizer.spelling.get(word, word) for word in words[:MOST_WORDS]],
        n_words=len(words),
        commands=[" ".join(recognizer.spelling.get(w, w) for w in words) for words in served.commands()],
        rejects=served.rejects,
        has_phones=has_phones(recognizer.lexicon),
        limits=limits,
    )


def has_phones(lexicon: Lexicon) -> bool:
    """Return whether pronunciations are of phones: not of letters, nor each of units of its own.

    >>> has_phones(Lexicon({"on": [("on~1", "on~2")], "off": [("off~1", "off~2")]}))
    False
    >>> has_phones(Lexicon({"7": [("S", "E")]}))  # which nobody can spell
    True
    """
    words = list(lexicon)
    is_own = all(
        unit.startswith(word) and unit.removeprefix(word).strip("~_-.0123456789") == ""
        for word in words
        for way in lexicon.pronunciations(word)
        for unit in way
    )
    return not is_own and (any(map(spelling_fault, words)) or lexicon != Lexicon.graphemic(words))


def take(found: Take) -> TakeAnswer:
    """Return a take."""
    levels = found.levels
    return TakeAnswer(
        name=found.name,
        prompt=found.prompt,
        duration_s=round(levels.duration_s, 3),
        peak_db=round(levels.peak_db, 1),
        snr_db=round(levels.snr_db, 1),
        fault=fault_of(levels),
    )


def training(progress: Progress, hidden: dict[str, str], place: str) -> TrainingAnswer:
    """Return how far a training is, paths of the machine replaced by names, and EXP by the experiment."""

    def plain(line: str) -> str:
        for path, name in hidden.items():
            line = line.replace(path, name)
        return _EXPERIMENT.sub(lambda _: place, line)

    return TrainingAnswer(
        status=progress.status,
        step=progress.step,
        share=round(progress.share, 3),
        seconds=round(progress.seconds, 1),
        message=plain(progress.message),
        lines=[plain(line) for line in progress.lines],
    )
