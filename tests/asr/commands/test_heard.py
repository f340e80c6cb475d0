import json

from asr.commands.heard import heard_json, heard_text
from decoder.decoder import HypothesisWord
from decoder.stream import PartialWord

OPEN = (PartialWord("light", 0.1, 0.5), PartialWord("on", 0.5, 0.7, True))
DONE = (HypothesisWord("light", 0.12345, 0.5, -1.0, 0.98765),)


def test_json_is_one_line() -> None:
    line = heard_json("final", DONE, 1.23456)
    assert (line.count("\n"), line[-1]) == (1, "\n")
    word = {"word": "light", "start_s": 0.123, "end_s": 0.5, "confidence": 0.9877}
    assert json.loads(line) == {"type": "final", "text": "light", "words": [word], "heard_s": 1.235}
    assert json.loads(heard_json("partial", OPEN, 1.0))["words"][1]["confidence"] is None


def test_a_file_gets_finished_sentences_alone() -> None:
    assert heard_text("partial", OPEN, None) == ""
    assert heard_text("final", DONE, None) == "light\n"


def test_a_terminal_shows_the_sentence_under_way_on_one_line() -> None:
    assert heard_text("partial", OPEN, 80) == "\r\x1b[Klight on"
    assert heard_text("final", DONE, 80) == "\r\x1b[Klight\n"
    shown = heard_text("partial", OPEN, 7).removeprefix("\r\x1b[K")
    assert shown == "…t on"
    assert len(shown) < 7
