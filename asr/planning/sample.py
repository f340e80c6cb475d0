"""Some of a task's recordings, on which the cost of a frame is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData, usable_cepstra
from asr.errors import CorpusError
from asr.planning.amounts import TaskAmounts, is_known
from features.frontend import FrontEndConfig
from foundation.arrays import Floats, Longs

SAMPLE_S = 120.0  # of train
_LEAST = 2  # recordings, however long they are
_MOST = 400  # recordings, however short they are


def evenly_by_length(utterances: Sequence[Utterance], seconds: Floats, wanted_s: float) -> Corpus:
    """Return utterances of about so many seconds in all, as long and as short as all of them.

    Parameters
    ----------
    utterances : N utterances
    seconds : (N,) length of each; 0 of those that cannot be read, which are not taken
    wanted_s : seconds of all that are taken
    """
    order: Longs = np.argsort(seconds, kind="stable")
    order = order[seconds[order] > 0]
    if not len(order):
        return Corpus(())
    n = int(np.clip(round(wanted_s / seconds[order].mean()), _LEAST, _MOST))
    n = min(n, len(order))
    chosen = order[((np.arange(n) + 0.5) * len(order) / n).astype(int)]
    return Corpus(tuple(utterances[i] for i in chosen))


def training_sample(amounts: TaskAmounts, config: FrontEndConfig) -> SpeechData:
    """Return some utterances of train with their cepstra; where possible all their words are known."""
    train, seconds = amounts.corpora["train"], amounts.seconds["train"]
    spoken = [i for i, u in enumerate(train) if u.spoken]
    known = [i for i in spoken if is_known(train.utterances[i], amounts.lexicon)]
    places = known or spoken
    some = evenly_by_length([train.utterances[i] for i in places], seconds[places], SAMPLE_S)
    data, errors = usable_cepstra(some, config)
    if not len(data.corpus):
        reason = next(iter(errors.values()), "no transcript has words")
        raise CorpusError(
            f"train: of {len(train)} utterances none can be measured ({reason}); expected recordings with "
            "transcripts; check the corpus (asr validate)"
        )
    return data


def held_out_sample(amounts: TaskAmounts, config: FrontEndConfig, wanted_s: float) -> SpeechData:
    """Return some utterances to be decoded, of dev if there is one, else of test or train."""
    split = next(s for s in ("dev", "test", "train") if s in amounts.corpora)
    corpus, seconds = amounts.corpora[split], amounts.seconds[split]
    data, _ = usable_cepstra(evenly_by_length(corpus.utterances, seconds, wanted_s), config)
    return data


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a directory."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
