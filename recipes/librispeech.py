"""LibriSpeech, or any of its subsets, as published: English read aloud, 16 kHz.

The corpus directory holds subsets (``train-clean-5``, ``dev-clean-2``, ``test-other``, …), or a folder
``LibriSpeech`` that does, with ``SPEAKER/CHAPTER/*.flac`` and ``*.trans.txt``. All that lie there are read;
those of train are one, and so are those of dev and of test. Where there is no test, the subsets of dev are
the test, as usual for mini LibriSpeech (train-clean-5 and dev-clean-2); a dev that is missing is cut from
train by the rule of the recipe ``folder``.

In the corpus directory, or beside the subsets, may lie

- ``lexicon.txt`` or ``librispeech-lexicon.txt``; else pronunciations are those of the CMU dictionary
- ``*.arpa``, ``*.arpa.gz``: a language model, the smallest if there are several

The words that can be recognised are those of the language model, or without one those of train and dev, as
far as they have a pronunciation; words of train and dev that have none get one in training. Without a
language model the trigram of the training text remains. Stress marks are taken off the phones.
"""

from __future__ import annotations

from pathlib import Path

from asr.config import ExperimentConfig
from asr.corpora.corpus import SPLITS, WHOLE, Corpus, read_parts, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.grammars.ngram import NGram
from decoder.lexicon import Lexicon, whole_dictionary
from recipes.folder import split
from recipes.published_models import published_model, unpack_model

LEXICONS = ("lexicon.txt", "librispeech-lexicon.txt")
MODEL = "published.arpa"


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, ``lexicon.txt``, and the language model if there is one."""
    subsets = corpus_dir / "LibriSpeech" if (corpus_dir / "LibriSpeech").is_dir() else corpus_dir
    parts, places = all_parts(subsets), [corpus_dir, subsets]
    for name in SPLITS:
        write_corpus(parts[name], output_dir / name)
    words = {word for name in ("train", "dev") for word in parts[name].vocabulary}
    published = published_model(places)
    if published is not None:
        unpack_model(published, output_dir / MODEL)
        words.update(NGram.read(output_dir / MODEL).words)
    known = read_lexicon(places)
    known.restricted_to(sorted(words & set(known.words))).write(output_dir / "lexicon.txt")


def all_parts(subsets: Path) -> dict[str, Corpus]:
    """Return train, dev and test."""
    parts = read_parts(subsets)
    if WHOLE in parts:
        raise CorpusError(
            f"{subsets}: expected LibriSpeech's subsets there, one of them train-…, got no such folders; "
            "give the directory that holds them"
        )
    if "test" not in parts and "dev" in parts:
        parts["test"] = parts.pop("dev")
    return parts | split(parts["train"], [name for name in SPLITS[1:] if name not in parts])


def read_lexicon(places: list[Path]) -> Lexicon:
    """Return the first lexicon in some folders, or the CMU dictionary, in capitals and without stress."""
    files = [place / name for place in places for name in LEXICONS if (place / name).is_file()]
    known = Lexicon.read(files[0]) if files else whole_dictionary()
    entries: dict[str, list[list[str]]] = {}
    for word in known:
        plain = [[phone.rstrip("012") for phone in variant] for variant in known.pronunciations(word)]
        entries.setdefault(word.upper(), []).extend(plain)
    return Lexicon(entries)


RECIPE = Recipe(prepare, ExperimentConfig(grammars=("trigram",)))
