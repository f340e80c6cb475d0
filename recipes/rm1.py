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

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from acoustic.emissions.aligned_frames import THESIS
from asr.config import ExperimentConfig
from asr.corpora.corpus import Corpus, Utterance, write_corpus
from asr.errors import CorpusError
from asr.recipe import Recipe
from decoder.grammars.grammar import SENTENCE_END, SENTENCE_START
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon, Pronunciation

OWN_LEXICON = "lexicon.txt"
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
_SUFFIXES = (".sph", ".wav")
_MOST_LISTED = 20  # problems in one error; by feel

Words = tuple[str, ...]


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
    """Raise an error if a part has another number of recordings than on the published discs."""
    found = {part: (len(corpus), len(corpus.speakers)) for part, corpus in corpora.items()}
    if found != SIZES:
        named = (f"{p} {n} of {k} (expected {SIZES[p][0]} of {SIZES[p][1]})" for p, (n, k) in found.items())
        raise CorpusError(f"{corpus_dir}: utterances of speakers: {', '.join(named)}; copy the discs again")


def check_words(words: set[str], lexicon: Lexicon) -> None:
    """Raise an error that names the words of transcripts and grammar without a pronunciation."""
    missing = sorted(word for word in words if word not in lexicon)
    raise_all([f'word "{word}" has no pronunciation; add it to {OWN_LEXICON}' for word in missing])


# Files on the copies of the discs, whatever the case in which the file system shows their names


class Discs:
    """The directory that holds a copy of each disc.

    Parameters
    ----------
    root : the directory
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._listings: dict[Path, dict[str, Path]] = {}

    def find(self, name: str) -> Path | None:
        """Return the file or directory of a relative name, None if there is none."""
        place = self.root
        for part in PurePosixPath(name.strip("/")).parts:
            inside = self._inside(place).get(part.lower())
            if inside is None:
                return None
            place = inside
        return place

    def all_of(self, parts: Mapping[str, Sequence[str]]) -> dict[str, Path]:
        """Return where each part lies, given the names it may have; one error names all that are missing."""
        found = {part: next(filter(None, map(self.find, names)), None) for part, names in parts.items()}
        raise_all(
            [
                f"{self.root / ' or '.join(parts[part])}: not there, expected {part} as on the discs of "
                "LDC93S3A; copy it, or give the directory that holds all discs"
                for part, place in found.items()
                if place is None
            ]
        )
        return {part: place for part, place in found.items() if place is not None}

    def recordings(self, directory: Path) -> list[Path]:
        """Return the recordings in the subdirectories of a directory, sorted."""
        folders = self._inside(directory).values()
        files = (file for folder in folders for file in self._inside(folder).values())
        return sorted(file for file in files if file.suffix.lower() in _SUFFIXES)

    def listed(self, disc: str, names: Iterable[str]) -> list[Path]:
        """Return the recordings of an index, whose names may lack their suffix or have another."""
        found = {name: self._recording(f"{disc}/{name.strip('/')}") for name in names}
        raise_all(
            [
                f"{self.root / disc / name.strip('/')}: no such recording, expected .sph or .wav; copy it"
                for name, place in found.items()
                if place is None
            ]
        )
        return sorted(place for place in found.values() if place is not None)

    def _recording(self, name: str) -> Path | None:
        stem = name[: -len(".sph")] if name.lower().endswith(_SUFFIXES) else name
        return next((p for suffix in _SUFFIXES if (p := self.find(stem + suffix))), None)

    def _inside(self, directory: Path) -> dict[str, Path]:
        """Return what lies in a directory by its name in small letters; nothing in a file."""
        if directory not in self._listings:
            inside = sorted(directory.iterdir()) if directory.is_dir() else []
            self._listings[directory] = {place.name.lower(): place for place in inside}
        return self._listings[directory]


def raise_all(problems: Sequence[str]) -> None:
    """Raise one error that names the problems, one a line; a long list is cut and counted."""
    if problems:
        more = len(problems) - _MOST_LISTED
        rest = [f"and {more} more like these"] if more > 0 else []
        raise CorpusError("\n".join([*problems[:_MOST_LISTED], *rest]))


# The documents write the apostrophe as a plus sign, GRIDLEY+S; here it is an apostrophe. Lines that begin
# with a semicolon are comments.

BOUNDARY = "SENTENCE-END"  # in wp_gram.txt: as a heading the start of a sentence, as a successor its end
_SENTENCE = re.compile(r"(.+)\((\w+)\)\s*")


def read_sentences(path: Path) -> dict[str, Words]:
    """Return the words of each sentence by its name in capitals, from lines ``SHOW ALL SHIPS (SR009)``."""
    sentences: dict[str, Words] = {}
    for number, line in lines(path):
        found = _SENTENCE.fullmatch(line)
        if found is None:
            raise CorpusError(f'{path}:{number}: expected "WORD … (NAME)", got "{line[:60]}"; copy it again')
        sentences[found[2].upper()] = tuple(map(as_word, found[1].split()))
    return sentences


def read_word_pairs(path: Path) -> WordPairGrammar:
    """Return the grammar of a list of headings ``>WORD``, each followed by lines with one successor.

    What stands above the first heading explains the format.
    """
    successors: dict[str, list[str]] = {}
    following: list[str] | None = None
    for _, line in lines(path):
        word = as_word(line.strip().lstrip(">").strip())
        if line.startswith(">"):
            following = successors.setdefault(SENTENCE_START if word == BOUNDARY else word, [])
        elif following is not None:
            following.append(SENTENCE_END if word == BOUNDARY else word)
    if SENTENCE_START not in successors:
        raise CorpusError(f'{path}: no line ">{BOUNDARY}", expected one above the first words; copy it again')
    return WordPairGrammar(successors)


def read_index(path: Path) -> list[str]:
    """Return the recordings that an index lists, one a line, as paths from the top of their disc."""
    return [line.strip() for _, line in lines(path)]


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines that say something."""
    for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), start=1):
        if line.strip() and not line.startswith(";"):
            yield number, line


