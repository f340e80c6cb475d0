"""A small generated copy of the discs of Resource Management, in their layout and formats."""

from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
import soundfile

SENTENCES = {
    "SA1": "SHOW ALL SHIPS",
    "SB01": "LIST GRIDLEY+S TRACK",
    "SR001": "SHOW GRIDLEY+S TRACK",
    "SR002": "LIST ALL SHIPS",
    "ST0003": "SHOW SHIPS",
    "ST0004": "LIST GRIDLEY+S SHIPS",
}
WORD_PAIRS = """\
 * A symbol '>' before a word in the list below signifies that the word is in
 * the first position of the bigram.

>SENTENCE-END
 LIST
 SHOW
>ALL
 SHIPS
>GRIDLEY+S
 SHIPS
 TRACK
>LIST
 ALL
 GRIDLEY+S
>SHIPS
 SENTENCE-END
>SHOW
 ALL
 GRIDLEY+S
 SHIPS
>TRACK
 SENTENCE-END
"""
PRONUNCIATIONS = """\
; the words of the task
SRI PRONUNCIATIONS
all             ao+1 l
gridley+s       gcl g r ih+1 dcl l iy z
list            l ih+1 s tcl t
ships           sh ih+1 pcl p s
show            sh ow
track           tcl t r ae+1 kcl
track           tcl t r ae+1 kcl k
"""
SAMPLE_RATE = 16000


class Tree:
    """Writes recordings and documents under one directory.

    Parameters
    ----------
    root : directory that holds the discs
    upper : whether the names of the tests' disc are in capitals, as some systems show them
    """

    def __init__(self, root: Path, *, upper: bool = False) -> None:
        self.root = root
        self.upper = upper
        self.rng = np.random.default_rng(0)

    def place(self, name: str) -> Path:
        """Return the path of a relative name, its directories made."""
        head, slash, tail = name.partition("rm1_audio2/")
        path = self.root / (f"{head}{slash}{tail.upper()}" if self.upper and slash else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def text(self, name: str, content: str) -> None:
        """Write a document."""
        self.place(name).write_text(content, encoding="latin-1")

    def recording(self, name: str) -> np.ndarray:
        """Write a SPHERE file of a twentieth of a second; return its samples."""
        samples = self.rng.integers(-9000, 9000, SAMPLE_RATE // 20).astype(np.int16)
        soundfile.write(self.place(name), samples, SAMPLE_RATE, format="NIST", subtype="PCM_16")
        return samples

    def training(self, n_speakers: int, n_sentences: int) -> None:
        """Write so many speakers with so many sentences each, and the sentences for adaptation."""
        for k in range(n_speakers):
            for n in range(n_sentences):
                self.recording(f"rm1_audio1/rm1/ind_trn/spk{k:02d}_4/sr{n:03d}.sph")
            for name in ("sa1", "sb01"):
                self.recording(f"rm1_audio1/rm1/ind_trn/spk{k:02d}_4/{name}.sph")

    def indexed(self, name: str, number: int, n_speakers: int, n_sentences: int) -> None:
        """Write a test set and its index, in which a suffix is not the one of the file."""
        listed = [
            f"rm1/ind/{name}/{name[0]}{k:02d}0_6/st{n:04d}"
            for k in range(n_speakers)
            for n in range(n_sentences)
        ]
        for stem in listed:
            self.recording(f"rm1_audio2/2_4_2/{stem}.sph")
        lines = [";; the recordings of a test", *(f"/{stem}.wav" for stem in listed)]
        index = f"rm1_audio2/2_4_2/rm1/doc/tests/{number}_{name}/{number}_indtst.ndx"
        self.text(index, "\n".join(lines) + "\n")

    def documents(self, n_training: int, n_tests: int) -> None:
        """Write sentences, word pairs and pronunciations."""
        spoken = [SENTENCES[name] for name in ("SR001", "SR002", "ST0003", "ST0004")]
        said = {name: SENTENCES[name] for name in ("SA1", "SB01")}
        said |= {f"SR{n:03d}": words for n, words in enumerate(islice(cycle(spoken), n_training))}
        said |= {f"ST{n:04d}": words for n, words in enumerate(islice(cycle(spoken), n_tests))}
        lines = ["; sentences", *(f"{words} ({name})" for name, words in said.items())]
        self.text("rm1_audio1/rm1/doc/al_sents.snr", "\n".join(lines) + "\n")
        self.text("rm1_audio1/rm1/doc/wp_gram.txt", WORD_PAIRS)
        self.text("rm1_audio2/2_4_2/score/src/rdev/pcdsril.txt", PRONUNCIATIONS)


@pytest.fixture
def tree_of() -> type[Tree]:
    """Return the writer of discs."""
    return Tree


@pytest.fixture
def small(tmp_path: Path) -> Tree:
    """Return discs with two training speakers and one speaker in each test, two sentences each."""
    tree = Tree(tmp_path / "discs")
    tree.documents(2, 2)
    tree.training(2, 2)
    tree.indexed("oct89", 5, 1, 2)
    tree.indexed("feb89", 4, 1, 2)
    return tree
