"""Utterances with their cepstra, computed once and kept in two files for each data directory."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.marks import Marks, check_unchanged, file_mark
from asr.corpora.problems import leave_out
from asr.corpora.sound_faults import warn_of_silences
from asr.errors import ExperimentError
from asr.files import as_stage_wrote, read_object, write_json
from asr.progress import progress_bar
from features.audio import read_audio
from features.errors import AudioError
from features.frontend import FrontEnd, FrontEndConfig
from features.samples import why_no_speech_in
from foundation.arrays import Singles, check_array
from foundation.blocks import block_map
from foundation.errors import AsrError
from foundation.files import check_regular
from foundation.sequences import Computed

BLOCK_UTTERANCES = 8  # whose results make one file while a stage is under way; by feel

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpeechData:
    """A corpus with the cepstra (T, D) of each utterance, in the order of the corpus."""

    corpus: Corpus
    cepstra: Sequence[Singles]

    @property
    def speakers(self) -> list[str]:
        """The speaker of each utterance."""
        return [u.speaker for u in self.corpus]

    @cached_property
    def n_frames(self) -> list[int]:
        """The number T of frames of each utterance."""
        return [len(cepstra) for cepstra in self.cepstra]

    def __iter__(self) -> Iterator[tuple[Utterance, Singles]]:
        return zip(self.corpus, self.cepstra, strict=True)

    def __add__(self, other: SpeechData) -> SpeechData:
        places = [(u, data.cepstra, n) for data in (self, other) for n, u in enumerate(data.corpus)]
        return _gathered(sorted(places, key=lambda place: place[0].utterance_id))

    def without(self, utterance_ids: Collection[str]) -> SpeechData:
        """Return the data but for some utterances."""
        places = ((u, self.cepstra, n) for n, u in enumerate(self.corpus))
        return _gathered([place for place in places if place[0].utterance_id not in utterance_ids])


def _gathered(places: Sequence[tuple[Utterance, Sequence[Singles], int]]) -> SpeechData:
    """Return utterances with the cepstra that are found in some sequence at some place."""

    def cepstra_of(n: int) -> Singles:
        _, cepstra, place = places[n]
        return cepstra[place]

    return SpeechData(Corpus(tuple(u for u, *_ in places)), Computed(cepstra_of, len(places)))


def compute_cepstra(
    corpus: Corpus,
    config: FrontEndConfig,
    part: str = "",
    *,
    most_left_out: float = 0.0,
    n_all: int | None = None,
    marks: Marks | None = None,
    tells_silences: bool = True,
) -> SpeechData:
    """Return the cepstra of a corpus, or of a part of one, such as ``train``.

    Recordings that cannot be used are named in the log and left out; if they are more than the share
    ``most_left_out`` of all, one error names them. All are ``n_all``, with those of other parts.

    Other parameters are those of `usable_cepstra`.
    """
    of_part = f" of {part}" if part else ""
    label = f"features{of_part}"
    data, errors = usable_cepstra(corpus, config, label, marks=marks, tells_silences=tells_silences)
    problems = [str(error) for error in errors.values()]
    n_most = most_left_out * (len(corpus) if n_all is None else n_all)
    leave_out(
        f"recordings{of_part} cannot be used", problems, len(errors), len(corpus), most_left_out, n_most
    )
    return data


class _Usable(NamedTuple):
    """The cepstra of an utterance, and why its energy is not that of speech, if so."""

    cepstra: Singles
    no_speech: str


def usable_cepstra(
    corpus: Corpus,
    config: FrontEndConfig,
    label: str = "features",
    *,
    marks: Marks | None = None,
    tells_silences: bool = False,
) -> tuple[SpeechData, dict[str, AsrError]]:
    """Return the cepstra of the usable utterances, and the problems of the others by utterance id.

    Parameters
    ----------
    corpus, config : utterances, and how their cepstra are computed
    label : what is done, in a word or two
    marks : those that recordings must have when they are read, by path
    tells_silences : whether the log names usable utterances with a transcript in which nothing is spoken
    """
    front_end, marks = FrontEnd(config), marks or {}

    def one(utterance: Utterance) -> _Usable | AsrError:
        found, path = computed(utterance), str(utterance.audio_path)
        if path in marks:  # what was read is kept under the marks of the beginning
            check_unchanged({path: marks[path]}, {path: file_mark(utterance.audio_path)})
        return found

    def computed(utterance: Utterance) -> _Usable | AsrError:
        rate = config.mfcc.sample_rate
        try:
            samples = read_audio(utterance.audio_path, rate, utterance.start_s, utterance.end_s)
            return _Usable(front_end.cepstra(samples), why_no_speech_in(samples, rate))
        except AsrError as error:
            return type(error)(f"{utterance.utterance_id}: {error}")
        except MemoryError:
            what = f"{utterance.audio_path} needs more memory than there is; cut it into pieces"
            return AudioError(f"{utterance.utterance_id}: {what}")

    found = block_map(one, corpus.utterances, BLOCK_UTTERANCES, label=label, names=lambda u: u.utterance_id)
    results = progress_bar(found, len(corpus), label)
    pairs = list(zip(corpus, results, strict=True))
    good = [(u, r) for u, r in pairs if not isinstance(r, AsrError)]
    errors = {u.utterance_id: r for u, r in pairs if isinstance(r, AsrError)}
    if tells_silences:
        warn_of_silences([(u, r.no_speech) for u, r in good if r.no_speech])
    return SpeechData(Corpus(tuple(u for u, _ in good)), tuple(r.cepstra for _, r in good)), errors


def save_cepstra(data: SpeechData, directory: Path, name: str) -> None:
    """Write ``name.npy`` (all frames) and ``name.json`` (ids and lengths)."""
    shape = (sum(data.n_frames), data.cepstra[0].shape[1])
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with open(directory / f"{name}.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for frames in data.cepstra:
            file.write(np.ascontiguousarray(frames, dtype="<f4").tobytes())
    write_json(directory / f"{name}.json", dict(zip(data.corpus.ids, data.n_frames, strict=True)))


def load_cepstra(corpus: Corpus, directory: Path, name: str) -> SpeechData:
    """Return what `save_cepstra` wrote of a corpus; the frames are read whenever they are used."""
    path = directory / f"{name}.npy"
    with as_stage_wrote(directory / f"{name}.json"):
        lengths = _lengths(read_object(directory / f"{name}.json"))
    used = corpus.subset(lengths)
    bounds = np.cumsum([0, *(lengths[u.utterance_id] for u in used)], dtype=np.int64).tolist()
    with as_stage_wrote(path):
        n_columns, first = _columns_and_offset(path, sum(lengths.values()))

    def read(n: int) -> Singles:
        start, stop = bounds[n] * n_columns, bounds[n + 1] * n_columns
        with as_stage_wrote(path):  # it may have changed since
            found = np.fromfile(path, "<f4", stop - start, offset=first + 4 * start)
            return np.asarray(found.reshape(bounds[n + 1] - bounds[n], n_columns), dtype=np.float32)

    return SpeechData(used, Computed(read, len(used)))


def _lengths(record: dict[str, object]) -> dict[str, int]:
    """Return the number of frames of each utterance that a record holds."""
    lengths = {utterance: n for utterance, n in record.items() if type(n) is int and n >= 0}
    if wrong := sorted(set(record) - set(lengths)):
        raise ExperimentError(f"{wrong[0]}: expected a number of frames")
    return lengths


def _columns_and_offset(path: Path, n_frames: int) -> tuple[int, int]:
    """Return the number of columns and the first byte of the numbers of the frames in a file."""
    # Not a map that stays: its pages would stay in memory, and Windows deletes no file that is mapped.
    check_regular(path)
    mapped = np.lib.format.open_memmap(path, mode="r")
    check_array("frames", mapped[:0], np.float32, (None, None), ExperimentError)
    if len(mapped) != n_frames:
        raise ExperimentError(f"expected {n_frames} frames, got {len(mapped)}")
    return mapped.shape[1], int(mapped.offset)
