"""A transcript beside each recording, of the same name: ``x.wav`` with ``x.txt``, ``x.TextGrid`` and so on.

A text is what is said in the whole recording; the other kinds have times, and each of their labels is an
utterance. An STM or CTM may also hold several recordings, which it names. A transcript may lie in another
folder than its recording, if no other recording has its name.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asr.corpora.layouts.layout import WHOLE, Layout, Scan
from asr.corpora.layouts.lists import LIBRISPEECH_SUFFIX
from asr.corpora.layouts.recordings import (
    absolute,
    folder_speaker,
    id_of,
    is_audio,
    is_file,
    name_without_spaces,
    recordings,
    visible_files,
)
from asr.corpora.utterances import Utterance
from asr.errors import CorpusError, Problem
from asr.formats.captions import read_srt, read_vtt
from asr.formats.intervals import Passage, time_problem
from asr.formats.nist import read_ctm, read_stm
from asr.formats.praat_elan import Tier, read_elan, read_textgrid, text_of_tiers
from asr.formats.tables import TABLE_SUFFIXES, IdTable, lines_of, read_speakers, read_text, words_of
from foundation.errors import listed
from foundation.files import LONGEST_NAME

TIER_READERS: Mapping[str, Callable[[str, str], list[Tier]]] = {
    ".textgrid": read_textgrid,
    ".eaf": read_elan,
}
LINE_READERS: Mapping[str, Callable[[str, str], tuple[list[Passage], list[Problem]]]] = {
    ".stm": read_stm,
    ".ctm": read_ctm,
    ".srt": read_srt,
    ".vtt": read_vtt,
}
TIMED_SUFFIXES = (*TIER_READERS, *LINE_READERS)
TIERS = "tiers.txt"
# Texts a user keeps beside the recordings that are no transcripts.
_OTHER_TEXTS = frozenset(
    {"lexicon.txt", "word_pairs.txt", "commands.txt", "speakers.txt", "readme.txt", "license.txt", TIERS}
)
_TEXTS = (".txt", ".lab")
_HTK_LABELS = re.compile(r"\s*\d+\s+\d+\s+\S+")
_LISTS = (".stm", ".ctm")  # kinds that name their recordings
_OVERLAP_S = 0.1  # by feel
_N_NAMED = 3  # by feel


COMING = ".asr-take"


def coming_text(recording: Path) -> Path:
    """Return the hidden name under which a text lies while it and its recording are written or removed.

    >>> coming_text(Path("takes/on-001.wav")).name
    '.on-001.asr-take'
    """
    hidden = f".{recording.stem}{COMING}"
    if len(os.fsencode(hidden)) > LONGEST_NAME:
        hidden = f".{hashlib.sha256(os.fsencode(recording.stem)).hexdigest()}{COMING}"
    return recording.with_name(hidden)


@dataclass(frozen=True)
class Transcript:
    """A transcript's path relative to the corpus, what it says, and perhaps the tier it says it in.

    ``passages`` is None if the transcript cannot be used, which its problems explain.
    """

    path: Path
    passages: tuple[Passage, ...] | None
    problems: tuple[Problem, ...] = ()
    only_tier: str | None = None


def sources(path: Path) -> list[Path]:
    """Return the directory if a recording in it has a transcript beside it, or a timed transcript itself."""
    if not path.is_dir():
        return [path] if path.suffix.lower() in TIMED_SUFFIXES else []
    files = visible_files(path)
    names = {file.stem for file in files if is_audio(file)}
    transcripts = [file for file in files if is_transcript(file)]
    fits = any(file.stem in names or file.suffix.lower() in _LISTS for file in transcripts)
    return [path] if names and fits else []


def _transcripts(directory: Path, files: Sequence[Path]) -> list[Path]:
    """Return the transcripts among files; a ``.lab`` beside another one is somebody's labels of phones."""
    names = [p for p in files if is_transcript(p) and (directory / p).is_file()]
    others = {p.with_suffix("") for p in names if p.suffix.lower() != ".lab"}
    return [p for p in names if p.suffix.lower() != ".lab" or p.with_suffix("") not in others]


def is_transcript(path: Path) -> bool:
    """Return whether a file is called like a transcript."""
    suffix = path.suffix.lower()
    if path.name.lower().endswith(LIBRISPEECH_SUFFIX) or path.name.lower() in _OTHER_TEXTS:
        return False
    return suffix in TIMED_SUFFIXES or suffix in _TEXTS


