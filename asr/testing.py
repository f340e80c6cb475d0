"""Checks for authors of recipes, emission models and grammars: do they do what this package asks of them?

Each raises a `ConformanceError` that lists all that is wrong, and returns nothing if nothing is
(``docs/plugins.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from acoustic.testing import check_emission_model
from asr.config import ExperimentConfig
from asr.corpora.corpus import SPLITS, Corpus, read_corpus
from asr.corpora.marks import source_digest
from asr.corpora.wording import check_lexicon_belongs, forms_for, worded
from asr.recipe import Recipe, load_recipe
from asr.systems import find_system
from asr.text.forms import PLAIN
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from decoder.testing import check_grammar
from foundation.conformance import ConformanceError, conform, raised
from foundation.errors import AsrError, listed
from foundation.files import temporary_folder

__all__ = ["ConformanceError", "check_emission_model", "check_grammar", "check_recipe"]


def check_recipe(recipe: Recipe | str | Path, corpus: str | Path | None = None) -> None:
    """Raise an error that lists all that is wrong with a recipe.

    It prepares the corpus twice, in temporary directories. What it writes must be readable, the same both
    times, and in no two splits; the corpus must stay as it is.

    Parameters
    ----------
    recipe : the recipe, the path of its script, or its name
    corpus : raw corpus, as for ``asr train --corpus``; not for recipes that make their own

    Raises
    ------
    ConformanceError
        Something is wrong; each line says what.
    """
    if isinstance(recipe, str | Path):
        loaded = load_recipe(str(recipe))
        name, recipe = loaded.name, loaded.recipe
    else:
        name = "recipe"
    conform(name, _complaints(recipe, None if corpus is None else Path(corpus)))


def _complaints(recipe: object, corpus: Path | None) -> Iterator[str]:
    """Yield what is wrong; what makes no sense after a first fault is not looked at."""
    if not isinstance(recipe, Recipe):
        yield f"got a {type(recipe).__name__}, expected an asr.Recipe"
        return
    yield from _faults_of_settings(recipe)
    if recipe.needs_corpus and corpus is None:
        yield "it needs a corpus, got none; give one, or say needs_corpus=False"
        return
    before = source_digest(corpus) if corpus is not None else ""
    with temporary_folder("asr-check-") as directory:
        first, second = directory / "1", directory / "2"
        for out in (first, second):
            out.mkdir()
            try:
                recipe.prepare(corpus or directory, out)
            except Exception as error:
                yield f"prepare {raised(error)}; expected train, dev and test below its second argument"
                return
            if corpus is not None and source_digest(corpus) != before:
                yield "prepare changes the corpus; expected it to stay: write below its second argument only"
                return
        yield from _faults_of_task(first, getattr(recipe.config, "text", PLAIN))
        yield from _differences(first, second)


def _faults_of_settings(recipe: Recipe) -> Iterator[str]:
    """Yield what is wrong with configuration and models."""
    if not isinstance(recipe.config, ExperimentConfig):
        yield f"config is a {type(recipe.config).__name__}, expected an asr.ExperimentConfig"
    if isinstance(recipe.models, str) or not recipe.models:
        yield f'models is {recipe.models!r}, expected one name or more, as ("gmm", "pools")'
        return
    for model in recipe.models:
        try:
            find_system(model)
        except AsrError as error:
            yield f"models: {error}"


def _faults_of_task(directory: Path, text: str) -> Iterator[str]:
    """Yield what is wrong with what a recipe wrote."""
    if not (directory / "train").is_dir():
        yield (
            "prepare wrote no train; expected it, and dev and test if there are any: asr.write_corpus "
            "writes one"
        )
        return
    if not (directory / "dev").is_dir():
        yield "prepare wrote no dev; expected one, for without it no weights are tuned: cut it from train"
    corpora: dict[str, Corpus] = {}
    for split in SPLITS:
        if (directory / split).is_dir():
            try:
                corpora[split] = read_corpus(directory / split)
            except AsrError as error:
                yield f"{split}: {error}"
    yield from _faults_of_splits(corpora)
    if "train" in corpora:
        yield from _faults_of_words(directory, corpora["train"], text)


def _faults_of_splits(corpora: Mapping[str, Corpus]) -> Iterator[str]:
    """Yield what is wrong with the splits."""
    seen: dict[tuple[str, float], str] = {}
    for split, corpus in corpora.items():
        places = [(str(u.audio_path), u.start_s) for u in corpus]
        if shared := [place for place in places if place in seen]:
            yield (
                f"{len(shared)} recording(s) are in {split} and in {seen[shared[0]]}, such as "
                f"{shared[0][0]}; expected each in one: accuracies would be too good"
            )
        seen |= dict.fromkeys(places, split)
        if len(corpus) and not any(u.words for u in corpus):
            yield f"{split}: no utterance has a word; expected transcripts"


def _faults_of_words(directory: Path, train: Corpus, text: str) -> Iterator[str]:
    """Yield what is wrong with lexicon and grammars, transcripts read as ``text`` says."""
    path = directory / "lexicon.txt"
    lexicon = None
    if path.is_file():
        try:
            lexicon = Lexicon.read(path)
            check_lexicon_belongs(worded(train, forms_for(text, lexicon, [train]))[0], lexicon)
        except AsrError as error:
            yield f"lexicon.txt: {error}"
    for file in (directory / "word_pairs.txt", *sorted(directory.glob("*.arpa"))):
        if file.is_file():
            try:
                grammar = NGram.read(file) if file.suffix == ".arpa" else WordPairGrammar.read(file)
                if lexicon is not None:
                    check_grammar(grammar, lexicon)
            except AsrError as error:
                yield f"{file.name}: {error}"


def _differences(first: Path, second: Path) -> Iterator[str]:
    """Yield the files that are not the same both times, but for where they lie."""
    names = {p.relative_to(first) for p in first.rglob("*") if p.is_file()}
    other_names = {p.relative_to(second) for p in second.rglob("*") if p.is_file()}
    other = [str(p) for p in names ^ other_names]
    for path in sorted(names & other_names):
        contents = [(d / path).read_bytes().replace(str(d).encode(), b"") for d in (first, second)]
        if contents[0] != contents[1]:
            other.append(str(path))
    if other:
        yield (
            f"prepare writes other files the second time: {listed(sorted(other), 5)}; expected the same "
            "bytes: sort what comes from a set or a directory, and give random choices a seed"
        )