def as_word(written: str) -> str:
    """Return a word as transcripts, grammar and lexicon have it in common.

    >>> as_word("gridley+s")
    "GRIDLEY'S"
    """
    return written.upper().replace("+", "'")


# On the discs a stop is a closure and, if it is heard, a release: kcl k. Here a stop with its release is one
# phone k, and a closure without release is a phone of its own, kd, for d, k, p and t, but the plain stop for
# b and g. Phones that HTK's models lack are merged with a similar one, t s is one phone ts, and the glottal
# stop q is left out.

_VOWELS = "aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw"
_CONSONANTS = "b ch d dd dh dx el en f g hh jh k kd l m n ng p pd r s sh t td th ts v w y z"
PHONES = frozenset(f"{_VOWELS} {_CONSONANTS}".split())
MERGED = {"zh": "sh", "eng": "ng", "hv": "hh", "em": "m", "axr": "er", "ix": "ih"}
UNRELEASED = {"bcl": "b", "dcl": "dd", "gcl": "g", "kcl": "kd", "pcl": "pd", "tcl": "td"}
_ENTRY = re.compile(r"[a-z]")  # headings of the document have other first characters
_STRESS = re.compile(r"\+1\b")


def read_lexicon(path: Path) -> Lexicon:
    """Return the lexicon in a file ``lexicon.txt`` as it is, or that of the discs in the 47 phones."""
    return Lexicon.read(path) if path.name.lower() == OWN_LEXICON else read_pronunciations(path)


def read_pronunciations(path: Path) -> Lexicon:
    """Return the lexicon of lines ``word phone phone …``."""
    entries: dict[str, list[Pronunciation]] = {}
    for number, line in lines(path):
        if not _ENTRY.match(line):
            continue
        word, *timit = _STRESS.sub("", line).split()
        phones = rewritten(timit)
        if unknown := sorted(set(phones) - PHONES) or (not phones and ["nothing"]):
            raise CorpusError(
                f'{path}:{number}: word "{word}" has {", ".join(unknown)}, expected phones of TIMIT; correct '
                "the line, or write a lexicon.txt of your own"
            )
        entries.setdefault(as_word(word), []).append(phones)
    return Lexicon(entries)


def rewritten(timit: Sequence[str]) -> Pronunciation:
    """Return a pronunciation in the 47 phones.

    >>> rewritten("k ae tcl t s".split()), rewritten("kcl k ae tcl".split())
    (('k', 'ae', 'ts'), ('k', 'ae', 'td'))
    """
    phones: list[str] = []
    for before, phone, after in zip(["", *timit], timit, [*timit[1:], ""], strict=False):
        is_part_of_release = phone in UNRELEASED and after == phone[0]
        if phone == "q" or is_part_of_release or (before, phone) == ("t", "s"):
            continue
        is_affricate = (phone, after) == ("t", "s")
        phones.append("ts" if is_affricate else UNRELEASED.get(phone) or MERGED.get(phone, phone))
    return tuple(phones)


RECIPE = Recipe(
    prepare,
    ExperimentConfig(grammars=("word-pair",), retrain_with_dev=False),
    thesis=replace(THESIS, sigma=8.0),
)
