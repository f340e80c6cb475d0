"""The recordings below a directory: their ids, their speakers, and how tables name them.

A layout gives an utterance the speaker `NOBODY_SAYS` where neither folder, table nor transcript tells. Who it
is then, `with_speakers` decides: as a person says (``--speakers``), else by the names of the recordings where
they show it, else each recording is taken by itself: that costs least if it is wrong
(``docs/results/unknown_speakers.md``).

A table that was written on another machine, or for another folder, has paths at which nothing lies: what it
means is then found by the ends of its paths.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from asr.corpora.layouts.layout import SPLIT_NAMES
from asr.corpora.utterances import Utterance, recording_names
from asr.errors import CorpusError, Problem
from features.ffmpeg import FFMPEG_SUFFIXES
from foundation.errors import listed

if TYPE_CHECKING:
    from asr.config import Speakers

# What libsndfile reads.
SOUND_SUFFIXES = (
    *(".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".sph"),
    *(".aiff", ".aif", ".aifc", ".au", ".snd", ".w64", ".rf64", ".caf", ".voc", ".nist"),
)
AUDIO_SUFFIXES = FFMPEG_SUFFIXES.union(SOUND_SUFFIXES)
# In this order a name without suffix is looked for.
_LOWER = (*SOUND_SUFFIXES, *sorted(FFMPEG_SUFFIXES))
_SUFFIXES = (*_LOWER, *map(str.upper, _LOWER))
# A folder of one of these names says nothing of the speaker.
CONTAINERS = ("audio", "clips", "data", "recordings", "wav", "wavs")
NOBODY_SAYS = ""
ONE = "one"  # the one person of a corpus of which somebody says so
_N_ABOVE = 3  # how many folders above that of a table its paths may begin in; by feel
# What names of recordings begin with that are nobody's.
_NO_PERSONS = """
    aud audio ch channel chapter clean clip command conversation day dev digit ex example far fast
    file headset img item kitchen left line list lj lot loud memo mic micro mono near new no noise
    noisy normal old page part phone phrase prompt ptt quiet rec recorder recording right room
    sample script sent sentence session set slow soft sound speech stereo take takes test text track
    train u unit untitled up utt utterance verse vid video voice wav whisper word yes zoom
