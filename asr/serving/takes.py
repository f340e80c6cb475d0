"""Recordings made on the page: a folder of ``name.wav`` + ``name.txt``, as ``asr train folder`` takes it.

The prompts are kept beside them in a hidden file. Names of files are made here from the prompt and a number;
what clients send is looked up among them, and never becomes a path. A take is kept if it is long enough, loud
enough, not clipped and above the noise.

A take is its text and its sound, and exists while the text does. Its text is written under a hidden name
(`coming_text`), which reserves the name of the take; then the sound appears, then the text gets its name. A
take is deleted in the reverse order. So whenever a server is killed, readers of the folder see the whole take
or none of it, and the next server finishes what is half done (`Takes.finish`). Several servers may use one
folder if its disk has locks of files; if not, what is half done is left for a minute.

What lies there and is no take, since people and other programs put it there, is left aside and named.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import soundfile
import soxr

from asr.corpora.layouts.beside import COMING, coming_text, is_transcript
from asr.corpora.layouts.recordings import is_audio
from asr.corpora.sound_faults import CLIPPED_SHARE, sound_of
from asr.corpora.utterances import Utterance, name_fault
from asr.files import file_stem, write_json
from asr.language.grammars import COMMANDS_FILE
from asr.serving.limits import BAD, CONFLICT, NOT_FOUND, UNSTORED, UNUSABLE, Refusal, told
from asr.text.forms import WordForms
from asr.text.plain import BETWEEN_WORDS, has_digit, has_sign, parts_of, plain
from decoder.lexicon import may_be_entry
from features.audio import audio_info, read_audio
from foundation.arrays import Floats, Singles
from foundation.errors import AsrError, in_a_line
from foundation.files import (
    check_regular,
    held,
    locked_file,
    put_in_place,
    sweep_partials,
    text_of,
    write_whole,
)
from foundation.records import parsed_json

PROMPTS, LEXICON = ".prompts.json", "lexicon.txt"
RATE = 16000  # at which takes are kept
LONGEST_PROMPT, LEAST_PROMPTS, MOST_PROMPTS = 60, 2, 200
_NUMBERED = re.compile(r"(.+)-(\d{1,9})")
# Files that are written here or beside takes, of which a killed server may leave an unfinished one.
_OURS = re.compile(
    rf"({re.escape(PROMPTS)}|{re.escape(COMMANDS_FILE)}|{re.escape(LEXICON)}|.+-\d{{3,}}\.(wav|txt))"
)
_EARLIER = re.compile(r"\.(.+-\d{3,})\.partial")  # sound that was not yet in place, of earlier versions
_OLD_S = 60.0  # from which on nobody writes it any more
_LARGEST_TEXT, _LARGEST_PROMPTS = 20_000, 1_000_000  # bytes that are read; by feel
_LONGEST_READ_S = 600.0  # of a recording that somebody else put there

# What a take must be to be kept, by feel.
SHORTEST_S, LONGEST_S = 0.3, 20.0
SPOKEN_S = 0.1  # of sound well above the noise
QUIETEST_DB = -40.0  # peak, relative to full scale
LEAST_SNR_DB = 6.0
FULL_SCALE = 0.985  # flat tops below it are not the microphone's
_FRAME_S = 0.02
_LEAST_POWER = 1e-10


@dataclass(frozen=True)
class Levels:
    """What is measured of a take.

    Attributes
    ----------
    duration_s : its length
    peak_db : largest sample, relative to full scale
    snr_db : level of what is spoken above that of the quiet parts
    spoken_s : how much of it is nearer to the loud parts than to the quiet ones
    clipped : share of the samples in flat tops at full scale
    """

    duration_s: float
    peak_db: float
    snr_db: float
    spoken_s: float
    clipped: float


def levels_of(samples: Singles, sample_rate: int) -> Levels:
    """Return the levels of some samples (n,)."""
    duration_s = samples.size / sample_rate
    peak = float(np.abs(samples).max()) if samples.size else 0.0
    frame = max(round(_FRAME_S * sample_rate), 1)
    n_frames = samples.size // frame
    if not n_frames or not peak:
        return Levels(duration_s, float(_decibels(peak**2)), 0.0, 0.0, 0.0)
    frames = samples[: n_frames * frame].reshape(n_frames, frame)
    powers_db = _decibels(np.var(frames, axis=1, dtype=np.float64))
    quiet, loud = np.percentile(powers_db, (10, 95))
    n_spoken = int(np.count_nonzero(powers_db > (quiet + loud) / 2))
    clipped = sound_of(samples).clipped if peak >= FULL_SCALE else 0.0
    return Levels(
        duration_s, float(_decibels(peak**2)), float(loud - quiet), n_spoken * frame / sample_rate, clipped
    )


def fault_of(levels: Levels) -> str | None:
    """Return what is wrong with a take and what to do, or nothing if it can be kept."""
    if levels.duration_s < SHORTEST_S:
        return (
            f"too short: {levels.duration_s:.2f} s, expected at least {SHORTEST_S:g} s; "
            "leave a moment of quiet around the word"
        )
    if levels.duration_s > LONGEST_S:
        return too_long(levels.duration_s)
    if levels.peak_db < QUIETEST_DB:
        return (
            f"nearly silent: peak {levels.peak_db:.0f} dB, expected at least {QUIETEST_DB:.0f} dB; "
            "check the microphone, or speak closer to it"
        )
    if levels.clipped > CLIPPED_SHARE:
        return (
            f"clipped: {100 * levels.clipped:.0f} % of the samples at full scale, expected at most "
            f"{100 * CLIPPED_SHARE:.0f} %; turn the microphone down, or move away from it"
        )
    if levels.snr_db < LEAST_SNR_DB or levels.spoken_s < SPOKEN_S:
        return (
            f"no speech above the noise: {levels.snr_db:.0f} dB, expected at least {LEAST_SNR_DB:.0f} dB; "
            "speak closer to the microphone, with a moment of quiet before and after"
        )
    return None


def too_long(duration_s: float) -> str:
    """Return what is said of a take that is too long."""
    return f"too long: {duration_s:.0f} s, expected at most {LONGEST_S:g} s; say the command alone"


def _decibels(power: Floats | float) -> Floats:
    """Return powers in decibels."""
    return np.asarray(10 * np.log10(np.maximum(power, _LEAST_POWER)))


@dataclass(frozen=True)
class Take:
    """A recording of a prompt.

    Attributes
    ----------
    name : of its files, without suffix
    prompt : what is said
    levels : how loud it is
    """

    name: str
    prompt: str
    levels: Levels


@dataclass(frozen=True)
class Contents:
    """What is in a folder of takes.

    Attributes
    ----------
    takes : in order of their names
    prompts : in order: those that were set, else all of which there are takes
    aside : what lies there and is no take, or no prompt, and why; a line each
    """

    takes: Sequence[Take]
    prompts: Sequence[str]
    aside: Sequence[str]


class Takes:
    """The takes in a folder; used by several threads.

    Parameters
    ----------
    folder : made with the first prompt or take
    most : how many takes are kept
    """

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most
        self._lock = Lock()
        self._known: dict[str, tuple[object, Take]] = {}  # by name, with what the system says of both files

    def contents(self) -> Contents:
        """Return takes, prompts, and what is left aside; files that changed are read anew."""
        with self._lock:
            takes, aside = self._found()
        chosen, wrong = self._chosen()
        return Contents(takes, chosen or list(dict.fromkeys(take.prompt for take in takes)), wrong + aside)

    def prompts(self) -> list[str]:
        """Return the prompts in order: those that were set, else all of which there are takes."""
        return list(self.contents().prompts)

    def all(self) -> list[Take]:
        """Return all takes, in order of their names."""
        return list(self.contents().takes)

    def set_prompts(self, prompts: Sequence[str]) -> None:
        """Keep a list of prompts; `Refusal` of the first that cannot be one."""
        kept = checked_prompts(prompts)
        with self._lock, stored(f"{PROMPTS} cannot be written"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / PROMPTS, kept)

    def _chosen(self) -> tuple[list[str], list[str]]:
        """Return the prompts that were set, and what is wrong with their file."""
        path = self.folder / PROMPTS
        if not os.path.lexists(path):
            return [], []
        try:
            listed = parsed_json(_bounded_text(path, _LARGEST_PROMPTS))
            if not isinstance(listed, list):
                raise ValueError(f"a {type(listed).__name__}")
        except (OSError, ValueError) as error:
            cure = "expected the list that the page writes; choose your commands again, or remove it"
            return [], [f"{PROMPTS}: {_reason(error)}, {cure}"]
        found, wrong = dict[str, None](), []
        for prompt in listed[:MOST_PROMPTS]:
            try:
                found[checked_prompt(prompt if isinstance(prompt, str) else "")] = None
            except Refusal as refusal:
                wrong.append(f"{PROMPTS}: {refusal}")
        if len(listed) > MOST_PROMPTS:
            wrong.append(f"{PROMPTS}: {len(listed)} commands, expected at most {MOST_PROMPTS}; shorten it")
        return list(found), wrong

    def _found(self) -> tuple[list[Take], list[str]]:
        """Return all takes, and what lies there besides; the lock is held."""
        try:
            names = sorted(name for name in os.listdir(self.folder) if not name.startswith("."))
        except FileNotFoundError:
            return [], []
        except OSError as error:
            return [], [f"the folder: {_reason(error)}, expected one that can be read; choose another"]
        sounds = {name.removesuffix(".wav") for name in names if name.endswith(".wav")}
        heard = {Path(name).stem for name in names if is_audio(Path(name))}  # of whatever format
        takes, aside = [], []
        for name in names:
            if name.endswith(".wav"):
                found = self._take(name.removesuffix(".wav"))
                if isinstance(found, Take):
                    takes.append(found)
                elif found:
                    aside.append(f"{in_a_line(name)}: {found}")
            elif name.endswith(".txt") and Path(name).stem not in heard and is_transcript(Path(name)):
                what = "no recording, expected one of the same name beside it; add it or remove the text"
                aside.append(f"{in_a_line(name)}: {what}")
        for gone in self._known.keys() - sounds:
            del self._known[gone]
        return takes, aside

    def _take(self, name: str) -> Take | str:
        """Return a take, or why its files are none; an empty text where one is just coming or going."""
        sound, text = self.folder / f"{name}.wav", self.folder / f"{name}.txt"
        if name_fault(Utterance("", Path(sound.name), (), "")) is not None:
            return "a name that cannot be written as text, expected letters; rename it"
        try:
            of_sound = check_regular(sound)
            if sound.is_dir():
                return "a folder, expected a recording; move it away"
        except FileNotFoundError:
            is_link = os.path.islink(sound)
            return "a link to nothing, expected a recording; remove it" if is_link else ""
        except OSError as error:
            return f"{_reason(error)}, expected a recording; move it away"
        try:
            of_text = check_regular(text)
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            # Written or deleted by another server: now, or since its sound was looked at.
            if coming_text(sound).is_file() or (is_missing and (text.exists() or not sound.exists())):
                return ""
            what = "no text" if is_missing else f"its text: {_reason(error)}"
            return f'{what}, expected "{name}.txt" beside it; write it or move the recording away'
        state = [(s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in (of_sound, of_text)]
        known = self._known.get(name)
        if known is not None and known[0] == state:
            return known[1]
        found = _read(name, sound, text)
        if isinstance(found, Take):  # what is wrong may be so for a moment, such as too many open files
            self._known[name] = state, found
        return found

    def add(self, prompt: str, samples: Singles, sample_rate: int) -> Take:
        """Keep samples (n,) as a take of a prompt; `Refusal` if they are of no use."""
        prompt = checked_prompt(prompt)
        levels = levels_of(samples, sample_rate)
        if fault := fault_of(levels):
            raise Refusal(fault, UNUSABLE)
        kept = soxr.resample(samples, sample_rate, RATE, quality="HQ") if sample_rate != RATE else samples
        sound = io.BytesIO()
        soundfile.write(sound, np.clip(kept, -1, 1), RATE, subtype="PCM_16", format="WAV")
        with self._lock:
            if len(self._found()[0]) >= self.most:
                raise Refusal(f"there are {self.most} takes, expected no more; delete some", CONFLICT)
            with stored("the take cannot be written"):
                self.folder.mkdir(parents=True, exist_ok=True)
                return Take(self._written(prompt, sound.getvalue()), prompt, levels)

    def _written(self, prompt: str, sound: bytes) -> str:
        """Write a take under a name that nobody has, and return it."""
        for path in self._free_paths(prompt):
            text, coming = path.with_suffix(".txt"), coming_text(path)
            if (file := locked_file(coming)) is None:
                continue  # another server is writing this one
            try:
                with file:
                    is_free = not (os.path.lexists(path) or os.path.lexists(text))
                    if is_free:
                        file.write(f"{prompt}\n".encode())
                        file.flush()
                        os.fsync(file.fileno())
                        write_whole(path, sound)
                        if os.name != "nt":  # where what is open cannot be renamed
                            put_in_place(coming, text)
                if not is_free:
                    coming.unlink()
                    continue
                if os.name == "nt":
                    put_in_place(coming, text)
            except BaseException:
                with suppress(OSError):  # else the next server does it
                    if coming.exists():
                        path.unlink(missing_ok=True)
                        coming.unlink()
                raise
            return path.stem
        raise AssertionError("there is always another number")

    def _free_paths(self, prompt: str) -> Iterator[Path]:
        """Yield paths that no take has: from the largest number of the prompt's takes on.

        Takes of "On" and "on" are counted together: on some systems these are one name.
        """
        stem = file_stem("_".join(prompt.split()))
        matches = (_NUMBERED.fullmatch(path.stem) for path in self.folder.iterdir())
        numbers = [int(found[2]) for found in matches if found and _alike(found[1]) == _alike(stem)]
        for number in itertools.count(max(numbers, default=0) + 1):
            yield self.folder / f"{stem}-{number:03d}.wav"

    def path(self, name: str) -> Path:
        """Return the sound of a take; `Refusal` if there is no take of that name."""
        known = {take.name for take in self.all()}
        if name not in known:
            raise _no_such_take()
        return self.folder / f"{name}.wav"

    def delete(self, name: str) -> None:
        """Remove a take's two files."""
        path = self.path(name)
        text, coming = path.with_suffix(".txt"), coming_text(path)
        with self._lock, stored("the take cannot be removed"):
            self._known.pop(name, None)
            try:
                with held(text, 0) as is_here:  # so that no server that begins finishes it meanwhile
                    if not is_here:
                        raise _no_such_take()
                    put_in_place(text, coming)  # from now on there is none
                    try:
                        path.unlink(missing_ok=True)
                    except OSError:
                        put_in_place(coming, text)
                        raise
                    with suppress(OSError):  # else the next server does it
                        coming.unlink()
            except FileNotFoundError:
                raise _no_such_take() from None

    def finish(self) -> None:
        """Finish what killed servers have left half done, and remove what they have left unfinished.

        A take whose sound is in place gets its text; of others nothing stays. What another server is writing
        at this moment, and what nobody here wrote, is left alone.
        """
        with self._lock, suppress(FileNotFoundError):
            sweep_partials(self.folder, _OURS)
            sounds = {coming_text(path): path for path in self.folder.glob("*.wav")}
            for coming in sorted(self.folder.glob(f".*{COMING}")):
                with suppress(OSError), held(coming, _OLD_S) as is_left:
                    if not is_left:
                        continue
                    text = sounds[coming].with_suffix(".txt") if coming in sounds else None
                    if text is not None and not os.path.lexists(text) and coming.stat().st_size:
                        put_in_place(coming, text)
                    else:
                        coming.unlink()
            self._finish_earlier()

    def _finish_earlier(self) -> None:
        """Finish what servers of earlier versions have left: they wrote the text, then named the sound."""
        for partial in sorted(self.folder.glob(".*.partial")):
            match = _EARLIER.fullmatch(partial.name)
            if match and partial.is_file() and time.time() - partial.stat().st_mtime > _OLD_S:
                sound = self.folder / f"{match[1]}.wav"
                if sound.with_suffix(".txt").is_file() and not os.path.lexists(sound):
                    put_in_place(partial, sound)
                else:
                    partial.unlink()


