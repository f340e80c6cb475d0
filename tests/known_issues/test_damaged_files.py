"""Files that once ended in a traceback or never, cut down to what did it: each ends in one line."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from asr.config import ExperimentConfig, with_settings
from asr.corpora.corpus import scan_parts
from asr.corpora.tones import write_tones
from asr.engines.clusters import running_on
from asr.errors import ConfigError, CorpusError, ExperimentError
from asr.formats.htk import front_end_config
from asr.formats.mlf import from_mlf
from asr.formats.transcripts import read_transcripts, text_or_file
from asr.language.language_model import read_lines, read_vocabulary
from asr.scoring.results import read_results
from asr.spotting.rejection import KEYWORDS, REJECTION, read_keywords
from decoder.errors import GrammarError, LexiconError
from decoder.grammars.jsgf import read_jsgf
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from features.errors import FeatureError
from features.htk import read_htk, write_htk
from features.kaldi import read_ark, read_scp
from features.mfcc import MfccConfig, check_config
from foundation.errors import AsrError

LONG = "9" * 5000  # more digits than Python turns into a number


def ends_in_a_line(kind: type[Exception], message: str):  # type: ignore[no-untyped-def]
    return pytest.raises(kind, match=rf"^[^\n]*{message}[^\n]*$")


@pytest.mark.parametrize("counts", [f"ngram 1={LONG}", f"ngram {LONG}=1"])
def test_arpa_with_a_count_of_five_thousand_digits(tmp_path: Path, counts: str) -> None:
    (tmp_path / "a.arpa").write_text(f"\\data\\\n{counts}\n\n\\1-grams:\n-1 a\n\n\\end\\\n")
    with ends_in_a_line(GrammarError, "expected"):
        NGram.read(tmp_path / "a.arpa")


def test_arpa_with_a_section_of_five_thousand_digits(tmp_path: Path) -> None:
    (tmp_path / "a.arpa").write_text(f"\\data\\\nngram 1=1\n\n\\{LONG}-grams:\n-1 a\n\n\\end\\\n")
    with ends_in_a_line(GrammarError, "expected"):
        NGram.read(tmp_path / "a.arpa")


def test_mlf_with_a_time_of_five_thousand_digits() -> None:
    with ends_in_a_line(CorpusError, "MLF:3: expected"):
        from_mlf(f'#!MLF!#\n"*/u.lab"\n0 {LONG} sil\n.\n')


def test_ctm_with_times_that_overflow(tmp_path: Path) -> None:
    folder = write_tones(tmp_path, n_speakers=1, n_each=1) / "speaker 0"
    (folder / "0.txt").unlink()
    (folder / "0.ctm").write_text("0 1 1e307 1e307 ASA\n0 1 0.0 0.1 IMI\n")
    corpora, problems = scan_parts(folder)
    assert [u.words for u in corpora[""]] == [("IMI",)]
    assert "goes from 1e+307 s to 2e+307 s" in problems[0].what


@pytest.mark.parametrize("setting", ["NUMCHANS=1e999", "NUMCHANS=-5", "WINDOWSIZE=1e300", "NUMCEPS=nan"])
def test_htk_configurations_without_a_meaning(setting: str) -> None:
    with ends_in_a_line(AsrError, "expected"):
        check_config(front_end_config("MFCC_E", setting).mfcc)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_of_htk_that_are_no_numbers(tmp_path: Path, bad: float) -> None:
    write_htk(tmp_path / "a.mfc", np.array([[1.0, 2.0], [3.0, bad]], np.float32), kind="USER")
    with ends_in_a_line(FeatureError, f"a.mfc: {bad} in frame 1, column 1; expected finite numbers; compute"):
        read_htk(tmp_path / "a.mfc")


def test_compressed_features_of_htk_with_a_scale_of_0(tmp_path: Path) -> None:
    header = b"\0\0\0\5" + (100000).to_bytes(4, "big") + b"\0\2" + (9 | 0o2000).to_bytes(2, "big")
    (tmp_path / "a.mfc").write_bytes(header + bytes(8) + b"\0\1")
    with ends_in_a_line(FeatureError, "inf in frame 0, column 0; expected finite numbers"):
        read_htk(tmp_path / "a.mfc")


def test_kaldi_archive_in_text_beyond_single_precision(tmp_path: Path) -> None:
    (tmp_path / "a.ark").write_text("u  [ 1 1e308 ]\n")
    ((_, found),) = read_ark(tmp_path / "a.ark")
    assert found.tolist() == [1.0, np.inf]  # as Kaldi reads it; logarithms are infinite, too


@pytest.mark.parametrize("name", ["a" * 5000, "a\0b"])
def test_kaldi_index_of_a_name_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.scp").write_text(f"u {name}\n")
    with ends_in_a_line(FeatureError, "does not exist"):
        read_scp(tmp_path / "a.scp")


def test_wav_scp_of_names_that_no_file_can_have(tmp_path: Path) -> None:
    (tmp_path / "wav.scp").write_text(f"r1 {'a' * 5000}.wav\nr2 a\0b.wav\nr3 none.wav\n")
    (tmp_path / "text").write_text("r1 YES\nr2 NO\nr3 NO\n")
    (tmp_path / "utt2spk").write_text("r1 s\nr2 s\nr3 s\n")
    _, problems = scan_parts(tmp_path)
    assert [p.where for p in problems if "does not exist" in p.what] == [
        "wav.scp:1",
        "wav.scp:2",
        "wav.scp:3",
    ]


@pytest.mark.parametrize("content", ["[]", "{}", '{"results": [{}]}', '{"results": 5}', '{"results": [5]}'])
def test_results_that_are_not_as_they_were_written(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with ends_in_a_line(ExperimentError, "results.json: .*(train again|restore the file|run asr train)"):
        read_results(tmp_path)


def test_a_cluster_of_nested_brackets(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f"kind = {'[' * 5000}")
    with ends_in_a_line(ConfigError, "c.toml: cannot be read"), running_on(cluster=tmp_path / "c.toml"):
        pass


@pytest.mark.parametrize(
    "setting",
    [
        *("window_ms=1e308", "shift_ms=-1e308", "shift_ms=1e9", "sample_rate=100000000", "sample_rate=1"),
        *("front_end.n_channels=1000000000", "front_end.context=1000000000", "n_components=1000000000"),
        *("gmm.mixtures=1,1000000000", "gmm.iterations=1000000000", "gmm.beam=nan", "low_hz=1e308"),
        *("hybrid.max_frames=1000000000000", "sigma=1e-300", "sigma=1e300", "prior_scale=1e300"),
        *("gmm_weight=1e300", "hybrid.seed=4294967296", "hybrid.min_frames=100000000000"),
        *("pools.n_centers=1000000000000", "ridge=1e300", "forward.n_centers=100000000", "epsilon=1e300"),
        *("cost=1e300", "nu=1e300", "max_states=1000000000", "min_gain=1e300", "decoder.beam=nan"),
        *("word_penalties=1e300", "lm_scales=1e38", "silence_log_probs=-1e300", "lm_scales=1" + ",1" * 2000),
        f"hybrid.max_frames={LONG}",
    ],
)
def test_options_beyond_all_use(setting: str) -> None:
    with ends_in_a_line(AsrError, "expected"):
        with_settings(ExperimentConfig(), [setting])


@pytest.mark.parametrize(
    "changes", [{"window_ms": 999.0, "sample_rate": 768_000}, {"lifter": 10**9}, {"delta_window": 10**9}]
)
def test_front_ends_that_ask_for_all_memory(changes: dict[str, float]) -> None:
    with ends_in_a_line(FeatureError, "expected at most"):
        check_config(MfccConfig(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (Lexicon.read, LexiconError),
        (NGram.read, GrammarError),
        (read_jsgf, GrammarError),
        (WordPairGrammar.read, GrammarError),
        (read_transcripts, CorpusError),
        (lambda path: read_lines(path, "train"), CorpusError),
        (read_vocabulary, CorpusError),
        (read_htk, FeatureError),
        (lambda path: list(read_ark(path)), FeatureError),
        (lambda path: text_or_file(str(path)), ConfigError),
    ],
)
def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path, read, error: type[Exception]) -> None:  # type: ignore[no-untyped-def]
    os.mkfifo(tmp_path / "a.txt")
    with ends_in_a_line(error, "a pipe, not a file"):
        read(tmp_path / "a.txt")


def test_pipes_in_a_corpus_are_not_waited_for(tmp_path: Path) -> None:
    folder = write_tones(tmp_path, n_speakers=1, n_each=2) / "speaker 0"
    (folder / "0.txt").unlink()
    for name in ("0.txt", "utt2spk", "lexicon.txt", "x.wav"):
        os.mkfifo(folder / name)
    corpora, problems = scan_parts(folder)
    assert [u.utterance_id for u in corpora[""]] == ["1"]
    assert any("0.wav" in problem.where for problem in problems)


def test_keywords_with_a_cost_of_many_digits(tmp_path: Path) -> None:
    rule = '{"threshold": 0.0, "weights": {}, "offset": 0.0, "of_words": {}}'
    text = '{"words": ["A"], "filler_cost": %s, "rejection": %s}'
    (tmp_path / KEYWORDS).write_text(text % ("1" + 39 * "0", rule))
    found = read_keywords(tmp_path)
    assert found is not None
    assert repr(found.filler_cost) == "1e+39"
    (tmp_path / KEYWORDS).write_text(text % (LONG, rule))
    with ends_in_a_line(ExperimentError, "keywords.json"):
        read_keywords(tmp_path)


@pytest.mark.parametrize("weight", ['"2"', "null", "[1]"])
def test_keywords_with_a_weight_that_is_no_number(tmp_path: Path, weight: str) -> None:
    rule = f'{{"threshold": 0.0, "weights": {{"margin": {weight}}}, "offset": 0.0, "of_words": {{}}}}'
    (tmp_path / REJECTION).write_text(f'{{"words": [], "filler_cost": 0.0, "rejection": {rule}}}')
    with ends_in_a_line(ExperimentError, "margin: expected a number"):
        read_keywords(tmp_path, REJECTION)


@pytest.mark.parametrize("text", ["[" * 3000, '{"a":' * 3000])
def test_files_of_json_that_is_too_deep(tmp_path: Path, text: str) -> None:
    for name in ("results.json", KEYWORDS):
        (tmp_path / name).write_text(text)
    with ends_in_a_line(ExperimentError, "results.json"):
        read_results(tmp_path)
    with ends_in_a_line(ExperimentError, "keywords.json"):
        read_keywords(tmp_path)
