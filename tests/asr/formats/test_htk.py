"""HTK's dictionary, configurations, and the files for HVite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acoustic import Topology
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.mmf import HtkModel, parse_mmf
from asr.errors import ConfigError, ExperimentError
from asr.formats.htk import front_end_config, model_files, read_dictionary
from decoder.decoder import DecoderConfig
from decoder.grammars.finite_state import read_slf
from decoder.grammars.jsgf import parse_jsgf
from decoder.lexicon import Lexicon
from features.mfcc import MfccConfig
from foundation.files import write_together

LEXICON = Lexicon({"GO": [("g", "ow"), ("g",)], "it's": [("ow",)], "5": [("g",)], "UNUSED": [("ow", "ow")]})


def model(**changes: bool) -> HtkModel:
    topology = Topology.monophones(LEXICON.phones, n_states=2)
    topology = Topology(topology.phones, topology.phone_states, topology.self_loops, **changes)
    shape = (topology.n_states, 1, 39)
    return HtkModel(topology, GmmModel(np.zeros(shape[:2]), np.zeros(shape), np.ones(shape)), "MFCC_E_D_A")


def test_what_hvite_is_given(tmp_path: Path) -> None:
    tables = parse_jsgf('#JSGF V1.0; public <s> = GO+ it\'s | "5";').compile(())
    decoder = DecoderConfig(lm_scale=2.5, word_penalty=-7.0)
    files = model_files(tmp_path, model(), LEXICON, tables, decoder, MfccConfig(low_hz=80.0))
    write_together(files)
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts["command.txt"] == (
        "HVite -C config -H hmmdefs -S features.scp -i words.mlf -w wdnet -s 2.5 -p -7.0 dict hmmlist\n"
    )
    assert texts["dict"].splitlines() == [
        "<s> []",
        "<s> [] sil",
        "<s> [] sp",
        "</s> []",
        *('"5" ["5"] g', '"5" ["5"] g sil', '"5" ["5"] g sp'),
        *(
            "GO [GO] g ow",
            "GO [GO] g ow sil",
            "GO [GO] g ow sp",
            "GO [GO] g",
            "GO [GO] g sil",
            "GO [GO] g sp",
        ),
        *('"it\'s" ["it\'s"] ow', '"it\'s" ["it\'s"] ow sil', '"it\'s" ["it\'s"] ow sp'),
    ]
    assert texts["hmmlist"].split() == ["sil", "g", "ow", "sp"]
    assert parse_mmf(texts["hmmdefs"]).topology == model().topology
    network = read_slf(tmp_path / "wdnet").compile(())
    for words in (["GO", "it's"], ["5"], ["GO", "GO", "it's"], ["GO"]):
        expected = tables.sentence_log_prob(words)
        assert network.sentence_log_prob(["<s>", *words, "</s>"]) == pytest.approx(expected)
    lexicon, silent = read_dictionary(texts["dict"], "dict")
    assert lexicon == LEXICON.restricted_to(["GO", "it's", "5"])
    assert silent == {"<s>", "</s>"}
    settings = dict(line.split(" = ") for line in texts["hcopy.cfg"].splitlines())
    assert front_end_config("MFCC_E_D_A", texts["hcopy.cfg"]).mfcc == MfccConfig(low_hz=80.0)
    assert (settings["WINDOWSIZE"], settings["ENORMALISE"], settings["HIFREQ"]) == ("250000.0", "T", "-1.0")


def test_contexts_across_words(tmp_path: Path) -> None:
    tables = parse_jsgf("#JSGF V1.0; public <s> = GO;").compile(())
    crossing = model(is_contextual=True, crosses_words=True)
    with pytest.raises(ExperimentError, match="contexts reach across words, expected monophones"):
        model_files(tmp_path, crossing, LEXICON, tables, DecoderConfig(), MfccConfig())


def test_dictionaries_of_htk() -> None:
    text = "SIL [] sil\nA [a] 0.7 ah sp\nA [a] 0.3 ey sp\n'TW\\'O'  t uw sil\n\n\"1 2\" w ah sp\n<s> []\n"
    lexicon, silent = read_dictionary(text, "d")
    expected = Lexicon({"A": [("ah",), ("ey",)], "TW'O": [("t", "uw")], "1_2": [("w", "ah")]})
    assert (lexicon, silent) == (expected, {"SIL", "<s>"})
    with pytest.raises(ConfigError, match='d:1: silence within "A", expected it at the end'):
        read_dictionary("A ah sp ah", "d")
    with pytest.raises(ConfigError, match="d: no words, expected lines"):
        read_dictionary("SIL [] sil\n", "d")


def test_configurations_of_hcopy() -> None:
    text = '# comment\nHPARM: TARGETRATE = 80000.0\nENORMALISE = F # no\nNUMCHANS="26"\nSOMETHING = 3\n'
    config = front_end_config("MFCC_E_D", text, sample_rate=8000, normalize="speaker")
    wanted = MfccConfig(
        sample_rate=8000, shift_ms=8.0, window_ms=25.0, n_channels=26, energy_normalize=False, derivatives=1
    )
    assert (config.mfcc, config.normalize) == (wanted, "speaker")
    assert front_end_config("MFCC_E_D_A").mfcc.n_channels == 20  # HTK's default


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("MFCC_0_D_A", "", "models of MFCC_0_D_A, expected MFCC with _E, _D and _A alone"),
        ("MFCC_E_D_A_Z", "", "models of MFCC_E_D_A_Z"),
        ("MFCC_E_A", "", "models of MFCC_E_A"),
        ("PLP_E", "", "models of PLP_E"),
        ("", "", "models of features of no kind"),
        ("MFCC_E", "NUMCHANS = many", "config: NUMCHANS = many, expected a number"),
        ("MFCC_E", "USEPOWER = T", "config: USEPOWER = T, expected F"),
        ("MFCC_E", "\n<html>", 'config:2: expected NAME = VALUE, got "<html>"'),
    ],
)
def test_what_has_no_front_end_here(kind: str, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        front_end_config(kind, text)