"""
_BETWEEN = re.compile(r"[\s_.,+()–—-]+")
_NUMBERED = re.compile(r"([^\W\d]{3,})\d+")
_LONG_NUMBER = re.compile(r"\d{6}")  # a date
_N_NAMED = 5  # by feel
_MOST_PARTS = 16  # of a path of another machine; what is above says nothing; by feel
_Parts = tuple[str, ...]


def visible_files(directory: Path) -> list[Path]:
    """Return what is below a directory, sorted and relative to it, but for hidden files."""
    found: list[tuple[str, ...]] = []
    for folder, folders, files in os.walk(directory):
        # Folders that are changed here in place are those that are walked into.
        folders[:] = [name for name in folders if not name.startswith(".")]
        parts = Path(folder).relative_to(directory).parts
        found += [(*parts, name) for name in (*folders, *files) if not name.startswith(".")]
    return [Path(*parts) for parts in sorted(found)]


def recordings(directory: Path) -> list[Path]:
    """Return the recordings below a directory, sorted and relative to it.

    A video or the like beside its sound (``x.mp4`` and ``x.wav``) is left aside.
    """
    files = [p for p in visible_files(directory) if is_audio(p) and (directory / p).is_file()]
    sounds = {p.with_suffix("") for p in files if not _needs_ffmpeg(p)}
    return [p for p in files if not _needs_ffmpeg(p) or p.with_suffix("") not in sounds]


def _needs_ffmpeg(path: Path) -> bool:
    return path.suffix.lower() in FFMPEG_SUFFIXES


def is_audio(path: Path) -> bool:
    """Return whether a file is called like a recording."""
    return path.suffix.lower() in AUDIO_SUFFIXES


def name_without_spaces(name: str) -> str:
    """Return a name in which white space is ``_``: ids and speakers have none."""
    return "_".join(name.split())


def id_of(path: Path) -> str:
    """Return the id of a recording by its relative path without suffix: its parts joined by ``-``."""
    parts = [name_without_spaces(part) for part in path.parts if part not in ("..", ".", path.anchor)]
    return "-".join(parts)


def folder_speaker(path: Path, key: str = NOBODY_SAYS) -> str:
    """Return the topmost folder of a relative path as speaker, ``key`` where there is none.

    Folders that are called after what is in them (``wavs``) are passed over.
    """
    folders = [part for part in path.parts[:-1] if part.casefold() not in CONTAINERS]
    return name_without_spaces(folders[0]) if folders else key


def with_speakers(
    parts: Mapping[str, Sequence[Utterance]], speakers: Speakers, root: Path, before: Speakers = "auto"
) -> tuple[dict[str, list[Utterance]], str]:
    """Return the utterances of each split with their speakers, and what a person should know of these.

    Parameters
    ----------
    parts : utterances by split, the speaker `NOBODY_SAYS` where it is not known
    speakers : ``auto`` keeps known speakers and decides on the others; all else overrules what is known
    root : directory of the corpus, below which folders are speakers
    before : what was said of another corpus, where nothing is known of this one and its names allow it
    """
    every = [u for part in parts.values() for u in part]
    names = recording_names(every)
    is_unknown = bool(every) and all(u.speaker == NOBODY_SAYS for u in every)
    if speakers == "auto" and is_unknown and _is_shown(before, names, root):
        speakers = before
    note = ""
    if speakers == "auto":
        speaker_of, note = _found_or_assumed(every, names)
    elif speakers == "one":
        speaker_of = dict.fromkeys(names, ONE)
    elif speakers == "recordings":
        speaker_of = names
    else:
        speaker_of = _told_by_names(names, speakers, root)
    is_kept = speakers == "auto"
    found = {
        split: [
            u if is_kept and u.speaker != NOBODY_SAYS else replace(u, speaker=speaker_of[u.audio_path])
            for u in part
        ]
        for split, part in parts.items()
    }
    return found, note


def _is_shown(speakers: Speakers, files: Collection[Path], root: Path) -> bool:
    """Return whether recordings can be told apart as was said of others."""
    if speakers in ("folders", "prefix"):
        try:
            _told_by_names(files, speakers, root)
        except CorpusError:
            return False
    return True


def _found_or_assumed(
    utterances: Sequence[Utterance], names: Mapping[Path, str]
) -> tuple[Mapping[Path, str], str]:
    """Return the speakers of recordings where some are not known, and how they were decided on."""
    unknown = [u for u in utterances if u.speaker == NOBODY_SAYS]
    if not unknown:
        return {}, ""
    if len(unknown) < len(utterances):
        known, names = len(names), recording_names(unknown)
        return (
            names,
            f"who speaks in {len(names)} of {known} recordings is not known; each is taken by itself",
        )
    if guessed := guessed_speakers(unknown):
        found = sorted(set(guessed.values()))
        what = f"{len(found)} speakers by the names of the recordings ({listed(found, _N_NAMED)})"
        return guessed, f"{what}; if that is wrong: --speakers one, recordings or folders"
    what = "speakers are not known, each recording is taken by itself; if one person speaks in all of them"
    return names, f"{what}: --speakers one; otherwise folders or prefix tell them apart"


def guessed_speakers(utterances: Sequence[Utterance]) -> dict[Path, str] | None:
    """Return the speakers that the names of recordings show, as ``aino_01`` and ``ben-02``; None for none.

    What names begin with are speakers if there are two beginnings or more, each of two recordings or more,
    none of them a number, a date, a word such as *take*, or what is said in most of its recordings, and most
    of them with several texts: the others are names of sentences.
    """
    said = {u.audio_path: u.spoken for u in utterances}
    named = {path: prefix_of(path.stem) for path in said}
    groups: dict[str, list[Path]] = {}
    for path, prefix in named.items():
        groups.setdefault(prefix.casefold(), []).append(path)
    if len(groups) < 2 or min(map(len, groups.values())) < 2 or not all(map(_may_be_person, groups)):
        return None
    n_varied = sum(len({said[path] for path in paths}) > 1 for paths in groups.values())
    n_spoken = sum(_is_said(prefix, [said[path] for path in paths]) for prefix, paths in groups.items())
    if 2 * n_varied <= len(groups) or 2 * n_spoken >= len(groups) or _tell_texts(said, groups):
        return None
    return {path: named[paths[0]] for paths in groups.values() for path in paths}


def prefix_of(name: str) -> str:
    """Return what the name of a recording begins with, empty where it has no parts.

    >>> prefix_of("aino_01"), prefix_of("f1-digit-3"), prefix_of("ben12"), prefix_of("u01")
    ('aino', 'f1', 'ben', '')
    """
    first, *others = [part for part in _BETWEEN.split(unicodedata.normalize("NFC", name)) if part] or [""]
    if others:
        return first
    numbered = _NUMBERED.fullmatch(first)
    return numbered[1] if numbered else ""


def _may_be_person(prefix: str) -> bool:
    """Return whether a beginning may be a person: no number, date or word for a recording or its place."""
    letters = re.sub(r"\d", "", prefix)
    return bool(letters) and letters not in _NO_PERSONS.split() and not _LONG_NUMBER.search(prefix)


def _is_said(prefix: str, texts: Sequence[Sequence[str]]) -> bool:
    """Return whether what names begin with is a word of most of their texts."""
    n = sum(any(word.casefold().strip(".,!?") == prefix for word in text) for text in texts)
    return 2 * n > len(texts)


def speakers_of_files(files: Sequence[Path], speakers: Speakers) -> list[str]:
    """Return who speaks in each of some recordings that are no corpus; ``folders`` are those they lie in."""
    if speakers in ("auto", "recordings"):  # nothing says that two are of one person
        return [str(n) for n in range(len(files))]
    if speakers == "one":
        return [ONE] * len(files)
    found = _told_by_names(files, speakers, None)
    return [found[file] for file in files]


def _tell_texts(said: Mapping[Path, tuple[str, ...]], groups: Mapping[str, Sequence[Path]]) -> bool:
    """Return whether texts are said again, but never under another beginning: these are of commands, say."""
    times = Counter(said.values())
    again = {text for text, n in times.items() if n > 1}
    of_groups = [again.intersection(said[path] for path in paths) for paths in groups.values()]
    return bool(again) and sum(map(len, of_groups)) == len(again)


def _told_by_names(files: Collection[Path], speakers: Speakers, root: Path | None) -> dict[Path, str]:
    """Return the speaker of each recording by its folder or by what its name begins with."""
    if speakers == "folders":
        found = {path: _folder_of(path, root) for path in files}
        lacking = f"lie in no folder of a speaker{'' if root is None else f' below {root}'}, such as"
        cure = "put each speaker's into a folder"
    else:
        found = {path: prefix_of(path.stem) for path in files}
        lacking = "have a name without a first part, such as"
        cure = "call them anna_01, ben_02 and so on"
    if without := sorted(path.name for path, speaker in found.items() if not speaker):
        raise CorpusError(
            f"--speakers {speakers}: {len(without)} of {len(found)} recordings {lacking} "
            f"{listed(without, 3)}, expected none; {cure}, or give --speakers one or recordings"
        )
    return {path: "_".join(speaker.split()) for path, speaker in found.items()}


def _folder_of(path: Path, root: Path | None) -> str:
    """Return the topmost folder below a directory that says who speaks, empty where there is none.

    Of a recording that lies elsewhere it is the folder it lies in.
    """
    is_below = root is not None and path.is_relative_to(absolute(root))
    folders = (
        path.relative_to(absolute(root)).parts[:-1] if root and is_below else absolute(path).parts[-2:-1]
    )
    return next((name for name in folders if name.casefold() not in (*CONTAINERS, *SPLIT_NAMES)), "")


def absolute(path: Path) -> Path:
    """Return an absolute path, links as they are."""
    return Path(os.path.abspath(path))


def find_audio(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file that a name, with or without suffix, means in the first folder that has it."""
    if not name or "\0" in name:
        return None
    suffixes = ("",) if is_audio(Path(name)) else _SUFFIXES
    ways = written_ways(name)
    candidates = (folder / f"{way}{suffix}" for suffix in suffixes for folder in folders for way in ways)
    found = next((path for path in candidates if is_file(path)), None)
    if found is None and "\\" in name:
        return find_audio(name.replace("\\", "/"), folders)
    return absolute(found) if found else None