def scan(source: Path) -> Scan:
    """Return the utterances of a folder, or of one transcript and the recordings beside and below it."""
    directory = source if source.is_dir() else source.parent
    files, audio = visible_files(directory), recordings(directory)
    speakers, problems = _table_of_speakers(directory)
    wanted: list[str] = []
    if (directory / TIERS).is_file():
        text, more = read_text(directory / TIERS, TIERS, "names of tiers, one a line")
        wanted, problems = [line.strip() for line in lines_of(text or "") if line.strip()], problems + more
    names = _transcripts(directory, files) if source.is_dir() else [Path(source.name)]
    transcripts = with_tiers_as_speakers([read_transcript(directory, path, wanted) for path in names])
    problems += [problem for transcript in transcripts for problem in transcript.problems]
    problems += _unreadable(directory, files)
    folders = {p.with_suffix(""): p for p in files if is_audio(p) and (directory / p).is_dir()}
    of_recording, missing = _by_recording(transcripts, audio, folders)
    if source.is_file():
        audio = [path for path in audio if path in of_recording]
    utterances: list[Utterance] = []
    first: dict[str, Path] = {}
    for path in audio:
        key = id_of(path.with_suffix(""))
        some = of_recording.get(path, [])
        if not some and coming_text(directory / path).is_file():
            what = "is being written or removed by asr serve, and left out; if none runs, start it once"
            problems.append(Problem(str(path), what, "note"))
            continue
        hindrance = _hindrance(path, key, some, first.setdefault(key, path))
        if hindrance is not None:
            problems.append(Problem(str(path), hindrance))
        elif some[0].passages is not None:
            said = _utterances(absolute(directory / path), path, key, some[0].passages)
            said, more = _with_speakers(said, path, key, speakers)
            utterances += said
            problems += more
    kinds = sorted({t.path.suffix.lower() for some in of_recording.values() for t in some})
    return Scan({WHOLE: utterances}, [*problems, *missing], tuple(kinds))


def _unreadable(directory: Path, files: Iterable[Path]) -> Iterator[Problem]:
    """Yield a problem of all that is no file, and of folders that cannot be read."""
    for path in files:
        place = directory / path
        try:
            kind = os.lstat(place).st_mode
        except FileNotFoundError:  # gone since the folder was listed
            continue
        if stat.S_ISREG(kind):
            # Of recordings and transcripts their readers say it; a table would be passed over.
            if path.suffix.lower() in TABLE_SUFFIXES and not os.access(place, os.R_OK):
                what = "cannot be read, expected a table; change its permissions or move it away"
                yield Problem(str(path), what)
            continue
        if stat.S_ISDIR(kind):
            if not os.access(place, os.R_OK | os.X_OK):
                what = (
                    "cannot be read, expected a folder of recordings; change its permissions or move it away"
                )
                yield Problem(str(path), what)
        elif not stat.S_ISLNK(kind):
            what = "a pipe, socket or device, expected a file; remove it or move it away"
            is_meant = is_audio(path) or is_transcript(path) or path.name.lower() in _OTHER_TEXTS
            yield Problem(str(path), what, "error" if is_meant else "warning")
        elif not is_file(place):
            what = (
                "a link to a folder (not followed) or to nothing, expected what it stands for; move that here"
            )
            yield Problem(str(path), what)


def _table_of_speakers(directory: Path) -> tuple[IdTable | None, list[Problem]]:
    for name in ("utt2spk", "speakers.txt"):
        if (directory / name).is_file():
            return read_speakers(directory / name)
    return None, []


def read_transcript(directory: Path, path: Path, wanted: Sequence[str] = ()) -> Transcript:
    """Return what a transcript says; passages that cannot be used are among its problems."""
    where, suffix = str(path), path.suffix.lower()
    text, problems = read_text(directory / path, where, "the words spoken")
    if text is None:
        return Transcript(path, None, tuple(problems))
    only_tier = None
    if suffix in TIER_READERS:
        try:
            said = text_of_tiers(TIER_READERS[suffix](text, where), wanted)
        except CorpusError as error:
            return Transcript(path, None, (Problem(where, str(error)),))
        passages, only_tier = list(said.passages), said.only_tier
    elif suffix in LINE_READERS:
        passages, problems = LINE_READERS[suffix](text, where)
    elif suffix == ".lab" and _HTK_LABELS.match(text):
        what = "labels of HTK with times, expected the words spoken; convert it to TextGrid, or remove it"
        return Transcript(path, None, (Problem(where, what),))
    else:
        passages = [Passage(0.0, None, text, where)]
    if not passages and not problems:
        passages = [Passage(0.0, None, "", where)]  # silence: like an empty text it is unusable, and named so
    backward = {id(s): problem for s in passages if (problem := time_problem(s))}
    good = tuple(s for s in passages if id(s) not in backward)
    return Transcript(path, good, (*problems, *backward.values(), *_overlaps(good, where)), only_tier)


