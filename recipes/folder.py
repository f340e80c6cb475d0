"""Your own recordings, in any layout that `read_corpus` knows (``docs/corpora.md``).

Splits that the corpus has (folders ``train/``, ``dev/``, ``test/``; Common Voice's, Sphinx's, those of
tables) are used as they are; missing parts are cut from train. With five speakers or more, whole speakers are
cut, so that none is in two parts; otherwise utterances are cut. Speakers or utterances are sorted by code
point; of every ten the first goes to test and the sixth to dev; of fewer than ten the first goes to test and
the middle one to dev. The corpus's own lexicon is used if it has one (see `lexicon_of`), else each word is
spelled by its letters. ``commands.txt``, ``word_pairs.txt``, ``*.arpa``, ``*.jsgf`` and
``*.slf`` are copied. Of a corpus that is given by a table, these lie beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from asr.config import ExperimentConfig
from asr.corpora.corpus import SPLITS, WHOLE, Corpus, lexicon_of, read_parts, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.lexicon import Lexicon

MIN_SPEAKERS, MIN_UTTERANCES = 5, 10


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, and the lexicon and the grammars that a user's corpus has."""
    parts = all_parts(corpus_dir)
    directory = corpus_dir if corpus_dir.is_dir() else corpus_dir.parent
    sources = [directory / "train", directory]
    own = lexicon_of(corpus_dir)
    for name, part in parts.items():
        write_corpus(part, output_dir / name)
    if own is not None:
        Lexicon.read(own).write(output_dir / "lexicon.txt")
    names = ("commands.txt", "word_pairs.txt", "*.arpa", "*.jsgf", "*.slf")
    for source in [path for d in sources for name in names for path in d.glob(name)]:
        if source.is_file():
            shutil.copyfile(source, output_dir / source.name)


def all_parts(corpus_dir: Path) -> dict[str, Corpus]:
    """Return train, dev and test; parts that the user does not provide are cut from train."""
    parts = read_parts(corpus_dir)
    train = parts.pop(WHOLE) if WHOLE in parts else parts["train"]
    return parts | split(train, [name for name in SPLITS[1:] if name not in parts])


def split(corpus: Corpus, names: Sequence[str]) -> dict[str, Corpus]:
    """Return the parts named ("dev", "test") cut from a corpus by the rule above, and the rest as "train"."""
    n_needed = MIN_UTTERANCES if names else 2
    if len(corpus) < n_needed:
        raise CorpusError(
            f"train has {len(corpus)} utterance(s), expected at least {n_needed} to train on"
            + (f" and to cut {' and '.join(names)} from" if names else "")
            + "; record more, or lay some in folders train/, dev/ and test/"
        )
    groups = corpus.speakers if len(corpus.speakers) >= MIN_SPEAKERS else corpus.ids
    in_turn = min(10, len(groups))
    offsets = {"test": 0, "dev": in_turn // 2}
    chosen = {name: set(groups[offsets[name] :: in_turn]) for name in names}
    chosen["train"] = set(groups).difference(*chosen.values())
    take = corpus.of_speakers if groups is corpus.speakers else corpus.subset
    return {name: take(members) for name, members in chosen.items()}


RECIPE = Recipe(prepare, ExperimentConfig(grammars=("loop", "bigram")))
