"""A messy twin of a clean corpus: ordinary sentences, a lexicon with gaps, wrong texts, bad recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile

from asr.corpora.corpus import Corpus, Utterance, write_corpus
from decoder.lexicon import Lexicon
from features.audio import read_audio

MISSING_SHARE, WRONG_SHARE, BAD_SHARE = 0.05, 0.02, 0.01


@dataclass(frozen=True)
class Mess:
    """What was planted: words taken from the lexicon, and ids of training utterances by their fault."""

    missing: tuple[str, ...]
    wrong: tuple[str, ...]
    silent: tuple[str, ...]
    cut: tuple[str, ...]


def write_twin(corpora: Mapping[str, Corpus], lexicon: Lexicon, directory: Path, *, seed: int = 0) -> Mess:
    """Write the twin of a task with ``train``, ``dev``, ``test``; only train has wrong texts and bad audio.

    Every transcript becomes a sentence with capitals, commas and a full stop.
    """
    rng = np.random.default_rng(seed)
    train = corpora["train"]
    mess = _planted(train, lexicon, rng)
    utterances = _with_wrong_texts(train, mess.wrong)
    utterances = {i: _with_bad_audio(u, mess, directory / "wav") for i, u in utterances.items()}
    for split, corpus in (corpora | {"train": Corpus(tuple(utterances.values()))}).items():
        written = tuple(replace(u, words=sentence(u.words, rng)) for u in corpus)
        write_corpus(Corpus(written), directory / split)
    lexicon.restricted_to(set(lexicon) - set(mess.missing)).write(directory / "lexicon.txt")
    return mess


def _planted(train: Corpus, lexicon: Lexicon, rng: np.random.Generator) -> Mess:
    """Choose words that are said in training, and distinct utterances for each fault."""
    n_missing = max(1, round(MISSING_SHARE * len(lexicon)))
    n_wrong, n_bad = (max(2, round(share * len(train))) for share in (WRONG_SHARE, BAD_SHARE))
    missing = rng.choice(sorted(set(train.vocabulary) & set(lexicon)), n_missing, replace=False)
    ids = rng.permutation([u.utterance_id for u in train if len(u.words) > 1]).tolist()
    wrong, bad = ids[:n_wrong], ids[n_wrong : n_wrong + n_bad]
    return Mess(tuple(missing.tolist()), tuple(wrong), tuple(bad[::2]), tuple(bad[1::2]))


def _with_wrong_texts(train: Corpus, wrong: Sequence[str]) -> dict[str, Utterance]:
    """Return the utterances by id; those with wrong texts have each other's, in turn."""
    utterances = {u.utterance_id: u for u in train}
    texts = [utterances[i].words for i in wrong]
    for utterance_id, words in zip(wrong, [*texts[1:], *texts[:1]], strict=True):
        utterances[utterance_id] = replace(utterances[utterance_id], words=words)
    return utterances


def _with_bad_audio(utterance: Utterance, mess: Mess, directory: Path) -> Utterance:
    """Return an utterance whose recording is silent or cut in half, if that was planted."""
    name = utterance.utterance_id
    if name not in mess.silent and name not in mess.cut:
        return utterance
    samples = read_audio(utterance.audio_path, 16000, utterance.start_s, utterance.end_s)
    bad = np.zeros_like(samples) if name in mess.silent else samples[: len(samples) // 2]
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.wav"
    soundfile.write(path, bad, 16000)
    return replace(utterance, audio_path=path.absolute(), start_s=0.0, end_s=None)


def sentence(words: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """Return words as a person writes them.

    Examples
    --------
    >>> sentence(["GO", "LEFT"], np.random.default_rng(1))
    ('Go', 'left.')
    """
    if not words:
        return ()
    small = [word.lower() + ("," if rng.random() < 0.1 else "") for word in words]
    last = small[-1].rstrip(",") + ("." if rng.random() < 0.8 else "!")
    return (
        *[small[0].capitalize(), *small[1:]][: len(words) - 1],
        last if len(words) > 1 else last.capitalize(),
    )