def with_tiers_as_speakers(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """Return transcripts whose only tier is their speaker if these tiers have different names."""
    if len({t.only_tier for t in transcripts if t.only_tier is not None}) < 2:
        return list(transcripts)
    return [
        replace(t, passages=tuple(replace(s, speaker=s.speaker or t.only_tier) for s in t.passages or ()))
        if t.only_tier
        else t
        for t in transcripts
    ]


def _overlaps(passages: Sequence[Passage], where: str) -> list[Problem]:
    """Return a warning if utterances of one recording lie above each other."""
    n, ends = 0, dict.fromkeys((s.recording for s in passages), 0.0)
    for s in sorted(passages, key=lambda s: s.start_s):
        end_s = s.start_s if s.end_s is None else s.end_s
        n += s.start_s < ends[s.recording] - _OVERLAP_S
        ends[s.recording] = max(ends[s.recording], end_s)
    if not n:
        return []
    what = f"{n} utterance(s) begin before another has ended, expected one at a time; both have all the sound"
    return [Problem(where, what, "warning")]


def _by_recording(
    transcripts: Iterable[Transcript], audio: Sequence[Path], folders: Mapping[Path, Path]
) -> tuple[dict[Path, list[Transcript]], list[Problem]]:
    """Return what is said of each recording, and the problems of what is said of none.

    ``folders`` are those that are called like recordings, by their names without suffix.
    """
    by_stem: dict[Path, list[Path]] = {}
    by_name: dict[str, list[Path]] = {}
    for path in audio:
        by_stem.setdefault(path.with_suffix(""), []).append(path)
        by_name.setdefault(path.stem, []).append(path)
    found: dict[Path, list[Transcript]] = {}
    problems = []
    for transcript in transcripts:
        stem = transcript.path.with_suffix("")
        own = by_stem.get(stem, [])
        if not own and len(by_name.get(transcript.path.stem, ())) == 1:
            own = by_name[transcript.path.stem]  # in another folder, but of one meaning
        parts = _by_name(transcript)
        for name, part in parts.items():
            paths = own if own and len(parts) == 1 else by_name.get(name, [])
            what = None
            if name and paths is not own and len(paths) != 1:
                got = f"recordings {listed(paths, _N_NAMED)}" if paths else "no recording"
                what = f'{got} called "{name}", expected one beside this file or below; add it or rename the '
                what += "others"
            elif not paths:
                got = f", got a folder {folders[stem].name}" if stem in folders else ""
                what = (
                    f"no recording, expected one of the same name beside it{got}; add it or remove the text"
                )
            if what is not None:
                where = part.passages[0].where if name and part.passages else str(part.path)
                problems.append(Problem(where, what))
                continue
            for path in paths:
                found.setdefault(path, []).append(part)
    return found, problems


def _by_name(transcript: Transcript) -> dict[str, Transcript]:
    """Return what a transcript says of each recording that it names; "" is the one beside it."""
    parts: dict[str, list[Passage]] = {}
    for passage in transcript.passages or ():
        path = Path(passage.recording or "")
        parts.setdefault(path.stem if is_audio(path) else path.name, []).append(passage)
    if not parts:
        return {"": transcript}
    return {name: replace(transcript, passages=tuple(part)) for name, part in parts.items()}


def _hindrance(path: Path, key: str, transcripts: Sequence[Transcript], first: Path) -> str | None:
    """Return why a recording cannot be used with its transcripts, None if nothing hinders."""
    names = [t.path.name for t in transcripts]
    if first != path:
        return f'duplicate id "{key}" (that of {first.name} too), expected distinct ids; rename one'
    if not names:
        kinds = f'"{path.stem}.txt" (or .lab .TextGrid .eaf .stm .ctm .srt .vtt)'
        return f"no transcript, expected {kinds} beside it; write it or move the recording away"
    if len(names) > 1:
        named = " and ".join(names[:_N_NAMED]) + (" and more" if len(names) > _N_NAMED else "")
        return f"has the transcripts {named}, expected one; move the others to another folder"
    return None


def _utterances(audio: Path, path: Path, key: str, passages: Sequence[Passage]) -> list[Utterance]:
    """Return the utterances of a recording; without a speaker of their own they have the folder's, if any."""
    times: Counter[str] = Counter()
    found = []
    for s in sorted(passages, key=lambda s: (s.start_s, s.end_s or 0.0, s.speaker or "")):
        name = key
        if s.end_s is not None:
            name = f"{key}-{round(100 * s.start_s):07d}-{round(100 * s.end_s):07d}"
        times[name] += 1
        name += f"-{times[name]}" if times[name] > 1 else ""
        speaker = name_without_spaces(s.speaker or "") or folder_speaker(path)
        found.append(Utterance(name, audio, words_of(s.text), speaker, s.start_s, s.end_s))
    return found


def _with_speakers(
    utterances: list[Utterance], path: Path, key: str, speakers: IdTable | None
) -> tuple[list[Utterance], list[Problem]]:
    """Return utterances with the speakers of the corpus's table, and problems of those that are not in it.

    The table names speakers by the id of the utterance or by that of its recording.
    """
    if speakers is None:
        return utterances, []
    rows = speakers.rows
    named = [(u, rows.get(u.utterance_id) or rows.get(key)) for u in utterances]
    what = f"is not in {speakers.name}, expected it there; name its speaker"
    problems = [Problem(str(path), f'its id "{u.utterance_id}" {what}') for u, row in named if row is None]
    return [replace(u, speaker=row[1]) for u, row in named if row is not None], problems


BESIDE = Layout("recordings with transcripts beside them", sources, scan)
