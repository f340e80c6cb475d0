"""What is no array, path or list of words is refused by one line of our own errors, wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import fuzz_inputs as inputs
import numpy as np
import pytest

import acoustic
import asr
import decoder
import features
from asr.recognizer import Recognizer
from features.mfcc import MfccConfig
from features.normalization import Standardizer, normalize
from features.projection import fit_lda, splice
from features.stream import MfccStream, Resampler
from foundation.errors import AsrError

_FRAMES = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
GIVEN = {
    "list": [0.1] * 2000,
    "lists": [[0.0] * 4] * 50,
    "lists of several lengths": [[1.0], [1.0, 2.0]],
    "integers": np.zeros(2000, int),
    "flags": np.zeros(2000, bool),
    "0-d": np.ones(()),
    "3-d": np.zeros((10, 20, 10), np.float32),
    "empty": np.zeros(0, np.float32),
    "no rows": np.zeros((0, 4), np.float32),
    "no columns": np.zeros((5, 0), np.float32),
    "other columns": np.zeros((50, 7), np.float32),
    "NaN": np.full(2000, np.nan, np.float32),
    "NaN frames": np.full((50, 4), np.nan, np.float32),
    "complex": np.zeros(2000, complex),
    "complex frames": np.zeros((50, 4), complex),
    "objects": np.array([[None] * 4] * 50, object),
    "strings": np.array([["a"] * 4] * 50),
    "dates": np.zeros(2000, "M8[s]"),
    "records": np.zeros(20, [("a", float)]),
    "masked": np.ma.masked_all(2000),
    "half precision": np.zeros((50, 4), np.float16),
    "None": None,
    "text": "abc",
    "bytes": b"abc",
    "dict": {},
    "number": 3,
    "object": object(),
}


@cache
def recognizer() -> Recognizer:
    """Return a small model."""
    folder = Path(mkdtemp())
    for name, content in inputs.model_folder().items():
        (folder / name).write_bytes(content)
    return Recognizer.load(folder)


def doors() -> dict[str, Callable[[object], object]]:
    """Return functions of anything."""
    found = recognizer()
    model, topology = found.model, found.model.topology
    graph = acoustic.utterance_graph([[("Y", "E")]], topology)
    columns, folder = graph.states.astype(np.int64), Path(mkdtemp())
    return {
        "mfcc": features.mfcc,
        "add_derivatives": lambda x: features.add_derivatives(x, 2, 2),
        "MfccStream": lambda x: MfccStream(MfccConfig(energy_normalize=False)).push(x),
        "Resampler": lambda x: Resampler(8000, 16000).accept(x),
        "normalize": normalize,
        "Standardizer.fit": lambda x: Standardizer().fit(x),
        "Standardizer.transform": lambda x: Standardizer().fit(_FRAMES).transform(x),
        "splice": lambda x: splice(x, 1),
        "fit_lda": lambda x: fit_lda([x], [np.zeros(50, np.int32)], n_classes=2),
        "labels": lambda x: fit_lda([_FRAMES], [x], n_classes=2),
        "write_ark": lambda x: features.write_ark(folder / "x.ark", [("a", x)]),
        "write_htk": lambda x: features.write_htk(folder / "x.mfc", x),
        "transcribe": found.transcribe,
        "transcribe_all": found.transcribe_all,
        "stream": lambda x: found.stream().accept(x),
        "align": lambda x: found.align(x, ["YES"]),
        "align words": lambda x: found.align_frames(_FRAMES, x),
        "read": found.read,
        "scores": model.scores,
        "log_likelihoods": model.emissions.log_likelihoods,
        "acoustic.align": lambda x: acoustic.align(x, graph, topology),
        "best_path": lambda x: acoustic.best_path(x, columns, graph, topology),
        "posteriors": lambda x: acoustic.posteriors(x, columns, graph, topology),
        "decode": found.decoder.decode,
        "decoder stream": lambda x: decoder.DecoderStream(found.decoder).accept(x),
        "Lexicon": decoder.Lexicon,
        "NGram.estimate": lambda x: decoder.NGram.estimate(x, 2),
        "WordLoop": decoder.WordLoop,
        "WordPairGrammar": decoder.WordPairGrammar,
        "score": lambda x: asr.score(x, {"u": ["a"]}),
        "score words": lambda x: asr.score({"u": x}, {"u": ["a"]}),
        "score hypotheses": lambda x: asr.score({"u": ["a"]}, {"u": x}),
        **{
            f"path of {read.__qualname__}": read
            for read in (
                *(features.read_audio, features.audio_info, features.read_htk, features.read_scp),
                *(decoder.Lexicon.read, decoder.NGram.read, Recognizer.load, acoustic.load_model),
                asr.read_corpus,
            )
        },
    }


@pytest.mark.parametrize("door", sorted(doors()))
@pytest.mark.filterwarnings("ignore")
def test_anything_ends_in_a_result_or_one_line(door: str) -> None:
    give, n_refused = doors()[door], 0
    for name, given in GIVEN.items():
        try:
            give(given)
        except AsrError as error:
            n_refused += 1
            assert 10 < len(str(error)) < 400, name  # noqa: PT017 (results are as good)
            assert "\n" not in str(error), name  # noqa: PT017
        except Exception as error:
            error.add_note(f"{door} was given: {name}")
            raise
    assert n_refused >= 5


def test_a_list_of_samples_is_named_for_what_it_is() -> None:
    with pytest.raises(
        AsrError, match=r"^samples: expected an array of floats in \[-1, 1\), got a list; make"
    ):
        recognizer().stream().accept([0.1] * 100)  # type: ignore[arg-type]


def test_a_transcript_far_too_long_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.wav").write_bytes(inputs.sound("WAV", "PCM_16", n=16000))
    found = recognizer()
    monkeypatch.setitem(found.__dict__, "forms", None)  # whoever reads on asks for them
    assert [word.word for word in found.read("YES NO " * 1000, tmp_path / "a.wav")] == ["YES", "NO"] * 1000
    monkeypatch.delitem(found.__dict__, "forms")
    monkeypatch.setattr(Recognizer, "forms", property(lambda self: pytest.fail("was read")))
    expected = (
        r"^the transcript has 50,000,000 characters, expected those of a recording of 1\.0 s; check that"
    )
    with pytest.raises(AsrError, match=expected):
        found.read("a" * 50_000_000, tmp_path / "a.wav")