@contextmanager
def stored(what: str) -> Iterator[None]:
    """Refuse what the disk does not take, saying what fails, without paths of the machine."""
    try:
        yield
    except OSError as error:
        raise Refusal(
            f"{what}: {_reason(error)}, expected room on the disk and leave to write; see to that, or start "
            "asr serve with another --folder",
            UNSTORED,
        ) from error


def _no_such_take() -> Refusal:
    return Refusal("no such take, expected one of the list; load the page again", NOT_FOUND)


def _read(name: str, sound: Path, text: Path) -> Take | str:
    """Return the take in two files, or why they are none; an empty text of what has just gone."""
    try:
        prompt = " ".join(unicodedata.normalize("NFC", _bounded_text(text, _LARGEST_TEXT)).split())
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"its text: {_reason(error)}, expected the words spoken; write them anew"
    if not prompt:
        return "its text is empty, expected the words spoken; write them or remove both files"
    try:
        duration_s = audio_info(sound).duration_s
        if duration_s > _LONGEST_READ_S:
            return too_long(duration_s)
        return Take(name, prompt, levels_of(read_audio(sound, RATE), RATE))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{_reason(error)}, expected a recording; record it again, or move it away"
    except AsrError as error:
        return told(error, sound, "the recording").removeprefix("the recording: ")


