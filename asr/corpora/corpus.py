"""Corpora on disk, in any of the layouts of `asr.corpora.layouts`, read as one corpus or by their splits.

A corpus in another form is turned into a Kaldi data directory by a recipe.

Utterances are always sorted by code point of their ids (Kaldi's ``LC_ALL=C``), whatever the locale or the
file system. Transcripts are split at white space and brought to Unicode normal form C, nothing else.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from asr.corpora.layouts.all_layouts import LISTING_LAYOUTS, Source, corpora_below, hints, layout_of
from asr.corpora.layouts.beside import BESIDE
from asr.corpora.layouts.kaldi import KALDI, is_kaldi_directory, write_kaldi
from asr.corpora.layouts.layout import WHOLE
from asr.corpora.layouts.recordings import AUDIO_SUFFIXES, NOBODY_SAYS, with_speakers
from asr.corpora.layouts.sphinx import SPHINX
from asr.corpora.problems import first_of_each_kind
from asr.corpora.utterances import Corpus, Utterance, name_fault
from asr.errors import CorpusError, Problem
from asr.progress import say
from features.ffmpeg import FFMPEG_SUFFIXES, is_installed
from foundation.errors import listed
from foundation.files import as_path

if TYPE_CHECKING:
    from asr.config import Speakers

__all__ = [
    "AUDIO_SUFFIXES",
    "SPLITS",
    "WHOLE",
    "Corpus",
    "Problem",
    "Utterance",
    "is_kaldi_directory",
    "lexicon_of",
    "problem_report",
    "read_corpus",
    "read_parts",
    "scan_corpus",
    "scan_parts",
    "write_corpus",
]

SPLITS = ("train", "dev", "test")
_MAX_LISTED, _MAX_OF_A_KIND = 50, 10

logger = logging.getLogger(__name__)


def read_corpus(path: str | Path, speakers: Speakers = "auto", before: Speakers = "auto") -> Corpus:
    """Return the corpus in a directory, or that of a table or transcript; all its splits together.

    The layouts (``docs/corpora.md`` says what becomes id, speaker and split in each):

    - a *Kaldi directory* with ``wav.scp``, ``text``, ``utt2spk`` and optionally ``segments`` (an end of -1 is
      the end of the recording); relative paths are taken from that directory, else from the current one
    - *lhotse*: ``recordings.jsonl.gz`` and ``supervisions.jsonl.gz``, also with a prefix and a split
    - *Sphinx*: ``etc/NAME_train.fileids`` and ``….transcription``, ``wav/``
    - *LibriSpeech*: ``SPEAKER/CHAPTER/….trans.txt`` with lines ``ID WORDS``, the recordings beside
    - *Common Voice*: ``train.tsv``, ``dev.tsv``, ``test.tsv`` or ``validated.tsv``, ``clips/``
    - *LJSpeech*: ``metadata.csv`` with lines ``ID|text|normalised text``, ``wavs/``
    - a *table of recordings*: csv, tsv or jsonl with a header, one column of paths and one of text
    - a *plain folder*: ``name.wav`` beside ``name.txt``, ``name.TextGrid``, ``name.eaf``, ``name.stm``,
      ``name.ctm``, ``name.srt`` or ``name.vtt``, in subfolders or not

    An empty transcript is read as no words; whether that is wanted is for `asr.corpora.validation` to ask.
    What is left out with a warning is named in the log.

    Where nothing says who speaks, the names of the recordings may show it (``anna_01``); else each is taken
    by itself. A line says so. ``speakers`` overrules what is known, guessed or assumed: ``one`` person, each
    of the ``recordings`` by itself, ``folders``, or the ``prefix`` of the names. ``before`` is what was said
    of a model's training data, and holds here where nothing is known.

    Raises
    ------
    CorpusError
        One error with every structural problem on a line of its own.
    """
    corpus, problems = scan_corpus(path, speakers, before)
    _raise_errors(path, problems)
    return corpus


def read_parts(path: str | Path, speakers: Speakers = "auto", before: Speakers = "auto") -> dict[str, Corpus]:
    """Return the splits of a corpus that has any (``train``, perhaps ``dev`` and ``test``), else ``WHOLE``.

    Splits are those of the layout (Common Voice's, Sphinx's), or folders ``train``, ``dev`` and ``test``.
    ``speakers`` and ``before`` are those of `read_corpus`.
    """
    parts, problems = scan_parts(path, speakers, before)
    _raise_errors(path, problems)
    return parts


def _raise_errors(path: str | Path, problems: Sequence[Problem]) -> None:
    """Raise one error with all problems that are errors; log the others."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise CorpusError(problem_report(path, errors))
    kept = first_of_each_kind(problems, _MAX_OF_A_KIND)
    named, others = kept[:_MAX_LISTED], kept[_MAX_LISTED:]
    for problem, n_more in named:
        more = f" (and {n_more} more of this kind, see: asr validate {path})" if n_more else ""
        logger.warning("%s: %s%s", path, problem, more)
    if others:
        logger.warning("%s: and %d more of other kinds, see: asr validate %s", path, len(others), path)
    known = {problem for problem, _ in named}
    for problem in problems:
        if problem not in known:
            logger.info("%s: %s", path, problem)


