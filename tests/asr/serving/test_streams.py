import json
from pathlib import Path

import numpy as np

from asr import Recognizer
from asr.serving.streams import open_stream, sentence_of, words_of
from features.audio import read_audio


def test_a_stream_finds_what_a_recording_holds(trained: Path, spoken: Path) -> None:
    recognizer = Recognizer.load(trained).with_options(confidence=True)
    text = spoken.with_suffix(".txt").read_text().split()
    stream = open_stream(recognizer, 16000)
    samples = read_audio(spoken, 16000)
    partials = [words_of(stream.accept(piece)) for piece in np.array_split(samples, 20)]
    found = sentence_of(stream.finish())
    assert [word["word"] for word in found["words"]] == text == found["text"].split()
    assert any(partials)
    assert all({"word", "start_s", "end_s"} == set(word) for words in partials for word in words)
    assert all(0 <= word["confidence"] <= 1 for word in found["words"])
    assert json.loads(json.dumps(found)) == found
