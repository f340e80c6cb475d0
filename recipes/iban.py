"""Iban, the language of Sarawak: 7 + 1 hours of radio news, 17 + 6 speakers, 36,000 words, 16 kHz.

As published by S. Samson Juan and L. Besacier (github.com/sarahjuan/iban, openslr.org/24; CC BY-SA 2.0 FR)::

    data/train/train_text, train_utt2spk, train_wav.scp, and data/test/ likewise, data/wav/
    lang/dict/lexicon.txt
    LM/iban-lm-o3.arpa.tar.gz           their trigram of two million words of newspapers
    LM/iban-bp-2012.txt                 these words

Test is the official one. Dev are four of the training speakers, two women and two men: sorted by code point
every fourth, from the fifth on. Where the published language model is not there, it is estimated from the
words of the newspapers by modified Kneser-Ney; where these are not there either, the trigram of the training
transcripts remains.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from asr.config import ExperimentConfig
from asr.corpora.corpus import read_parts, write_corpus
from asr.errors import CorpusError
from asr.language.language_model import language_model
from asr.recipe import Recipe
from decoder.lexicon import Lexicon
from recipes.published_models import published_model, unpack_model

SIZES = {"train": (2659, 17), "test": (473, 6)}  # utterances and speakers
NEWSPAPERS = "LM/iban-bp-2012.txt"
MODEL = "newspapers.arpa"


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, ``lexicon.txt``, and the language model if there is one."""
    parts = read_parts(corpus_dir / "data")
    found = {name: (len(part), len(part.speakers)) for name, part in parts.items()}
    if found != SIZES:
        raise CorpusError(
            f"{corpus_dir}: utterances of speakers: {_sizes(found)}; expected {_sizes(SIZES)}; "
            "get the published corpus again"
        )
    train, held_out = parts["train"], dev_speakers(parts["train"].speakers)
    write_corpus(train.of_speakers(set(train.speakers) - set(held_out)), output_dir / "train")
    write_corpus(train.of_speakers(held_out), output_dir / "dev")
    write_corpus(parts["test"], output_dir / "test")
    lexicon = Lexicon.read(corpus_dir / "lang/dict/lexicon.txt")
    lexicon.write(output_dir / "lexicon.txt")
    published = published_model([corpus_dir / "LM"])
    if published is not None:
        unpack_model(published, output_dir / MODEL)
    elif (corpus_dir / NEWSPAPERS).is_file():
        model = language_model(corpus_dir / NEWSPAPERS, vocabulary=lexicon.words)
        model.ngram.write(output_dir / MODEL)


def dev_speakers(speakers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the four speakers held out of the 17 of training."""
    return speakers[4::4]


def _sizes(parts: Mapping[str, tuple[int, int]]) -> str:
    return ", ".join(f"{name} {n} of {speakers}" for name, (n, speakers) in parts.items())


RECIPE = Recipe(prepare, ExperimentConfig(grammars=("trigram",)))
