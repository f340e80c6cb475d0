"""Resource Management from copies of its discs: parts, words, grammar, and what is missing."""

import numpy as np
import pytest
from made_steps import Made

from asr.commands.models import train
from asr.config import with_preset
from asr.corpora.corpus import SPLITS, read_corpus
from asr.errors import CorpusError
from asr.experiment import Experiment
from asr.recipe import load_recipe
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from features.audio import audio_info, read_audio
from recipes import rm1

SMALL = {"train": (4, 2), "dev": (2, 1), "test": (2, 1)}


@pytest.fixture
def small_sizes(monkeypatch):
    monkeypatch.setattr(rm1, "SIZES", SMALL)


class TestPrepare:
    def test_parts_of_the_thesis(self, tree_of, tmp_path):
        tree = tree_of(tmp_path / "discs", upper=True)
        tree.documents(40, 30)
        tree.training(72, 40)
        tree.indexed("oct89", 5, 10, 30)
        tree.indexed("feb89", 4, 10, 30)
        rm1.prepare(tree.root, tmp_path / "task")
        parts = {name: read_corpus(tmp_path / "task" / name) for name in SPLITS}
        sizes = {name: (len(part), len(part.speakers)) for name, part in parts.items()}
        assert sizes == {"train": (2880, 72), "dev": (300, 10), "test": (300, 10)}
        assert {i.partition("-")[2][:2] for i in parts["train"].ids} == {"sr"}
        assert parts["train"].speakers[:2] == ("spk00_4", "spk01_4")
        assert parts["dev"].ids[31] == "o010_6-st0001"
        assert parts["test"].text["f090_6-st0003"] == ("LIST", "GRIDLEY'S", "SHIPS")

    def test_lexicon_and_grammar(self, small, small_sizes, tmp_path):
        rm1.prepare(small.root, tmp_path / "task")
        lexicon = Lexicon.read(tmp_path / "task/lexicon.txt")
        assert lexicon.pronunciations("GRIDLEY'S") == (("g", "r", "ih", "dd", "l", "iy", "z"),)
        assert lexicon.pronunciations("TRACK") == (("t", "r", "ae", "kd"), ("t", "r", "ae", "k"))
        grammar = WordPairGrammar.read(tmp_path / "task/word_pairs.txt")
        assert grammar.successors["<s>"] == ("LIST", "SHOW")
        assert grammar.successors["GRIDLEY'S"] == ("SHIPS", "TRACK")
        assert grammar.successors["TRACK"] == ("</s>",)

    def test_lexicon_of_ones_own(self, small, small_sizes, tmp_path):
        small.text(
            "lexicon.txt", "".join(f"{w} x\n" for w in ("ALL", "GRIDLEY'S", "LIST", "SHIPS", "SHOW", "TRACK"))
        )
        rm1.prepare(small.root, tmp_path / "task")
        assert Lexicon.read(tmp_path / "task/lexicon.txt").phones == ("x",)

    def test_recordings_are_read(self, small, small_sizes, tmp_path):
        said = small.recording("rm1_audio1/rm1/ind_trn/spk01_4/sr001.sph")
        rm1.prepare(small.root, tmp_path / "task")
        path = read_corpus(tmp_path / "task/train").utterances[-1].audio_path
        assert audio_info(path).sample_rate == 16000
        np.testing.assert_allclose(read_audio(path), said / 32768, rtol=0, atol=1e-7)


class TestErrors:
    def test_all_missing_parts_at_once(self, tmp_path):
        with pytest.raises(CorpusError, match=r"ind_trn: not there") as raised:
            rm1.prepare(tmp_path, tmp_path / "task")
        lines = str(raised.value).splitlines()
        assert [line.partition(": not there")[0] for line in lines] == [
            f"{tmp_path}/{name}"
            for name in (
                "rm1_audio1/rm1/ind_trn",
                "rm1_audio1/rm1/doc/al_sents.snr",
                "rm1_audio1/rm1/doc/wp_gram.txt",
                "rm1_audio2/2_4_2/rm1/doc/tests/5_oct89/5_indtst.ndx",
                "rm1_audio2/2_4_2/rm1/doc/tests/4_feb89/4_indtst.ndx",
                "lexicon.txt or rm1_audio2/2_4_2/score/src/rdev/pcdsril.txt",
            )
        ]
        assert not (tmp_path / "task").exists()

    def test_sizes(self, small, tmp_path):
        with pytest.raises(
            CorpusError, match=r"train 4 of 2 \(expected 2880 of 72\), dev 2 of 1 \(expected 300 of 10"
        ):
            rm1.prepare(small.root, tmp_path / "task")

    def test_recordings_of_an_index(self, small, tmp_path):
        (small.root / "rm1_audio2/2_4_2/rm1/ind/feb89/f000_6/st0001.sph").unlink()
        with pytest.raises(
            CorpusError, match=r"f000_6/st0001\.wav: no such recording, expected \.sph or \.wav"
        ):
            rm1.prepare(small.root, tmp_path / "task")

    def test_words_without_pronunciation(self, small, small_sizes, tmp_path):
        small.text("lexicon.txt", "ALL ao l\nSHIPS sh ih pd s\nSHOW sh ow\n")
        expected = (
            r'"GRIDLEY\'S" has no .*\n.*"LIST" has no .*\n.*"TRACK" has no pronunciation; add it to lexicon'
        )
        with pytest.raises(CorpusError, match=expected):
            rm1.prepare(small.root, tmp_path / "task")

    def test_sentence_without_words(self, small, small_sizes, tmp_path):
        small.recording("rm1_audio1/rm1/ind_trn/spk01_4/sr777.sph")
        with pytest.raises(CorpusError, match=r"sr777\.sph: no words of sr777 in al_sents\.snr"):
            rm1.prepare(small.root, tmp_path / "task")


class TestRecipe:
    def test_preset_of_the_thesis(self):
        recipe = load_recipe("rm1").recipe
        thesis = with_preset(recipe.config, "thesis", recipe.thesis)
        assert (thesis.hybrid.sigma, thesis.hybrid.units, thesis.front_end.normalize) == (
            8.0,
            "phone",
            "global",
        )
        assert with_preset(recipe.config, "best", recipe.thesis) is recipe.config
        assert not thesis.retrain_with_dev

    def test_asr_train_uses_the_preset(self, tmp_path, monkeypatch):
        asked = []
        monkeypatch.setattr(
            "asr.experiment.Experiment.run", lambda experiment, names: asked.append((experiment, names))
        )
        for preset in ("thesis", "best"):
            train("rm1", corpus=tmp_path, out=tmp_path.parent / "exp", preset=preset)
        assert [experiment.config.hybrid.sigma for experiment, _ in asked] == [8.0, 5.0]
        assert {names for _, names in asked} == {("gmm", "pools")}

    def test_stages_of_the_task(self, small, small_sizes, tmp_path):
        loaded = load_recipe("rm1")
        made = Made(Experiment(loaded, small.root, tmp_path / "exp", loaded.recipe.config, "best"))
        assert made.experiment.found.grammars == ("word-pair",)
        grammar = WordPairGrammar.read(made.path("grammars") / "word_pairs.txt")
        assert grammar.words == made.lexicon.words
        assert [c.shape[1] for c in made.data("dev").cepstra] == [39, 39]
