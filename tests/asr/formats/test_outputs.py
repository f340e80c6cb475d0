"""What ``asr decode`` prints."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import asr
from asr.errors import ConfigError, CorpusError
from asr.formats.aligned import AlignedUtterance
from asr.formats.captions import to_srt, to_vtt
from asr.formats.mlf import from_mlf, to_mlf
from asr.formats.nist import to_ctm
from asr.formats.outputs import (
    ALIGN_FORMATS,
    DECODE_FORMATS,
    ONE_EACH,
    decoded,
    recording_names,
    write_aligned,
    write_decoded,
    write_hypotheses,
)
from asr.formats.praat_elan import to_eaf, to_textgrid
from asr.formats.transcripts import parse_transcripts
from decoder.decoder import Hypothesis, HypothesisWord

WORDS = (HypothesisWord("YES", 0.0, 0.25, -1.0, 0.5), HypothesisWord("NO", 0.3, 0.62, -2.0))
FOUND = Hypothesis(WORDS, -3.0, True, (Hypothesis(WORDS[:1], -4.5, True, ()),))
PARTIAL = Hypothesis((), -9.0, False, ())
PATHS = (Path("d/a b.wav"), Path("ü.flac"))


class TestDecoded:
    def test_text(self) -> None:
        assert decoded([(PATHS[0], FOUND)], "text", with_path=False) == "YES NO\n"
        pairs = list(zip(PATHS, (FOUND, PARTIAL), strict=True))
        assert decoded(pairs, "text") == "d/a b.wav\tYES NO\nü.flac\t\t[incomplete]\n"

    def test_what_counts_as_not_spoken_is_no_incomplete_sentence(self) -> None:
        rejected = replace(PARTIAL, rejected=WORDS[:1])
        assert decoded([(PATHS[1], rejected)], "text") == "ü.flac\t\n"
        (record,) = json.loads(decoded([(PATHS[1], rejected)], "json"))
        assert [word["word"] for word in record["rejected"]] == ["YES"]

    def test_ranks(self) -> None:
        ranked = decoded([(PATHS[0], FOUND)], "text", with_path=False, with_rank=True)
        assert ranked == "1\t-3.00\tYES NO\n2\t-4.50\tYES\n"
        alone = decoded([(PATHS[1], PARTIAL)], "text", with_path=False, with_rank=True)
        assert alone == "1\t-9.00\t\t[incomplete]\n"

    def test_json(self) -> None:
        first, second = json.loads(decoded(list(zip(PATHS, (FOUND, PARTIAL), strict=True)), "json"))
        assert first["words"] == [
            {"word": "YES", "start_s": 0.0, "end_s": 0.25, "confidence": 0.5},
            {"word": "NO", "start_s": 0.3, "end_s": 0.62, "confidence": None},
        ]
        assert [a["text"] for a in first["alternatives"]] == ["YES"]
        assert (second["recording"], second["text"], second["complete"]) == ("ü.flac", "", False)

    def test_trn_and_ctm(self) -> None:
        assert decoded([(PATHS[1], FOUND)], "trn") == "YES NO (ü)\n"
        ctm = decoded([(PATHS[1], FOUND)], "ctm")
        assert ctm == "ü 1 0.000 0.250 YES 0.500\nü 1 0.300 0.320 NO 1.000\n"

    def test_names_that_a_format_would_read_as_something_else(self) -> None:
        take = [(Path("take (1).wav"), FOUND)]
        assert decoded(take, "trn") == "YES NO (take_[1])\n"
        assert parse_transcripts(decoded(take, "trn"), "trn") == {"take_[1]": ("YES", "NO")}
        assert decoded([(Path("a\nb\tc.wav"), FOUND)], "text") == "a\\nb\\tc.wav\tYES NO\n"
        with pytest.raises(CorpusError, match='CTM: expected an id that is no comment, got ";;a"'):
            decoded([(Path(";;a.wav"), FOUND)], "ctm")

    def test_ids_are_distinct_and_without_white_space(self) -> None:
        paths = [Path("/x/anna b/1 2.wav"), Path("/x/ben/1 2.wav")]
        assert recording_names(paths) == ["anna_b-1_2", "ben-1_2"]
        assert recording_names(paths[:1]) == ["1_2"]
        assert recording_names([*paths, Path("c/3.wav")]) == ["anna_b-1_2", "ben-1_2", "c-3"]
        assert recording_names([paths[0], paths[0]]) == ["1_2", "1_2"]
        assert recording_names([]) == []
        ctm = decoded([(path, FOUND) for path in paths], "ctm")
        assert [line.split()[0] for line in ctm.splitlines()] == ["anna_b-1_2"] * 2 + ["ben-1_2"] * 2


def test_names_of_the_formats() -> None:
    assert tuple(DECODE_FORMATS) == ("text", "json", "ctm", "trn", "srt", "vtt")


def test_captions_of_recordings(tmp_path: Path) -> None:
    assert decoded([(PATHS[0], FOUND)], "srt") == "1\n00:00:00,000 --> 00:00:01,000\nYES NO\n"
    assert decoded([(PATHS[0], FOUND)], "vtt") == "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nYES NO\n"
    pairs = list(zip(PATHS, (FOUND, PARTIAL), strict=True))
    write_decoded(pairs, "vtt", tmp_path / "out")
    texts = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert texts == {"a_b.vtt": decoded(pairs[:1], "vtt"), "ü.vtt": "WEBVTT\n"}


def test_words_as_kaldi_text(tmp_path: Path) -> None:
    write_hypotheses({"u2": FOUND, "u1": PARTIAL}, tmp_path / "text")
    assert (tmp_path / "text").read_text() == "u2 YES NO\nu1\n"


@pytest.fixture
def aligned(spoken: SimpleNamespace) -> list[AlignedUtterance]:
    return [
        AlignedUtterance("u1", spoken.tiers, 0.6, -50.0),
        AlignedUtterance("u2", spoken.tiers, 0.6, -50.0, (0.5, 0.9876)),
    ]


def texts(aligned: list[AlignedUtterance]) -> dict[str, str]:
    """Return what each format makes of all the utterances."""
    return {
        "textgrid": "".join(to_textgrid(a.tiers, 0.6) for a in aligned),
        "ctm": "".join(to_ctm(a.utterance_id, a.tiers["words"], confidences=a.confidences) for a in aligned),
        "mlf": to_mlf({a.utterance_id: a.tiers for a in aligned}, ("states", "phones", "words")),
        "eaf": "".join(to_eaf(a.tiers, a.recording, a.origin_s) for a in aligned),
        "srt": "".join(to_srt(a.tiers["words"]) for a in aligned),
        "vtt": "".join(to_vtt(a.tiers["words"]) for a in aligned),
    }


def test_names_of_the_formats_of_alignments() -> None:
    assert tuple(ALIGN_FORMATS) == ("textgrid", "ctm", "mlf", "eaf", "srt", "vtt")
    assert tuple(ONE_EACH) == ("textgrid", "eaf", "srt", "vtt")


@pytest.mark.parametrize("name", ALIGN_FORMATS)
def test_text_without_a_place(aligned: list[AlignedUtterance], name: str) -> None:
    assert write_aligned(aligned, name, None) == texts(aligned)[name]


@pytest.mark.parametrize("name", ["ctm", "mlf"])
def test_one_file_in_a_folder_that_is_made(
    aligned: list[AlignedUtterance], name: str, tmp_path: Path
) -> None:
    out = tmp_path / "new" / f"all.{name}"
    assert write_aligned(aligned, name, out) == ""
    assert out.read_text() == texts(aligned)[name]


@pytest.mark.parametrize("name", ONE_EACH)
def test_one_file_an_utterance(aligned: list[AlignedUtterance], name: str, tmp_path: Path) -> None:
    assert write_aligned(aligned, name, tmp_path / "each") == ""
    files = sorted((tmp_path / "each").iterdir())
    assert [file.name for file in files] == [f"u1{ONE_EACH[name][0]}", f"u2{ONE_EACH[name][0]}"]
    assert "".join(file.read_text() for file in files) == texts(aligned)[name]


def test_an_id_is_no_path(aligned: list[AlignedUtterance], tmp_path: Path) -> None:
    ids = ("../u", "/u", "a/b", "a%2Fb", "a\0b", "a" * 300, "a" * 299 + "b")
    climbing = [replace(aligned[0], utterance_id=name) for name in ids]
    assert write_aligned(climbing, "vtt", tmp_path / "each") == ""
    names = {file.name for file in tmp_path.rglob("*") if file.is_file()}
    long = {name for name in names if name.startswith("aaa")}
    assert names - long == {"%2E.%2Fu.vtt", "%2Fu.vtt", "a%2Fb.vtt", "a%252Fb.vtt", "a%00b.vtt"}
    assert len(long) == 2
    assert {file.parent for file in tmp_path.rglob("*.vtt")} == {tmp_path / "each"}


@pytest.mark.parametrize(
    ("rows", "tiers"),
    [
        (None, ("states", "phones", "words")),
        ("states", ("states", "phones", "words")),
        ("phones", ("phones", "words")),
        ("words", ("words",)),
    ],
)
def test_rows_of_mlf(aligned: list[AlignedUtterance], rows: str | None, tiers: tuple[str, ...]) -> None:
    text = write_aligned(aligned, "mlf", None, rows=rows)
    found = from_mlf(text, tiers)["u1"]
    assert found[tiers[0]] == aligned[0].tiers[tiers[0]]


def test_rows_are_of_mlf_alone(aligned: list[AlignedUtterance]) -> None:
    with pytest.raises(ConfigError, match="--rows is of mlf, got ctm"):
        write_aligned(aligned, "ctm", None, rows="words")


def test_the_names_of_the_formats_are_had_without_numpy() -> None:
    script = f"""
import sys, types
package = types.ModuleType("asr")  # the package without what it exports
package.__path__ = {list(asr.__path__)}
sys.modules["asr"] = package
import asr.formats.outputs
print(sorted(name for name in ("numpy", "numba", "scipy", "sklearn") if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
