"""CMU AN4 as published: letters, digits and commands, 948 + 130 utterances of 84 speakers, 16 kHz.

The official split, with ten of the 74 training speakers held out as dev: the training speakers are sorted by
code point and those at positions 3, 10, 17, … 66 (every seventh) are dev.
The ``<s>`` and ``</s>`` of the transcripts are dropped; the lexicon is ``an4.dic`` unchanged.
"""

from __future__ import annotations

from pathlib import Path

from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus, Utterance, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.lexicon import Lexicon

N_TRAIN_AND_DEV, N_TEST, N_TEST_WORDS = 948, 130, 773


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test`` and ``lexicon.txt`` from a directory with ``etc/`` and ``wav/``."""
    official_train, test = read_part(corpus_dir, "train"), read_part(corpus_dir, "test")
    n_words = sum(len(u.words) for u in test)
    if (len(official_train), len(test), n_words) != (N_TRAIN_AND_DEV, N_TEST, N_TEST_WORDS):
        raise CorpusError(
            f"{corpus_dir}: {len(official_train)} train and {len(test)} test utterances of {n_words} words, "
            f"expected {N_TRAIN_AND_DEV} and {N_TEST} of {N_TEST_WORDS}; unpack the published AN4 again"
        )
    held_out = dev_speakers(official_train.speakers)
    write_corpus(
        official_train.of_speakers(set(official_train.speakers) - set(held_out)), output_dir / "train"
    )
    write_corpus(official_train.of_speakers(held_out), output_dir / "dev")
    write_corpus(test, output_dir / "test")
    Lexicon.read(corpus_dir / "etc" / "an4.dic").write(output_dir / "lexicon.txt")


def dev_speakers(speakers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ten speakers held out of the 74 of training."""
    return speakers[3::7][:10]


def read_part(corpus_dir: Path, part: str) -> Corpus:
    """Return the utterances of ``an4_{part}.fileids`` with their transcripts."""
    etc = corpus_dir / "etc"
    transcripts = dict(map(_words_by_id, _lines(etc / f"an4_{part}.transcription")))
    utterances = []
    for file_id in _lines(etc / f"an4_{part}.fileids"):
        path = Path(file_id)
        if path.name not in transcripts:
            raise CorpusError(f'{etc}: "{path.name}" has no transcript, expected one; unpack AN4 again')
        audio = _audio_path(corpus_dir / "wav" / path)
        utterances.append(Utterance(path.name, audio, transcripts[path.name], path.parent.name))
    return Corpus(tuple(utterances))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror}), expected AN4 as published (etc/ and wav/); "
            "give the directory that holds both"
        ) from error


def _words_by_id(line: str) -> tuple[str, tuple[str, ...]]:
    """Return id and words of ``<s> YES </s> (an251-fash-b)``."""
    *words, bracketed = line.split()
    return bracketed.strip("()"), tuple(word for word in words if word not in ("<s>", "</s>"))


def _audio_path(stem: Path) -> Path:
    for suffix in (".wav", ".sph"):
        if (path := stem.with_name(stem.name + suffix)).is_file():
            return path.absolute()
    raise CorpusError(f"{stem}: no .wav or .sph, expected the recording there; unpack AN4 again")


RECIPE = Recipe(
    prepare,
    ExperimentConfig(grammars=("loop", "unigram", "bigram")),
)
