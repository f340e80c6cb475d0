"""What ``asr decode`` prints."""

import json
from pathlib import Path

from asr.formats.outputs import DECODE_FORMATS, decoded, recording_names, write_decoded, write_hypotheses
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
