"""The cepstra of a task, and what all steps read of it: utterances, cepstra, lexicon.

What a step reads comes as a `Speech`: the directories of the task's parts by their names. Each of them is
read once in a run. Grammars and all that recognises words are elsewhere: a change of how words are found
trains no mixtures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.corpora.marks import Marks
from asr.corpora.speech_data import SpeechData, compute_cepstra, load_cepstra, save_cepstra
from asr.corpora.wording import read_wording
from asr.files import as_stage_wrote, read_json, write_json
from decoder.lexicon import Lexicon
from features.audio import warn_of_low_rates
from features.frontend import FrontEndConfig

if TYPE_CHECKING:
    from asr.training.task import Source

LEXICON, LEFT_OUT = "lexicon.txt", "left_out.json"

# The directories of ``task``, ``words``, ``lexicon``, of the features of each split by its name ("train 1.07"
# for copies with frequencies warped), and of ``left_out``, which says what of these is not learned from.
Speech: TypeAlias = Mapping[str, Path]


def compute_features(
    directory: Path,
    task: Path,
    *,
    corpus: Corpus,
    marks: Marks,
    source: Source,
    split: str,
    label: str,
    front_end: FrontEndConfig,
    most_unusable: float,
    n_all: int,
) -> None:
    """Write the cepstra of one split's corpus; ``label`` is the split, with the warp of frequencies if any.

    What may be unusable is a share of ``n_all``, the utterances of all splits.

    Recordings may lie in the task's directory. The marks are those of the others when the run began: one that
    has changed since is an error.
    """
    data = compute_cepstra(
        corpus,
        front_end,
        label,
        most_left_out=most_unusable,
        n_all=n_all,
        marks=marks,
        tells_silences=label == split,
    )
    source.check_unchanged()
    if label == "train":
        warn_of_low_rates((u.audio_path for u in data.corpus), front_end.mfcc.sample_rate)
    save_cepstra(data, directory, split)


def write_left_out(directory: Path, ids: Iterable[str]) -> None:
    """Write the ids of utterances that are not learned from."""
    write_json(directory / LEFT_OUT, sorted(ids))


def read_left_out(directory: Path) -> frozenset[str]:
    """Return the ids that `write_left_out` wrote."""
    with as_stage_wrote(directory / LEFT_OUT):
        return frozenset(map(str, read_json(directory / LEFT_OUT)))


def read_speech(speech: Speech, warp: float | None = None) -> SpeechData:
    """Return the utterances and cepstra of all splits together, but for what is not learned from.

    With a ``warp``, the cepstra are those of the copies whose frequencies are warped.
    """
    return _read_speech(tuple(speech.items()), warp)


@lru_cache(6)
def _read_speech(parts: tuple[tuple[str, Path], ...], warp: float | None) -> SpeechData:
    speech, total = dict(parts), SpeechData(Corpus(()), ())
    for split in (s for s in SPLITS if s in speech):
        corpus = read_corpus_of(speech["task"], speech["words"], split)
        features = speech[split if warp is None else f"{split} {warp:g}"]
        total = total + load_cepstra(corpus, features, split)
    unwanted = read_left_out(speech["left_out"]) if "left_out" in speech else ()
    return total.without(unwanted) if unwanted else total


def read_lexicon(speech: Speech) -> Lexicon:
    """Return the task's pronunciations, with those of words of train and dev that the recipe's lacks."""
    return _lexicon(speech["lexicon"] / LEXICON)


@lru_cache(2)
def _lexicon(path: Path) -> Lexicon:
    return Lexicon.read(path)


@lru_cache(8)
def read_corpus_of(task: Path, words: Path, split: str) -> Corpus:
    """Return a split in the words of the lexicon, empty where the task has none."""
    corpus = corpus_as_prepared(task, split)
    return read_wording(corpus, words / f"{split}.json") if len(corpus) else corpus


def forget() -> None:
    """Forget what was read of a task, at the end of a run."""
    for read in (_lexicon, read_corpus_of, _read_speech):
        read.cache_clear()


def corpus_as_prepared(task: Path, split: str) -> Corpus:
    """Return a split as the recipe wrote it."""
    return read_corpus(task / split) if (task / split).is_dir() else Corpus(())