def problem_report(directory: str | Path, problems: Iterable[Problem]) -> str:
    """Return one line for a single problem, else a summary line and lines for the first of each kind."""
    problems = list(problems)
    if len(problems) == 1:
        (problem,) = problems
        return f"{directory}: {problem.what if problem.where == '.' else problem}"
    head = f"{directory}: {len(problems)} problems, expected none; correct them and run again"
    kept = first_of_each_kind(problems, _MAX_OF_A_KIND)
    lines = [
        line
        for problem, n_more in kept[:_MAX_LISTED]
        for line in (str(problem), *([f"  and {n_more} more of this kind"] if n_more else []))
    ]
    n_left = len(problems) - min(len(kept), _MAX_LISTED)
    tail = [f"{n_left} of them are not listed here, see: asr validate {directory}"] if n_left else []
    return "\n".join([head, *lines, *tail])


def scan_corpus(
    path: str | Path, speakers: Speakers = "auto", before: Speakers = "auto"
) -> tuple[Corpus, tuple[Problem, ...]]:
    """Return the utterances that can be used, of all splits together, and the structural problems."""
    path = as_path(path, CorpusError)
    _check_no_split_folders(path)
    parts, problems = scan_parts(path, speakers, before)
    corpus, twice = _together(parts)
    return corpus, (*problems, *twice)


def _check_no_split_folders(path: Path) -> None:
    if path.is_dir() and _has_split_folders(path):
        raise CorpusError(
            f"{path}: has a subdirectory train, expected one data directory or folder of recordings; "
            f"give {path / 'train'}, or the whole to the recipe folder"
        )


def _together(parts: Mapping[str, Corpus]) -> tuple[Corpus, list[Problem]]:
    """Return all splits as one corpus, and the problems of utterances that are in several."""
    found: dict[str, Utterance] = {}
    twice: list[Problem] = []
    for split, part in parts.items():
        what = "is in another split, too, expected it in one; remove it from the others"
        twice += [Problem(split, f'"{name}" {what}') for name in part.ids if name in found]
        found |= {u.utterance_id: u for u in part}
    return Corpus(tuple(found.values())), twice


def scan_parts(
    path: str | Path, speakers: Speakers = "auto", before: Speakers = "auto"
) -> tuple[dict[str, Corpus], tuple[Problem, ...]]:
    """Return the usable utterances of each split (or of ``WHOLE``), and the structural problems.

    ``speakers`` and ``before`` are those of `read_corpus`; those of all splits are decided on together.
    """
    path = as_path(path, CorpusError)
    if not path.exists():
        raise CorpusError(f"{path}: no such directory or file, expected a corpus; check the path")
    if not (path.is_dir() or path.is_file()):
        raise CorpusError(f"{path}: a pipe, socket or device, expected a corpus; give its folder or table")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise CorpusError(f"{path}: cannot be read, expected a corpus; change its permissions")
    if path.is_dir() and _has_split_folders(path):
        found, problems = _scan_split_folders(path)
    else:
        found, problems = _scan_layout(path, layout_of(path))
    parts, note = with_speakers(
        {name: part.utterances for name, part in found.items()},
        speakers,
        path if path.is_dir() else path.parent,
        before,
    )
    if note:
        say(f"{path}: {note}")
    return {name: Corpus(tuple(part)) for name, part in parts.items()}, problems


def _has_split_folders(path: Path) -> bool:
    """Return whether the splits of a corpus are folders: there is train, and no list of its recordings."""
    if not (path / "train").is_dir():
        return False
    if is_kaldi_directory(path / "train") and not is_kaldi_directory(path):
        return True  # the names of its files are unmistakable, whatever tables lie beside it
    found = layout_of(path, LISTING_LAYOUTS)
    if found is not None and found[0] is not KALDI and layout_of(path / "train") is not None:
        raise CorpusError(
            f"{path}: both a list of recordings ({found[0].name}) and a folder train that is a corpus of "
            f"its own, expected one; give {path / 'train'}, or move the list or the folder away"
        )
    return found is None


def _scan_split_folders(path: Path) -> tuple[dict[str, Corpus], tuple[Problem, ...]]:
    parts: dict[str, Corpus] = {}
    problems: list[Problem] = []
    for name in SPLITS:
        if (path / name).is_dir():
            _check_no_split_folders(path / name)
            of_name, found = _scan_layout(path / name, layout_of(path / name))
            parts[name], twice = _together(of_name)
            found = (*found, *twice)
            problems += [replace(p, where=name if p.where == "." else f"{name}/{p.where}") for p in found]
    if not any(map(len, parts.values())):
        problems += corpora_below(path)  # each split has said what else there is
    if aside := [source.name for layout in LISTING_LAYOUTS for source in layout.sources(path)]:
        what = f"read are the folders of splits; left aside is the list of recordings ({listed(aside, 5)})"
        problems.append(Problem(".", what, "note"))
    return parts, tuple(problems)


