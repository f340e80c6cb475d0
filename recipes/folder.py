"""Your own recordings, in any layout that `read_corpus` knows (``docs/corpora.md``).

Splits that the corpus has (folders ``train/``, ``dev/``, ``test/``; Common Voice's, Sphinx's, those of
tables) are used as they are; missing parts are cut from train. With five speakers or more, whole speakers are
cut, so that none is in two parts; otherwise utterances are cut, or whole recordings where it is not known who
speaks. They are sorted by code point; of every ten the first goes to test and the sixth to dev; of fewer than
ten the first goes to test and the middle one to dev. Dev and test are cut from what can be used; what cannot
is left to train, where it is counted, named and left out.

The corpus's own lexicon is used if it has one (see `lexicon_of`), else each word is spelled by its letters,
or a whole where words are few. ``commands.txt``, ``word_pairs.txt``, ``*.arpa``, ``*.jsgf`` and ``*.slf`` are
copied. Of a corpus that is given by a table, these lie beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from asr.config import ExperimentConfig, Speakers
from asr.corpora.corpus import SPLITS, WHOLE, Corpus, lexicon_of, read_parts, write_corpus
from asr.corpora.sound_faults import can_be_used
from asr.corpora.utterances import are_speakers_known, recording_names
from asr.errors import CorpusError
from asr.progress import say
from asr.recipe import Recipe
from decoder.lexicon import Lexicon

MIN_SPEAKERS, MIN_UTTERANCES = 5, 10


def prepare(corpus_dir: Path, output_dir: Path, speakers: Speakers = "auto") -> None:
    """Write ``train``, ``dev``, ``test``, and the lexicon and the grammars that a user's corpus has.

    ``speakers`` are those of `read_corpus`.
    """
    parts = all_parts(corpus_dir, speakers)
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


def all_parts(corpus_dir: Path, speakers: Speakers = "auto") -> dict[str, Corpus]:
    """Return train, dev and test; parts that the user does not provide are cut from train."""
    parts = read_parts(corpus_dir, speakers)
    train = parts.pop(WHOLE) if WHOLE in parts else parts["train"]
    missing = [name for name in SPLITS[1:] if name not in parts]
    return parts | split(train, missing, can_be_used(train) if missing else None)


def split(corpus: Corpus, names: Sequence[str], usable: Collection[str] | None = None) -> dict[str, Corpus]:
    """Return the parts named ("dev", "test") cut from a corpus by the rule above, and the rest as "train".

    Where it is known which utterances are ``usable``, the parts are cut from these alone.
    """
    n_needed = MIN_UTTERANCES if names else 2
    if len(corpus) < n_needed:
        raise CorpusError(
            f"train has {len(corpus)} utterance(s), expected at least {n_needed} to train on"
            + (f" and to cut {' and '.join(names)} from" if names else "")
            + "; record more, or lay some in folders train/, dev/ and test/"
        )
    whole = corpus
    if usable is not None and len(usable) >= len(SPLITS):
        corpus = corpus.subset(usable)
    group_of = _groups(corpus)
    if names and len(corpus.speakers) < MIN_SPEAKERS:
        say(f"{' and '.join(names)}: the same voices as train, figures say nothing of other people")
    elif names and not are_speakers_known(corpus):
        say(
            f"{' and '.join(names)}: perhaps the same voices as train, figures need not hold for other people"
        )
    groups = sorted(set(group_of.values()))
    in_turn = min(10, len(groups))
    offsets = {"test": 0, "dev": in_turn // 2}
    chosen = {name: set(groups[offsets[name] :: in_turn]) for name in names}
    parts = {
        name: corpus.subset(key for key, group in group_of.items() if group in members)
        for name, members in chosen.items()
    }
    return parts | {"train": whole.subset(set(whole.ids).difference(*(part.ids for part in parts.values())))}


def _groups(corpus: Corpus) -> dict[str, str]:
    """Return by utterance id what is not cut apart: a speaker, a recording, or the utterance itself."""
    if are_speakers_known(corpus):
        found = {u.utterance_id: u.speaker for u in corpus}
    else:
        names = recording_names(corpus)
        found = {u.utterance_id: names[u.audio_path] for u in corpus}
    return found if len(set(found.values())) >= MIN_SPEAKERS else {key: key for key in corpus.ids}


RECIPE = Recipe(prepare, ExperimentConfig(grammars=("loop", "bigram")))