def _bounded_text(path: Path, most: int) -> str:
    """Return a file's text; OSError or ValueError, which UnicodeDecodeError is, if it has none or much."""
    size = check_regular(path).st_size
    if size > most:
        raise ValueError(f"{size} bytes, expected at most {most}")
    return text_of(path)


def _reason(error: Exception) -> str:
    """Return why a file cannot be read, without its path."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)


def _alike(name: str) -> str:
    """Return a name as systems compare it that know no capitals, and one way to write an accent."""
    return unicodedata.normalize("NFC", name).casefold()


def checked_prompts(prompts: Sequence[str]) -> list[str]:
    """Return a list of prompts, each once; `Refusal` of the first that cannot be one, or of too few."""
    kept = list(dict.fromkeys(map(checked_prompt, prompts)))
    if len(kept) < LEAST_PROMPTS <= len(prompts):
        raise _same_words(*map(checked_prompt, prompts[:2]))
    if not LEAST_PROMPTS <= len(kept) <= MOST_PROMPTS:
        what = "at least two" if len(kept) < LEAST_PROMPTS else f"at most {MOST_PROMPTS}"
        found = "1 command" if len(kept) == 1 else f"{len(kept)} commands"
        raise Refusal(f"{found}, expected {what}; write {what} commands, one a line", BAD)
    check_distinct(kept)
    return kept


def check_distinct(prompts: Sequence[str]) -> None:
    """Refuse prompts that nobody could tell apart by what is said."""
    first: dict[tuple[str, ...], str] = {}
    for prompt in prompts:
        other = first.setdefault(tuple(plain_words(prompt)), prompt)
        if other != prompt:
            raise _same_words(other, prompt)


def _same_words(one: str, other: str) -> Refusal:
    return Refusal(
        f'"{one}" and "{other}" are the same words, expected commands that sound different; remove one', BAD
    )


def checked_prompt(prompt: str) -> str:
    """Return a prompt in normal form C with single spaces; `Refusal` if it cannot be one, or is too long.

    >>> checked_prompt(" light  on")
    'light on'
    """
    found = " ".join(unicodedata.normalize("NFC", prompt).split())
    if len(found) > LONGEST_PROMPT:
        raise Refusal(
            f"a command of {len(found)} characters, expected 1 to {LONGEST_PROMPT}; shorten it", BAD
        )
    check_words(found)
    return found


def check_words(found: str) -> None:
    """Refuse what a training, which reads it in the same way, would read as other words or as none."""
    if hidden := [c for place, c in enumerate(found) if not _can_be_seen(found, place)]:
        named = f"U+{ord(hidden[0]):04X} {unicodedata.name(hidden[0], 'control character').lower()}"
        shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in found)
        raise Refusal(
            f'"{shown}": a character that cannot be seen ({named}), expected letters; type it again',
            BAD,
        )
    if remark := next((text for text, kind in parts_of(found) if kind is not None), None):
        raise Refusal(
            f'"{remark}": is read as a remark, not as words that are spoken; write words without brackets',
            BAD,
        )
    words = found.split()
    wrong = [word for word in words if has_digit(word) or has_sign(word) or not any(map(str.isalpha, word))]
    if wrong or not words:
        said = f'"{wrong[0]}"' if wrong else "an empty command"
        raise Refusal(f"{said}: expected words; write numbers and signs as they are spoken", BAD)
    read = [word.word for word in WordForms(map(plain, words)).read(found)]
    is_apart = any(BETWEEN_WORDS.search(word) for word in words)
    if is_apart or read != [plain(word) for word in words] or not all(map(may_be_entry, read)):
        raise Refusal(f'"{found}": expected words with spaces between them; change it', BAD)


def _can_be_seen(text: str, place: int) -> bool:
    """Return whether a character shows, or joins letters where a script needs it.

    That is beside a virama, and in Arabic script, where vowel marks may stand between (RFC 5892, A.1, A.2;
    before a virama, as Bengali and Kannada have it, by the Unicode Standard, chapter 12).
    """
    if text[place].isprintable():
        return True
    before, after = text[:place][::-1], text[place + 1 :]
    if text[place] not in "\u200c\u200d" or not before[:1].strip():
        return False
    if 9 in map(unicodedata.combining, before[:1] + after[:1]):
        return True
    beside = [next((c for c in side if unicodedata.category(c) != "Mn"), " ") for side in (before, after)]
    return text[place] == "\u200c" and all(unicodedata.bidirectional(c) == "AL" for c in beside)


def plain_words(prompt: str) -> list[str]:
    """Return the words of a prompt as a lexicon has them."""
    return [plain(word) for word in prompt.split() if plain(word)]


def counts(takes: Sequence[Take], prompts: Sequence[str]) -> Mapping[str, int]:
    """Return how many takes there are of each prompt."""
    found = dict.fromkeys(prompts, 0)
    for take in takes:
        found[take.prompt] = found.get(take.prompt, 0) + 1
    return found
