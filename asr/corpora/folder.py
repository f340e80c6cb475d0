"""Plain folders: ``name.wav`` beside ``name.txt``, in subfolders by speaker or not."""

from __future__ import annotations

import os
from pathlib import Path

from asr.corpora.tables import Table, read_speakers, read_text, words_of
from asr.corpora.utterances import Problem, Utterance

AUDIO_SUFFIXES = frozenset({".wav", ".flac", ".mp3", ".ogg", ".sph"})
# Texts a user keeps beside the recordings that are no transcripts.
_OTHER_TEXTS = frozenset({"lexicon.txt", "word_pairs.txt", "speakers.txt", "readme.txt", "license.txt"})


def scan_folder(directory: Path) -> tuple[list[Utterance], list[Problem]]:
    """Return the usable utterances of a plain folder and the problems of its other files."""
    below = sorted(p.relative_to(directory) for p in directory.rglob("*"))
    below = [p for p in below if not any(part.startswith(".") for part in p.parts)]
    files = [p for p in below if (directory / p).is_file()]
    recordings = [p for p in files if p.suffix.lower() in AUDIO_SUFFIXES]
    texts = {p.with_suffix(""): p for p in files if _is_transcript(p)}
    speakers, problems = _folder_speakers(directory)
    what = "a link to a folder (not followed) or to nothing, expected what it stands for; move that here"
    problems += [
        Problem(str(p), what) for p in below if (directory / p).is_symlink() and not (directory / p).is_file()
    ]
    utterances: dict[str, Utterance] = {}
    for path in recordings:
        key = "-".join("_".join(part.split()) for part in path.with_suffix("").parts)
        stem = path.with_suffix("")
        if key in utterances:
            other = utterances[key].audio_path.name
            what = f'duplicate id "{key}" (that of {other} too), expected distinct ids; rename one'
        elif stem not in texts:
            what = f'no transcript, expected "{stem.name}.txt" beside it; write it or move the recording away'
        elif speakers and key not in speakers.rows:
            what = f'its id "{key}" is not in {speakers.name}, expected it there; name its speaker'
        else:
            text, unreadable = read_text(directory / texts[stem], str(texts[stem]), "the words spoken")
            problems += unreadable
            speaker = speakers.rows[key][1] if speakers else _folder_speaker(path, key)
            if text is not None:
                audio = Path(os.path.abspath(directory / path))
                utterances[key] = Utterance(key, audio, words_of(text), speaker)
            continue
        problems.append(Problem(str(path), what))
    stems = {p.with_suffix("") for p in recordings}
    what = "no recording, expected one of the same name beside it; add it or remove the text"
    problems += [Problem(str(path), what) for stem, path in texts.items() if stem not in stems]
    return list(utterances.values()), problems


def _is_transcript(path: Path) -> bool:
    return path.suffix.lower() == ".txt" and path.name.lower() not in _OTHER_TEXTS


def _folder_speakers(directory: Path) -> tuple[Table | None, list[Problem]]:
    for name in ("utt2spk", "speakers.txt"):
        if (directory / name).is_file():
            return read_speakers(directory / name)
    return None, []


def _folder_speaker(path: Path, key: str) -> str:
    """Return the topmost folder as speaker, the utterance's own id where there is none."""
    return "_".join(path.parts[0].split()) if len(path.parts) > 1 else key
