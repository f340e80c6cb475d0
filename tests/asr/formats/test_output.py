"""What the command line prints."""

import json
from pathlib import Path

import pytest

from asr.errors import ConfigError
from asr.formats import output
from asr.scoring.results import Result, format_results, read_results, write_results
from decoder.decoder import Hypothesis, HypothesisWord

WORDS = (HypothesisWord("YES", 0.0, 0.25, -1.0, 0.5), HypothesisWord("NO", 0.3, 0.62, -2.0))
FOUND = Hypothesis(WORDS, -3.0, True, (Hypothesis(WORDS[:1], -4.5, True, ()),))
PARTIAL = Hypothesis((), -9.0, False, ())
PATHS = (Path("d/a b.wav"), Path("ü.flac"))
ROW = Result("gmm", "best", "test", "loop", 91.5, 1, 2, 3, 40, (88.0, 94.04), 70.0, 12, 0)


class TestDecoded:
    def test_text(self) -> None:
        assert output.decoded([(PATHS[0], FOUND)], "text", with_path=False) == "YES NO\n"
        pairs = list(zip(PATHS, (FOUND, PARTIAL), strict=True))
        assert output.decoded(pairs, "text") == "d/a b.wav\tYES NO\nü.flac\t\t[incomplete]\n"

    def test_ranks(self) -> None:
        ranked = output.decoded([(PATHS[0], FOUND)], "text", with_path=False, with_rank=True)
        assert ranked == "1\t-3.00\tYES NO\n2\t-4.50\tYES\n"
        alone = output.decoded([(PATHS[1], PARTIAL)], "text", with_path=False, with_rank=True)
        assert alone == "1\t-9.00\t\t[incomplete]\n"

    def test_json(self) -> None:
        first, second = json.loads(output.decoded(list(zip(PATHS, (FOUND, PARTIAL), strict=True)), "json"))
        assert first["words"] == [
            {"word": "YES", "start_s": 0.0, "end_s": 0.25, "confidence": 0.5},
            {"word": "NO", "start_s": 0.3, "end_s": 0.62, "confidence": None},
        ]
        assert [a["text"] for a in first["alternatives"]] == ["YES"]
        assert (second["recording"], second["text"], second["complete"]) == ("ü.flac", "", False)

    def test_trn_and_ctm(self) -> None:
        assert output.decoded([(PATHS[1], FOUND)], "trn") == "YES NO (ü)\n"
        ctm = output.decoded([(PATHS[1], FOUND)], "ctm")
        assert ctm == "ü 1 0.000 0.250 YES 0.500\nü 1 0.300 0.320 NO 1.000\n"

    def test_ids_are_distinct_and_without_white_space(self) -> None:
        paths = [Path("/x/anna b/1 2.wav"), Path("/x/ben/1 2.wav")]
        assert output.recording_names(paths) == ["anna_b-1_2", "ben-1_2"]
        assert output.recording_names(paths[:1]) == ["1_2"]
        assert output.recording_names([*paths, Path("c/3.wav")]) == ["anna_b-1_2", "ben-1_2", "c-3"]
        assert output.recording_names([paths[0], paths[0]]) == ["1_2", "1_2"]
        assert output.recording_names([]) == []
        ctm = output.decoded([(path, FOUND) for path in paths], "ctm")
        assert [line.split()[0] for line in ctm.splitlines()] == ["anna_b-1_2"] * 2 + ["ben-1_2"] * 2

    def test_times_as_a_table(self) -> None:
        head, yes, no = output.word_times(FOUND).splitlines()
        assert head.split() == ["start", "s", "end", "s", "confidence", "word"]
        assert (yes.split(), no.split()) == (["0.00", "0.25", "0.50", "YES"], ["0.30", "0.62", "NO"])


class TestTextOrFile:
    def test_itself(self) -> None:
        for text in ("YES NO", "", "a.b", "v1.0 IS NOT A.TXTFILE", "x." * 3000):
            assert output.text_or_file(text) == text

    def test_file(self, tmp_path: Path) -> None:
        (tmp_path / "x.txt").write_bytes("\ufeffÉTÉ\n".encode())
        assert output.text_or_file(str(tmp_path / "x.txt")) == "ÉTÉ\n"

    @pytest.mark.parametrize(("content", "message"), [(None, "No such file"), (b"\xe9", "not UTF-8")])
    def test_bad_file(self, tmp_path: Path, content: bytes | None, message: str) -> None:
        if content is not None:
            (tmp_path / "x.lab").write_bytes(content)
        with pytest.raises(ConfigError, match=rf"x\.lab: {message}.*expected a transcript"):
            output.text_or_file(str(tmp_path / "x.lab"))


class TestResults:
    def test_round_trip(self, tmp_path: Path) -> None:
        write_results([ROW], tmp_path, synthetic=True)
        assert read_results(tmp_path) == (ROW,)
        assert json.loads((tmp_path / "results.json").read_text())["synthetic"] is True

    def test_table(self) -> None:
        head, rule, row = format_results([ROW]).splitlines()
        assert len({len(line) for line in (head, rule, row)}) == 1
        assert row.split() == ["gmm", "loop", "test", "40", "91.50", "88.0–94.0", "1", "2", "3", "70.0"]

    def test_notes(self, tmp_path: Path) -> None:
        write_results([ROW], tmp_path, synthetic=True)
        assert "SYNTHETIC speech" in output.results_table([ROW], tmp_path)
        incomplete = Result(**{**ROW.__dict__, "incomplete": 2})
        assert "2 decoding(s) ended without a complete sentence" in format_results([incomplete])
        assert "SYNTHETIC" not in format_results([ROW])

    def test_nothing(self) -> None:
        assert len(format_results([]).splitlines()) == 2
