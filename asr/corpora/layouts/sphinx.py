"""CMU Sphinx's form, read and written: ``etc/NAME_train.fileids``, ``….transcription`` and ``wav/``.

AN4 is published so. A line of the fileids is a recording's path below ``wav/`` without suffix; a line of the
transcription is ``<s> WORDS </s> (id)``, where the id is that path or its last part. The folder is the
speaker. What is written has a dictionary, too, with lists of its phones and fillers, and links in ``wav/``.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from acoustic.hmm.topology import NOISE, NOISE_WORD, SILENCE
from asr.corpora.layouts.layout import WHOLE, Layout, Scan
from asr.corpora.layouts.recordings import NOBODY_SAYS, find_audio, id_of, name_without_spaces
from asr.corpora.utterances import Corpus, Utterance
from asr.errors import CorpusError, Problem
from asr.files import file_stem
from asr.formats.tables import IdTable, lines_of, read_text, words_of
from decoder.lexicon import Lexicon
from foundation.files import write_together

_SPLITS = ("train", "dev", "test")
_MARKS = ("<s>", "</s>")
_LINE = re.compile(r"(.*)\(([^()]+)\)\s*")
_NOT_IN_IDS = re.compile(r"[()/\\\0]")


def sources(path: Path) -> list[Path]:
    """Return the lists of training recordings below a directory (or the list itself), one for each corpus."""
    if path.is_dir():
        return sorted((path / "etc").glob("*_train.fileids"))
    return [path] if path.name.endswith("_train.fileids") else []


def scan(source: Path) -> Scan:
    """Return the utterances of train, and of dev and test where they are listed."""
    name = source.name.removesuffix("_train.fileids")
    parts: dict[str, list[Utterance]] = {}
    problems: list[Problem] = []
    for split in _SPLITS:
        fileids = source.with_name(f"{name}_{split}.fileids")
        if fileids.is_file():
            parts[split], more = _scan_split(fileids)
            problems += more
    return Scan(parts, problems)


def _scan_split(fileids: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return the utterances of a list of recordings, and the problems of it and of its transcripts."""
    transcripts, problems = _transcripts(fileids.with_suffix(".transcription"))
    text, more = read_text(fileids, fileids.name, "a recording's path in each line")
    problems += more
    lines = [(f"{fileids.name}:{n}", line.strip()) for n, line in enumerate(lines_of(text or ""), 1)]
    listed = [(where, Path(line)) for where, line in lines if line]
    times = Counter(path.name for _, path in listed)
    folders = [fileids.parent.parent / "wav", fileids.parent.parent]
    utterances: dict[str, Utterance] = {}
    for where, path in listed:
        key = id_of(path) if times[path.name] > 1 else name_without_spaces(path.name)
        audio = find_audio(path.as_posix(), folders)
        transcript = next((k for k in (path.as_posix(), path.name) if k in transcripts.rows), None)
        if audio is None:
            what = f'no recording "{path}", expected it in wav/; correct the path or remove the line'
        elif transcript is None:
            what = f'"{path.name}" has no line in {transcripts.name}, expected one; write it or remove this'
        elif key in utterances:
            what = f'"{key}" again, expected each recording once; remove the line'
        else:
            speaker = name_without_spaces(path.parent.name) or NOBODY_SAYS
            utterances[key] = Utterance(key, audio, words_of(transcripts.rows[transcript][1]), speaker)
            continue
        problems.append(Problem(where, what))
    known = {name for _, path in listed for name in (path.as_posix(), path.name)}
    what = f"is not in {fileids.name}, expected it there; add it or remove the line"
    problems += [Problem(transcripts.where(k), f'"{k}" {what}') for k in transcripts.rows if k not in known]
    return list(utterances.values()), problems


