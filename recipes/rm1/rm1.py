"""Resource Management (RM1), the corpus of the thesis (4.4.1): naval commands, 991 words, 16 kHz.

For owners of LDC93S3A. The corpus directory holds copies of its discs, as the LDC names them::

    rm1_audio1/rm1/ind_trn/SPEAKER/*.sph                            training, 72 speakers
    rm1_audio1/rm1/doc/al_sents.snr                                 the words of all sentences
    rm1_audio1/rm1/doc/wp_gram.txt                                  the word-pair grammar
    rm1_audio2/2_4_2/rm1/doc/tests/5_oct89/5_indtst.ndx             the recordings of Oct'89
    rm1_audio2/2_4_2/rm1/doc/tests/4_feb89/4_indtst.ndx             the recordings of Feb'89
    rm1_audio2/2_4_2/score/src/rdev/pcdsril.txt                     pronunciations, in TIMIT's phones

Capitals do not matter in these names, and recordings may end in ``.wav``. As in the thesis train is the
72-speaker training set without the sentences for adaptation (2,880), dev is Oct'89 and test is Feb'89. The
pronunciations are rewritten in the 47 phones of HTK's models of this corpus, which are with silence the 48
monophones of the thesis; a ``lexicon.txt`` in the corpus directory takes their place. ``--preset thesis`` is
the thesis's system with its σ of 8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from acoustic.emissions.training import THESIS
from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus, Utterance, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.lexicon import Lexicon
from recipes.rm1.discs import Discs, raise_all
from recipes.rm1.documents import Words, read_index, read_sentences, read_word_pairs
from recipes.rm1.pronunciations import OWN_LEXICON, read_lexicon

DISC_OF_TESTS = "rm1_audio2/2_4_2"
INDEX = f"{DISC_OF_TESTS}/rm1/doc/tests"
PARTS = {
    "the training recordings": ("rm1_audio1/rm1/ind_trn",),
    "the sentences": ("rm1_audio1/rm1/doc/al_sents.snr",),
    "the word pairs": ("rm1_audio1/rm1/doc/wp_gram.txt",),
    "the index of dev": (f"{INDEX}/5_oct89/5_indtst.ndx",),
    "the index of test": (f"{INDEX}/4_feb89/4_indtst.ndx",),
    "the pronunciations": (OWN_LEXICON, f"{DISC_OF_TESTS}/score/src/rdev/pcdsril.txt"),
}
ADAPTATION_SENTENCES = ("SA", "SB")  # the same for all speakers
SIZES = {"train": (2880, 72), "dev": (300, 10), "test": (300, 10)}  # utterances and speakers; thesis 4.4.1


def prepare(corpus_dir: Path, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, ``lexicon.txt`` and ``word_pairs.txt``."""
    discs = Discs(corpus_dir)
    places = discs.all_of(PARTS)
    sentences, grammar = read_sentences(places["the sentences"]), read_word_pairs(places["the word pairs"])
    lexicon = read_lexicon(places["the pronunciations"])
    recordings = {"train": discs.recordings(places["the training recordings"])}
    for part in ("dev", "test"):
        recordings[part] = discs.listed(DISC_OF_TESTS, read_index(places[f"the index of {part}"]))
    corpora = {part: corpus_of(paths, sentences) for part, paths in recordings.items()}
    check_sizes(corpus_dir, corpora)
    check_words({w for c in corpora.values() for w in c.vocabulary} | set(grammar.words), lexicon)
    for part, corpus in corpora.items():
        write_corpus(corpus, output_dir / part)
    lexicon.write(output_dir / "lexicon.txt")
    grammar.write(output_dir / "word_pairs.txt")


def corpus_of(recordings: Sequence[Path], sentences: Mapping[str, Words]) -> Corpus:
    """Return the utterances SPEAKER-SENTENCE of recordings ``SPEAKER/SENTENCE.sph``."""
    spoken = [p for p in recordings if not p.stem.upper().startswith(ADAPTATION_SENTENCES)]
    raise_all(
        [f"{p}: no words of {p.stem} in al_sents.snr" for p in spoken if p.stem.upper() not in sentences]
    )
    return Corpus(tuple(_utterance(path, sentences[path.stem.upper()]) for path in spoken))


def _utterance(path: Path, words: Words) -> Utterance:
    speaker = path.parent.name.lower()
    return Utterance(f"{speaker}-{path.stem.lower()}", path, words, speaker)


def check_sizes(corpus_dir: Path, corpora: Mapping[str, Corpus]) -> None:
    """Raise an error if a part has not the size it has on the discs."""
    found = {part: (len(corpus), len(corpus.speakers)) for part, corpus in corpora.items()}
    if found != SIZES:
        named = (f"{p} {n} of {k} (expected {SIZES[p][0]} of {SIZES[p][1]})" for p, (n, k) in found.items())
        raise CorpusError(f"{corpus_dir}: utterances of speakers: {', '.join(named)}; copy the discs again")


def check_words(words: set[str], lexicon: Lexicon) -> None:
    """Raise an error that names the words of transcripts and grammar without a pronunciation."""
    missing = sorted(word for word in words if word not in lexicon)
    raise_all([f'word "{word}" has no pronunciation; add it to {OWN_LEXICON}' for word in missing])


RECIPE = Recipe(
    prepare,
    ExperimentConfig(grammars=("word-pair",), retrain_with_dev=False),
    thesis=replace(THESIS, sigma=8.0),
)
