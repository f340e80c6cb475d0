"""Utterances with their cepstra, computed once and kept in two files for each data directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acoustic.parallel import parallel_map
from asr.corpus import Corpus, Utterance
from asr.errors import CorpusError
from asr.progress import progress_bar
from asr.stages import read_json, write_json
from features.audio import read_audio
from features.errors import AsrError
from features.frontend import FrontEnd, FrontEndConfig

Frames = NDArray[np.float32]


@dataclass(frozen=True)
class SpeechData:
    """A corpus with the cepstra (T, D) of each utterance, in the order of the corpus."""

    corpus: Corpus
    cepstra: tuple[Frames, ...]

    @property
    def speakers(self) -> list[str]:
        """The speaker of each utterance."""
        return [u.speaker for u in self.corpus]

    def __iter__(self) -> Iterator[tuple[Utterance, Frames]]:
        return zip(self.corpus, self.cepstra, strict=True)

    def __add__(self, other: SpeechData) -> SpeechData:
        both = sorted([*self, *other], key=lambda pair: pair[0].utterance_id)
        return SpeechData(Corpus(tuple(u for u, _ in both)), tuple(c for _, c in both))

    def without(self, utterance_ids: Sequence[str]) -> SpeechData:
        """Return the data but for some utterances."""
        left_out = set(utterance_ids)
        kept = [(u, c) for u, c in self if u.utterance_id not in left_out]
        return SpeechData(Corpus(tuple(u for u, _ in kept)), tuple(c for _, c in kept))


def compute_cepstra(corpus: Corpus, config: FrontEndConfig, label: str = "features") -> SpeechData:
    """Return the cepstra of a corpus; all recordings that cannot be used are named in one error."""
    front_end = FrontEnd(config)

    def one(utterance: Utterance) -> Frames | AsrError:
        try:
            sample_rate = config.mfcc.sample_rate
            return front_end.cepstra(
                read_audio(utterance.audio_path, sample_rate, utterance.start_s, utterance.end_s)
            )
        except AsrError as error:
            return type(error)(f"{utterance.utterance_id}: {error}")

    results = list(progress_bar(parallel_map(one, corpus.utterances), label, len(corpus)))
    errors = [str(r) for r in results if isinstance(r, AsrError)]
    if errors:
        raise CorpusError(
            "\n".join([f"{len(errors)} of {len(corpus)} recordings cannot be used; correct or remove them", *errors])
        )
    return SpeechData(corpus, tuple(r for r in results if not isinstance(r, AsrError)))


def save_cepstra(data: SpeechData, directory: Path, name: str) -> None:
    """Write ``name.npy`` (all frames) and ``name.json`` (ids and lengths)."""
    with open(directory / f"{name}.npy", "wb") as file:
        np.save(file, np.concatenate(data.cepstra))
    write_json(directory / f"{name}.json", {u.utterance_id: len(c) for u, c in data})


def load_cepstra(corpus: Corpus, directory: Path, name: str) -> SpeechData:
    """Return what `save_cepstra` wrote; the frames stay on disk until they are used."""
    lengths = read_json(directory / f"{name}.json")
    frames = np.load(directory / f"{name}.npy", mmap_mode="r")
    bounds = np.cumsum([0, *(lengths[u.utterance_id] for u in corpus)])
    return SpeechData(corpus, tuple(frames[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)))