def _scan_layout(path: Path, found: Source | None) -> tuple[dict[str, Corpus], tuple[Problem, ...]]:
    if found is None and path.is_file():
        kinds = "a table of recordings or a transcript with times, or their folder"
        raise CorpusError(f"{path}: not a corpus, expected {kinds}; check the path and the table's header")
    layout, source = found or (BESIDE, path)
    result = layout.scan(source)
    writable, badly_named = _writable(result.parts)
    parts, unreadable = _readable({name: Corpus(tuple(part)) for name, part in writable.items()})
    problems = (*result.problems, *badly_named, *unreadable)
    if not any(map(len, parts.values())) and not problems:
        suffixes = " ".join(sorted(AUDIO_SUFFIXES))
        what = (
            f"no utterances, expected wav.scp, text and utt2spk, or recordings ({suffixes}) each with a .txt "
            "beside it, or another layout of docs/corpora.md"
        )
        problems = (Problem(".", f"{what}; check the path"),)
    if layout is BESIDE and path.is_dir() and not any(map(len, parts.values())):
        problems += tuple(hints(path))
    kinds = f" ({' '.join(result.kinds)})" if result.kinds else ""
    line = f"{path}: read as {layout.name}{kinds}: {_sizes(parts)}"
    if layout is KALDI or result.kinds == (".txt",):
        logger.info("%s", line)
    else:  # what was recognised without being asked for, a person wants to know
        say(line)
    return parts, problems


def _writable(
    parts: Mapping[str, Sequence[Utterance]],
) -> tuple[dict[str, list[Utterance]], list[Problem]]:
    """Return the utterances whose names a training can write into its lists, and a problem of each other."""
    kept: dict[str, list[Utterance]] = {}
    problems: dict[str, Problem] = {}
    for split, part in parts.items():
        faults = [name_fault(u) for u in part]
        kept[split] = [u for u, fault in zip(part, faults, strict=True) if fault is None]
        problems |= {fault: Problem(".", fault) for fault in faults if fault is not None}
    return kept, list(problems.values())


def _readable(parts: dict[str, Corpus]) -> tuple[dict[str, Corpus], list[Problem]]:
    """Return the utterances that can be read, and one problem of all that need ffmpeg if it is missing."""
    paths = {u.audio_path for part in parts.values() for u in part}
    unreadable = {path for path in paths if path.suffix.lower() in FFMPEG_SUFFIXES}
    if not unreadable or is_installed():
        return parts, []
    kinds = " ".join(sorted({path.suffix.lower() for path in unreadable}))
    what = (
        f"{len(unreadable)} recording(s) ({kinds}), such as {min(unreadable)}, are read by ffmpeg, expected "
        "that program; install it (ffmpeg.org), or convert them to wav or flac"
    )
    left = {name: [u for u in part if u.audio_path not in unreadable] for name, part in parts.items()}
    return {name: Corpus(tuple(part)) for name, part in left.items()}, [Problem(".", what)]


def _sizes(parts: Mapping[str, Corpus]) -> str:
    """Return how many recordings, utterances and speakers there are, and the utterances of each split."""
    utterances = [u for part in parts.values() for u in part]
    speakers = {u.speaker for u in utterances} - {NOBODY_SAYS}
    counts = {
        "recordings": len({u.audio_path for u in utterances}),
        "utterances": len(utterances),
        **({"speakers": len(speakers)} if speakers else {}),
    }
    splits = [f"{len(part)} in {name}" for name, part in parts.items() if name != WHOLE]
    return ", ".join([f"{n} {noun}" for noun, n in counts.items()] + splits)


def lexicon_of(path: str | Path) -> Path | None:
    """Return a corpus's own lexicon, if it has one.

    It is ``lexicon.txt`` at its top (beside the table that is the corpus), or in ``train``, or in Kaldi's
    ``local/dict``, or else the only ``.dic`` among the lists of Sphinx.
    """
    directory = Path(path) if Path(path).is_dir() else Path(path).parent
    places = (directory / folder / "lexicon.txt" for folder in ("", "train", "local/dict"))
    own = [file for file in places if file.is_file()]
    lists = next(iter(SPHINX.sources(Path(path))), None)
    dictionaries = sorted(lists.parent.glob("*.dic")) if lists else []
    return next(iter(own), dictionaries[0] if len(dictionaries) == 1 else None)


def write_corpus(corpus: Corpus, directory: str | Path) -> None:
    """Write a Kaldi data directory; ``segments`` only if an utterance is less than its whole recording."""
    write_kaldi(corpus, directory)
