"""``asr listen``: words while one speaks, from a microphone, a pipe or a file."""

from __future__ import annotations

import queue
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from asr.errors import ConfigError
from asr.live.stream import Partial
from asr.recognizer import Recognizer
from decoder.decoder import Hypothesis, HypothesisWord
from decoder.stream import PartialWord
from features.audio import audio_blocks, audio_info
from foundation.arrays import Singles
from foundation.version import how_to_install

MICROPHONE, PIPE = "microphone", "-"
BLOCK_S = 0.1  # by feel
MOST_BLOCKS = 600  # of a microphone that wait while the recogniser is busy: a minute; by feel


@dataclass(frozen=True)
class Update:
    """The words heard so far.

    Attributes
    ----------
    kind : ``partial`` words may still change, ``final`` ones do not; ``rejected`` ones count as not spoken
    words : of the sentence, at seconds from the beginning
    heard_s : seconds of sound so far
    """

    kind: Literal["partial", "final", "rejected"]
    words: tuple[HypothesisWord, ...] | tuple[PartialWord, ...]
    heard_s: float


def listen(
    experiment: str | Path,
    *,
    source: str | Path = MICROPHONE,
    sample_rate: int | None = None,
    device: str | None = None,
    model: str | None = None,
    grammar: str | None = None,
    reject: bool | None = None,
    keywords: bool = False,
) -> Iterator[Update]:
    """Yield words as they are heard: partial ones whenever they change, final ones sentence by sentence.

    A microphone is heard until the generator is interrupted (`KeyboardInterrupt`), which ends the sentence.

    Parameters
    ----------
    experiment : directory that ``asr train`` wrote
    source : ``microphone``, ``-`` for samples of 16 bits (little endian, one channel) on the standard input,
        or a recording
    sample_rate : of samples on the standard input; the model's by default
    device : number or name of the microphone; the system's own by default
    model, grammar : names; the experiment's own by default
    reject : whether words that were probably not spoken are left out; None: as by default, where the model
        has a list of commands
    keywords : find the keywords that `asr.keywords` has chosen, and nothing else
    """
    recognizer = Recognizer.load(experiment, model, grammar).sure(reject=reject, keywords=keywords)
    own_rate = recognizer.model.front_end.config.mfcc.sample_rate
    if source == MICROPHONE:
        rate, blocks = sample_rate or own_rate, microphone(sample_rate or own_rate, device)
    elif source == PIPE:
        rate, blocks = sample_rate or own_rate, piped(sys.stdin.buffer, sample_rate or own_rate)
    else:
        rate, blocks = audio_info(source).sample_rate, recorded(Path(source))
    return _updates(recognizer, rate, blocks)


def _updates(recognizer: Recognizer, sample_rate: int, blocks: Iterator[Singles]) -> Iterator[Update]:
    stream = recognizer.stream(sample_rate)
    shown: list[str] = []
    heard_s = 0.0
    try:
        for block in blocks:
            partial = stream.accept(block)
            heard_s = partial.heard_s
            yield from (_ended(found, heard_s) for found in partial.finished)
            if (words := _texts(partial)) != shown:
                shown = words
                yield Update("partial", partial.words, heard_s)
    except KeyboardInterrupt:
        pass
    rest = stream.finish()
    if rest.words or rest.rejected:
        yield _ended(rest, heard_s)


def _ended(found: Hypothesis, heard_s: float) -> Update:
    """Return a sentence that has ended; one of which no word was spoken is rejected as a whole."""
    if found.words:
        return Update("final", found.words, heard_s)
    return Update("rejected", found.rejected, heard_s)


def _texts(partial: Partial) -> list[str]:
    return [word.word for word in partial.words]


def recorded(path: Path) -> Iterator[Singles]:
    """Yield the samples of a recording, a tenth of a second at a time."""
    step = max(round(BLOCK_S * audio_info(path).sample_rate), 1)
    for block in audio_blocks(path, None):
        for start in range(0, block.size, step):
            yield block[start : start + step]


def piped(file: BinaryIO, sample_rate: int) -> Iterator[Singles]:
    """Yield samples of 16 bits, little endian, as they come; half a sample at the end is left out."""
    n_bytes = 2 * max(round(BLOCK_S * sample_rate), 1)
    rest = b""
    read = getattr(file, "read1", file.read)
    while new := read(n_bytes):
        data = rest + new
        whole = len(data) - len(data) % 2
        rest = data[whole:]
        if whole:
            yield np.frombuffer(data[:whole], "<i2").astype(np.float32) / np.float32(32768)


def microphone(sample_rate: int, device: str | None = None) -> Iterator[Singles]:
    """Yield what a microphone hears; `ConfigError` if there is none, or if the recogniser is too slow."""
    sounddevice = _sounddevice()
    blocks: queue.Queue[Singles] = queue.Queue()

    def take(samples: Any, n_frames: int, time: Any, status: Any) -> None:
        blocks.put(samples[:, 0].copy())

    chosen = int(device) if device is not None and device.isdecimal() else device
    try:
        opened = sounddevice.InputStream(
            samplerate=sample_rate,
            blocksize=round(BLOCK_S * sample_rate),
            device=chosen,
            channels=1,
            dtype="float32",
            callback=take,
        )
    except (sounddevice.PortAudioError, ValueError) as error:
        raise ConfigError(
            f"microphone: {error}; expected one that records at {sample_rate} Hz; plug it in, choose another "
            "--device, or give --input FILE"
        ) from None
    with opened:
        while True:
            if blocks.qsize() > MOST_BLOCKS:
                raise ConfigError(
                    "the recogniser is a minute behind the microphone, expected it to keep up; "
                    "take a smaller --model"
                )
            yield blocks.get()


def _sounddevice() -> Any:
    """Return the module of the extra ``listen``."""
    if find_spec("sounddevice") is None:
        raise ConfigError(
            f"listen: needs sounddevice, not installed; run: {how_to_install('listen')}, or give "
            "--input FILE, or --input - for samples on the standard input"
        )
    try:
        return import_module("sounddevice")
    except OSError as error:
        raise ConfigError(
            f"listen: {error}; expected the PortAudio library; install it (Debian: libportaudio2), or give "
            "--input FILE"
        ) from None
