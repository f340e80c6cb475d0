"""A corpus as CMU Sphinx has it: ``etc/`` with lists, transcripts and dictionary, links in ``wav/``.

`asr.corpora.layouts.sphinx` reads it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from acoustic.hmm.topology import NOISE, NOISE_WORD, SILENCE
from asr.corpora.corpus import WHOLE, Corpus, Utterance
from asr.errors import CorpusError
from asr.files import file_stem, write_text
from decoder.lexicon import Lexicon

_NOT_IN_IDS = re.compile(r"[()/\\\0]")


def write_sphinx(parts: Mapping[str, Corpus], lexicon: Lexicon, out: Path) -> Path:
    """Write parts of a corpus by split (a whole is train) and the dictionary of their words; return ``etc``.

    Recordings are linked as ``wav/SPEAKER/ID.wav``; each must be an utterance as a whole.
    """
    etc, name = out / "etc", file_stem(out.resolve().name)
    etc.mkdir(parents=True, exist_ok=True)
    utterances = [u for part in parts.values() for u in part]
    _check(utterances)
    for split, part in parts.items():
        stem = f"{name}_{'train' if split == WHOLE else split}"
        write_text(etc / f"{stem}.fileids", "".join(f"{_fileid(u)}\n" for u in part))
        write_text(etc / f"{stem}.transcription", "".join(_line(u) for u in part))
    words = {word for u in utterances for word in u.words if word in lexicon}
    spoken = lexicon.restricted_to(words)
    write_text(etc / f"{name}.dic", "".join(_entries(word, spoken) for word in spoken))
    has_noise = any(NOISE_WORD in u.words for u in utterances)
    phones = [*spoken.phones, SILENCE.upper(), *([NOISE] if has_noise else [])]
    write_text(etc / f"{name}.phone", "".join(f"{phone}\n" for phone in phones))
    fillers = ["<s>", "</s>", "<sil>"]
    noise = [f"{NOISE_WORD} {NOISE}\n"] if has_noise else []
    write_text(etc / f"{name}.filler", "".join([f"{f} {SILENCE.upper()}\n" for f in fillers] + noise))
    for utterance in utterances:
        _link(utterance, out)
    return etc


def _check(utterances: list[Utterance]) -> None:
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


def _line(utterance: Utterance) -> str:
    return " ".join(["<s>", *utterance.words, "</s>", f"({utterance.utterance_id})"]) + "\n"


def _entries(word: str, lexicon: Lexicon) -> str:
    """Return a line for each pronunciation; from the second on the word is numbered."""
    return "".join(
        f"{word if number == 1 else f'{word}({number})'} {' '.join(phones)}\n"
        for number, phones in enumerate(lexicon.pronunciations(word), 1)
    )


def _link(utterance: Utterance, out: Path) -> None:
    """Link a recording to its place below ``wav``."""
    link = out / "wav" / f"{_fileid(utterance)}{utterance.audio_path.suffix}"
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.exists() and not link.is_symlink():
        raise CorpusError(
            f"{link}: is there already and no link of an earlier export, expected a free place; choose "
            "another directory"
        )
    link.unlink(missing_ok=True)
    os.symlink(utterance.audio_path, link)
