"""Corpora on disk: Kaldi data directories (`asr.corpora.kaldi`), and plain folders (`asr.corpora.folder`).

A corpus in another form is turned into one of these by a recipe.

Utterances are always sorted by code point of their ids (Kaldi's ``LC_ALL=C``), whatever the locale or the
file system. Transcripts are split at white space and brought to Unicode normal form C, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from asr.corpora.folder import AUDIO_SUFFIXES, scan_folder
from asr.corpora.kaldi import is_kaldi_directory, scan_kaldi, write_kaldi
from asr.corpora.utterances import Corpus, Problem, Utterance
from asr.errors import CorpusError

__all__ = [
    "AUDIO_SUFFIXES",
    "SPLITS",
    "Corpus",
    "Problem",
    "Utterance",
    "is_kaldi_directory",
    "problem_report",
    "read_corpus",
    "scan_corpus",
    "write_corpus",
]

SPLITS = ("train", "dev", "test")
_MAX_LISTED = 50


def read_corpus(directory: str | Path) -> Corpus:
    """Return the corpus in a Kaldi data directory or a plain folder.

    A *Kaldi directory* has ``wav.scp``, ``text``, ``utt2spk`` and optionally ``segments`` (an end of -1 is
    the end of the recording). Relative audio paths are taken from that directory, else from the current one.

    A *plain folder* has ``name.wav`` (or flac, mp3, ogg, sph) beside ``name.txt``, in subfolders or not. The
    id of ``anna/day1/x.wav`` is ``anna-day1-x`` (white space becomes ``_``), its speaker the topmost
    subfolder, ``anna``. A recording at the top is taken for a speaker of its own. A file ``utt2spk`` or
    ``speakers.txt`` at the top, with lines "id speaker", overrules both. Hidden files are left aside.

    An empty transcript is read as no words; whether that is wanted is for `asr.corpora.validation` to ask.

    Raises
    ------
    CorpusError
        One error with every structural problem on a line of its own.
    """
    corpus, problems = scan_corpus(directory)
    if problems:
        raise CorpusError(problem_report(directory, problems))
    return corpus


def problem_report(directory: str | Path, problems: Iterable[Problem]) -> str:
    """Return one line for a single problem, else a summary line and one line per problem."""
    lines = [str(problem) for problem in problems]
    if len(lines) == 1:
        return f"{directory}: {lines[0]}"
    head = f"{directory}: {len(lines)} problems, expected none; correct them and run again"
    tail = (
        [f"and {len(lines) - _MAX_LISTED} more, see: asr validate {directory}"]
        if len(lines) > _MAX_LISTED
        else []
    )
    return "\n".join([head, *lines[:_MAX_LISTED], *tail])


def scan_corpus(directory: str | Path) -> tuple[Corpus, tuple[Problem, ...]]:
    """Return the utterances that can be used, and the structural problems of all others."""
    directory = Path(directory)
    if not directory.is_dir():
        raise CorpusError(f"{directory}: no such directory, expected a corpus; check the path")
    if is_kaldi_directory(directory):
        utterances, problems = scan_kaldi(directory)
    elif (directory / "train").is_dir():
        raise CorpusError(
            f"{directory}: has a subdirectory train, expected one data directory or folder of recordings; "
            f"give {directory / 'train'}, or the whole to the recipe folder"
        )
    else:
        utterances, problems = scan_folder(directory)
    if not utterances and not problems:
        suffixes = " ".join(sorted(AUDIO_SUFFIXES))
        what = (
            f"no utterances, expected wav.scp, text and utt2spk, or recordings ({suffixes}) each with a .txt"
        )
        problems = [Problem(".", f"{what}; check the path")]
    return Corpus(tuple(utterances)), tuple(problems)


def write_corpus(corpus: Corpus, directory: str | Path) -> None:
    """Write a Kaldi data directory; ``segments`` only if an utterance is less than its whole recording."""
    write_kaldi(corpus, directory)