def written_ways(name: str) -> tuple[str, ...]:
    """Return a name as it is, and with its accents as one letter or apart: old disks of Macs hold them apart.

    >>> [len(way) for way in written_ways("\u00e9")], written_ways("e")
    ([1, 2], ('e',))
    """
    return tuple(dict.fromkeys([name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))]))


def is_file(path: Path) -> bool:
    """Return whether there is a file of this name; False for a name that no file can have."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long, for one
        return False


def found_by_ends(missing: Collection[str], all_names: Collection[str], directory: Path) -> dict[str, Path]:
    """Return the recordings that paths of another machine mean, by their ends, where there is no doubt.

    That is the recording below the directory that has the longest end in common with the path. If none has
    its name, an end that contains a folder may begin in one of the folders above. An end that other paths of
    the table have, too, says nothing: ``anna/01.wav`` is not ``ben/01.wav``.
    """
    if not missing:
        return {}
    directory = absolute(directory)
    uses = Counter(end for name in set(all_names) for end in _ends(_parts(name)))
    below = _by_ends([directory / file for file in recordings(directory)], uses)
    found: dict[str, Path] = {}
    for name in missing:
        parts = _parts(name)
        end = next((end for end in _ends(parts) if end in below), None)
        path, n_common = _above(parts, directory) if end is None else (below[end], len(end))
        if path is not None and uses[parts[len(parts) - n_common :]] == 1:
            found[name] = path
    return found


def _by_ends(files: Sequence[Path], wanted: Collection[_Parts]) -> dict[_Parts, Path | None]:
    """Return recordings by those ends of their paths that are wanted, None for an end that several have."""
    found: dict[_Parts, Path | None] = {}
    for file in files:
        for name in {file.name, file.stem}:
            for end in _ends((*file.parts[:-1], name)):
                if end in wanted:
                    found[end] = None if end in found else file
    return found


def moved_note(found: Mapping[str, Path], where: str) -> list[Problem]:
    """Return a note for people on recordings that were found by the ends of their paths."""
    if not found:
        return []
    name, path = next(iter(found.items()))
    what = f'{len(found)} recording(s) are not where "{name}" says, and were found by the ends of their paths'
    return [Problem(where, f"{what}, as {path}", "note")]


def _parts(name: str) -> _Parts:
    """Return the folders and the file name of a path, whatever system it was written on."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return tuple(part for part in parts if part not in ("/", ".."))[-_MOST_PARTS:]


def _ends(parts: _Parts) -> list[_Parts]:
    """Return the ends of a path, the longest first."""
    return [parts[first:] for first in range(len(parts))]


def _above(parts: _Parts, directory: Path) -> tuple[Path | None, int]:
    """Return the file above a directory that has the longest end with a folder in it, and its length."""
    if not parts or not is_audio(Path(parts[-1])):
        return None, 0
    for end in _ends(parts)[:-1]:
        for folder in tuple(directory.parents)[:_N_ABOVE]:
            if is_file(folder.joinpath(*end)):
                return folder.joinpath(*end), len(end)
    return None, 0