def _transcripts(path: Path) -> tuple[IdTable, list[Problem]]:
    """Return the words of each recording, without the marks of a sentence's ends."""
    text, problems = read_text(path, path.name, 'lines "<s> WORDS </s> (id)"')
    rows: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines_of(text or ""), 1):
        match = _LINE.fullmatch(line)
        where = f"{path.name}:{number}"
        if match is None:
            if line.strip():
                what = f'"{line[:50]}" has no id at its end, expected "<s> WORDS </s> (id)"; add it'
                problems.append(Problem(where, what))
        elif match[2] in rows:
            what = f'"{match[2]}" again (first in line {rows[match[2]][0]}), expected each once; remove one'
            problems.append(Problem(where, what))
        else:
            words = [word for word in match[1].split() if word.lower() not in _MARKS]
            rows[match[2]] = number, " ".join(words)
    return IdTable(path.name, rows), problems


def write_sphinx(parts: Mapping[str, Corpus], lexicon: Lexicon, out: Path) -> Path:
    """Write parts of a corpus by split (a whole is train) and the dictionary of their words; return ``etc``.

    Recordings are linked as ``wav/SPEAKER/ID.wav``; each must be an utterance as a whole.
    """
    etc, name = out / "etc", file_stem(out.resolve().name)
    etc.mkdir(parents=True, exist_ok=True)
    utterances = [u for part in parts.values() for u in part]
    _check_writable(utterances)
    texts: dict[str, list[str]] = {}
    for split, part in parts.items():
        stem = f"{name}_{'train' if split == WHOLE else split}"
        texts[f"{stem}.fileids"] = list(map(_fileid, part))
        texts[f"{stem}.transcription"] = [
            " ".join(["<s>", *u.words, "</s>", f"({u.utterance_id})"]) for u in part
        ]
    words = {word for u in utterances for word in u.words if word in lexicon}
    spoken = lexicon.restricted_to(words)
    entries = [  # from the second pronunciation on the word is numbered
        f"{word if number == 1 else f'{word}({number})'} {' '.join(phones)}"
        for word in spoken
        for number, phones in enumerate(spoken.pronunciations(word), 1)
    ]
    texts[f"{name}.dic"] = entries
    has_noise = any(NOISE_WORD in u.words for u in utterances)
    phones = [*spoken.phones, SILENCE.upper(), *([NOISE] if has_noise else [])]
    texts[f"{name}.phone"] = phones
    fillers = ["<s>", "</s>", "<sil>"]
    noise = [f"{NOISE_WORD} {NOISE}"] if has_noise else []
    texts[f"{name}.filler"] = [f"{f} {SILENCE.upper()}" for f in fillers] + noise
    for utterance in utterances:
        _link(utterance, out)
    write_together(
        {etc / file: "".join(f"{line}\n" for line in lines).encode() for file, lines in texts.items()}
    )
    return etc


def _check_writable(utterances: list[Utterance]) -> None:
    """Raise a CorpusError for what the lists cannot say."""
    for u in utterances:
        if not u.is_whole_file:
            raise CorpusError(
                f"{u.utterance_id}: a stretch of {u.audio_path.name}, expected whole recordings for Sphinx; "
                "cut the recordings"
            )
        if _NOT_IN_IDS.search(u.utterance_id):
            raise CorpusError(
                f'utterance id "{u.utterance_id}": expected one without ( ) / \\ and NUL; rename it'
            )


def _fileid(utterance: Utterance) -> str:
    return f"{file_stem(utterance.speaker)}/{utterance.utterance_id}"


def _link(utterance: Utterance, out: Path) -> None:
    """Link a recording to its place below ``wav``; copy it where links need a right (Windows)."""
    link = out / "wav" / f"{_fileid(utterance)}{utterance.audio_path.suffix}"
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists() and not link.is_symlink():
        if filecmp.cmp(link, utterance.audio_path, shallow=False) and not link.samefile(utterance.audio_path):
            return  # the copy of an earlier export
        raise CorpusError(
            f"{link}: is there already and no link of an earlier export, expected a free place; choose "
            "another directory"
        )
    link.unlink(missing_ok=True)
    try:
        os.symlink(utterance.audio_path, link)
    except OSError:
        shutil.copyfile(utterance.audio_path, link)


SPHINX = Layout("Sphinx", sources, scan)
