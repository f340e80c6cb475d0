"""Some of a task's recordings, on which the cost of a frame is measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData, load_cepstra, save_cepstra, usable_cepstra
from asr.errors import CorpusError
from asr.planning.amounts import TaskAmounts, is_known
from features.frontend import FrontEndConfig
from foundation.arrays import Floats, Longs

SAMPLE_S = 120.0  # of train; by feel
_LEAST = 2  # recordings, however long they are; by feel
_MOST = 400  # recordings, however short they are; by feel


def evenly_by_length(
    utterances: Sequence[Utterance], seconds: Floats, wanted_s: float, most_s: float = np.inf
) -> Corpus:
    """Return utterances of about so many seconds in all, as long and as short as all of them.

    Parameters
    ----------
    utterances : N utterances
    seconds : (N,) length of each; 0 of those that cannot be read, which are not taken
    wanted_s : seconds of all that are taken
    most_s : no more than that of an utterance counts
    """
    order: Longs = np.argsort(seconds, kind="stable")
    order = order[seconds[order] > 0]
    if not len(order):
        return Corpus(())
    n = int(np.clip(round(wanted_s / np.minimum(seconds[order], most_s).mean()), _LEAST, _MOST))
    n = min(n, len(order))
    chosen = order[((np.arange(n) + 0.5) * len(order) / n).astype(int)]
    return Corpus(tuple(utterances[i] for i in chosen))


def training_sample(amounts: TaskAmounts, config: FrontEndConfig, directory: Path) -> SpeechData:
    """Return some utterances of train; where possible all their words are known.

    Their cepstra are kept in a directory and read whenever they are used, as in training.
    """
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
    save_cepstra(data, directory, "sample")
    return load_cepstra(data.corpus, directory, "sample")


def held_out_sample(
    amounts: TaskAmounts, config: FrontEndConfig, wanted_s: float, most_s: float
) -> SpeechData:
    """Return some utterances to be decoded, of dev if there is one, else of test or train.

    Of each no more than ``most_s`` seconds will be decoded, ``wanted_s`` of all.
    """
    split = next(s for s in ("dev", "test", "train") if s in amounts.corpora)
    corpus, seconds = amounts.corpora[split], amounts.seconds[split]
    data, _ = usable_cepstra(evenly_by_length(corpus.utterances, seconds, wanted_s, most_s), config)
    return data


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a directory."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
