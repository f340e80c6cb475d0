"""What `fuzz` calls: every reader of a file, with small valid files of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random

import fuzz_inputs as inputs
import fuzz_requests as requests
import fuzz_serving as serving
import numpy as np
from fuzz_mutations import MOST_TOGETHER, TAGS, damaged, put_together

from acoustic.hmm.mmf import parse_mmf
from asr.config import ExperimentConfig, known_keys, with_settings
from asr.corpora.corpus import scan_parts
from asr.corpora.wording import forms_for
from asr.engines.clusters import _read as read_cluster
from asr.formats.htk import front_end_config, read_dictionary
from asr.formats.mlf import from_mlf
from asr.formats.tables import decoded
from asr.formats.transcripts import read_transcripts
from asr.language.language_model import read_lines, read_vocabulary
from asr.recognizer import Recognizer
from asr.scoring.results import read_results
from asr.scoring.scoring import score
from asr.spotting.rejection import KEYWORDS, REJECTION, USUAL_REJECTION
from decoder.grammars.finite_state import FiniteStateGrammar, read_slf
from decoder.grammars.jsgf import read_jsgf
from decoder.grammars.ngram import NGram
from decoder.grammars.word_pair import WordPairGrammar
from decoder.lexicon import Lexicon
from features.audio import MP3_SLACK_FRAMES, audio_info, read_audio
from features.htk import read_htk
from features.kaldi import read_ark, read_scp
from features.mfcc import mfcc_plan
from features.mp3 import FRAME_SAMPLES
from features.samples import LOUDEST

_STREAM_HEAD = 8  # bytes of a stream's file before the samples
_MOST_PIECES = 200
_LITTLE = 64  # bytes in which nothing is lost
_PAGE = 27  # bytes of a page's header
_WORDS = ("YES", "NO", "go", "left", "right", "stop", "please")


@dataclass(frozen=True)
class Target:
    """A reader and the files it reads.

    Attributes
    ----------
    run : function of the folder that holds the files
    seeds : valid contents of the file that is damaged, by its name
    beside : files that stay as they are
    share : how many of the inputs it gets, relative to others
    damage : what makes an input of a valid content and others
    """

    run: Callable[[Path], object]
    seeds: Mapping[str, Sequence[bytes]]
    beside: Mapping[str, bytes] = field(default_factory=dict)
    share: float = 1.0
    damage: Callable[[bytes, Random, Sequence[bytes]], bytes] = damaged


def _audio(name: str, folder: Path) -> None:
    audio_info(folder / name)
    samples = read_audio(folder / name, inputs.SAMPLE_RATE)
    if samples.dtype != np.float32 or samples.ndim != 1 or not samples.size:
        raise TypeError(f"{samples.dtype} {samples.shape}")
    if not np.abs(samples).max() <= 2 * LOUDEST:
        raise ArithmeticError(f"samples up to {np.abs(samples).max()}")


def _all_heard(name: str, valid: Sequence[bytes], folder: Path) -> None:
    """Read valid files that were put together, and see that all of their samples are heard."""
    content = (folder / name).read_bytes()
    n_zeros, is_read_on = len(content) - len(content.rstrip(b"\0")), content[:4] in {b"NIST", b"riff"}
    heard = read_audio(folder / name, inputs.SAMPLE_RATE).size
    n_whole, lengths = 0, {each: _n_samples(each, folder) for each in valid}
    while content:
        part = next((each for each in (*valid, *TAGS) if content.startswith(each)), None)
        if part is None:
            break
        n_whole, content = n_whole + lengths.get(part, 0), content[len(part) :].lstrip(b"\0")
    # Of the last one, which was cut, all is heard, too: only what describes it may be missing.
    begun = [n for each, n in lengths.items() if each.startswith(content)] if content else []
    slack = MOST_TOGETHER + 1  # roundings
    slack += MP3_SLACK_FRAMES * FRAME_SAMPLES if content and name.endswith("mp3") else 0
    if name.endswith(("ogg", "opus")) and _is_of_whole_pages(content):
        slack += max(begun, default=0)  # nothing tells that pages are missing
    is_little = len(content) < _LITTLE or content in {tag[: len(content)] for tag in TAGS}
    allowed = [n_whole] * is_little + [n_whole + n for n in begun]
    # libsndfile hears zeros behind the end of these as silence.
    silence = 2 * n_zeros if is_read_on else 0
    if not any(n - slack <= heard <= n + slack + silence for n in allowed):
        raise ArithmeticError(f"{heard} samples heard, not {allowed}, {len(content)} bytes left")


def _is_of_whole_pages(content: bytes) -> bool:
    """Return whether an Ogg file ends where a page does."""
    last = content.rfind(b"OggS")
    page = content[last:] if last >= 0 else b""
    return len(page) > _PAGE and len(page) == _PAGE + page[_PAGE - 1] + sum(page[_PAGE:][: page[_PAGE - 1]])


@lru_cache(maxsize=1000)
def _n_samples(content: bytes, folder: Path) -> int:
    path = folder / "alone"
    path.write_bytes(content)
    return read_audio(path, inputs.SAMPLE_RATE).size


def _finite(frames: np.ndarray) -> None:
    if not np.isfinite(frames).all():
        raise ArithmeticError("not finite")


def _corpus(folder: Path) -> None:
    for corpus in scan_parts(folder)[0].values():
        " ".join(corpus.ids).encode()


def _score(folder: Path) -> None:
    reference, hypothesis = (read_transcripts(folder / name) for name in ("ref", "hyp"))
    score(reference, hypothesis, n_resamples=10)


def _grammar(read: Callable[[Path], FiniteStateGrammar | NGram | WordPairGrammar], path: Path) -> None:
    read(path).compile(_WORDS)


def _settings(folder: Path) -> None:
    lines = decoded((folder / "settings").read_bytes(), "replace").split("\n")
    config = with_settings(ExperimentConfig(), [line for line in lines if line.strip()])
    front_end = config.front_end.front_end()
    front_end.check()
    mfcc_plan(front_end.mfcc)


def _transcripts_as_text(folder: Path) -> None:
    lines = read_lines(folder / "text", "train")
    for forms in (forms_for("plain", None, ()), forms_for("plain", _lexicon(), ())):
        for line in lines if forms is not None else ():
            forms.read(line)


@cache
def _lexicon() -> Lexicon:
    return Lexicon({word: [("A",)] for word in _WORDS})


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


_CODINGS: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "wav": ("WAV", ("PCM_16", "FLOAT", "DOUBLE", "ULAW", "GSM610", "IMA_ADPCM", "PCM_24", "PCM_U8")),
    "flac": ("FLAC", ("PCM_16", "PCM_24")),
    "mp3": ("MP3", (None,)),
    "ogg": ("OGG", ("VORBIS",)),
    "opus": ("OGG", ("OPUS",)),
    "sph": ("NIST", ("PCM_16", "ULAW")),
    "aiff": ("AIFF", ("PCM_16", "FLOAT")),
    "au": ("AU", ("PCM_16", "FLOAT")),
    "w64": ("W64", ("PCM_16",)),
    "rf64": ("RF64", ("PCM_16",)),
    "caf": ("CAF", ("PCM_16",)),
}
_SHARES = {"wav": 3.0, "raw": 0.2}


def _sounds() -> dict[str, Target]:
    seeds = {suffix: inputs.sounds(kind, *codings) for suffix, (kind, codings) in _CODINGS.items()}
    seeds["raw"] = [bytes(range(256))]
    together = {
        suffix: inputs.different_sounds(kind, *codings) for suffix, (kind, codings) in _CODINGS.items()
    }
    joined = {
        f"{suffix} put together": Target(
            partial(_all_heard, f"a.{suffix}", contents),
            {f"a.{suffix}": contents},
            share=0.5,
            damage=put_together,
        )
        for suffix, contents in together.items()
    }
    mixed = [content for contents in together.values() for content in (contents[0], contents[-1])]
    joined["kinds put together"] = Target(
        partial(_all_heard, "a.mp3", mixed), {"a.mp3": mixed}, share=2, damage=put_together
    )
    return joined | {
        suffix: Target(
            partial(_audio, f"a.{suffix}"), {f"a.{suffix}": contents}, share=_SHARES.get(suffix, 1.0)
        )
        for suffix, contents in seeds.items()
    }


def _corpora() -> dict[str, Target]:
    wav = inputs.sound("WAV", "PCM_16", n=60)
    pair = {"a.wav": wav, "b.wav": wav}

    def beside(**files: bytes) -> dict[str, Sequence[bytes]]:
        return {name.replace("__", "-").replace("_", "."): [content] for name, content in files.items()}

    listed: dict[str, dict[str, Sequence[bytes]]] = {
        "kaldi directory": {name: [content] for name, content in inputs.KALDI.items()},
        "texts": {"a.txt": [b"Yes, no.", inputs.TEXT], "b.lab": [b"NO\n"], "utt2spk": [b"a s1\nb s2\n"]},
        "textgrid": beside(a_TextGrid=inputs.TEXTGRID),
        "elan": beside(a_eaf=inputs.ELAN),
        "stm": beside(a_stm=inputs.STM),
        "ctm": beside(a_ctm=inputs.CTM),
        "srt": beside(a_srt=inputs.SRT),
        "vtt": beside(a_vtt=inputs.VTT),
        "csv": beside(metadata_csv=inputs.CSV),
        "tsv": beside(train_tsv=inputs.TSV),
        "jsonl": beside(metadata_jsonl=inputs.JSONL),
        "lhotse": beside(recordings_jsonl=inputs.RECORDINGS, supervisions_jsonl=inputs.SUPERVISIONS),
        "sphinx": beside(x__train_fileids=inputs.FILEIDS, x__train_transcription=inputs.TRANSCRIPTION),
        "ljspeech": beside(metadata_csv=inputs.LJSPEECH),
        "list": beside(list_txt=inputs.LIST),
        "librispeech": {"1-2.trans.txt": [inputs.LIBRISPEECH]},
    }
    found = {name: Target(_corpus, seeds, pair) for name, seeds in listed.items()}
    chapter = {f"1-2-000{n}.flac": inputs.sound("FLAC", "PCM_16", n=60) for n in (1, 2)}
    return found | {"librispeech": Target(_corpus, listed["librispeech"], chapter)}


def _texts() -> dict[str, Target]:
    def of(run: Callable[[Path], object], name: str, *seeds: bytes, share: float = 1.0) -> Target:
        return Target(lambda folder: run(folder / name), {name: seeds}, share=share)

    single = [f"{key}=1".encode() for key in known_keys(ExperimentConfig())]
    return {
        "lexicon": of(Lexicon.read, "lexicon.txt", inputs.LEXICON, share=2),
        "transcripts": of(read_transcripts, "text", inputs.TRANSCRIPTS, inputs.TRN, inputs.TEXT, share=2),
        "wording": Target(_transcripts_as_text, {"text": [inputs.TEXT]}),
        "vocabulary": of(read_vocabulary, "words", b"yes\nno\n", inputs.LEXICON),
        "scoring": Target(
            _score, {"ref": [inputs.TRANSCRIPTS, inputs.TRN], "hyp": [inputs.TRANSCRIPTS, inputs.TRN]}
        ),
        "arpa": of(partial(_grammar, NGram.read), "a.arpa", inputs.ARPA, share=2),
        "arpa.gz": of(partial(_grammar, NGram.read), "a.gz", inputs.ARPA_GZ),
        "jsgf": of(partial(_grammar, read_jsgf), "a.jsgf", inputs.JSGF, share=2),
        "slf": of(partial(_grammar, read_slf), "a.slf", inputs.SLF, share=2),
        "word pairs": of(partial(_grammar, WordPairGrammar.read), "word_pairs.txt", inputs.WORD_PAIRS),
        "mlf": of(lambda path: from_mlf(_text(path)), "a.mlf", inputs.MLF),
        "mmf": of(lambda path: parse_mmf(_text(path)), "a.mmf", inputs.mmf()),
        "htk configuration": of(_front_end, "c", inputs.HTK_CONFIG),
        "htk dictionary": of(lambda path: read_dictionary(_text(path), "d"), "d", inputs.HTK_DICTIONARY),
        "cluster": of(read_cluster, "c.toml", inputs.CLUSTER),
        "settings": Target(_settings, {"settings": [inputs.SETTINGS, *single]}, share=2),
    }


def _front_end(path: Path) -> None:
    found = front_end_config("MFCC_E", _text(path), "c", sample_rate=16000, normalize="none")
    mfcc_plan(found.mfcc)


def _binaries() -> dict[str, Target]:
    model = inputs.model_folder()
    chosen = {name: [inputs.keywords()] for name in (KEYWORDS, REJECTION, USUAL_REJECTION)}
    rest = {"a.ark": inputs.archives()[0]}
    return {
        "htk features": Target(
            lambda folder: _finite(read_htk(folder / "a.mfc").frames),
            {"a.mfc": inputs.htk_features()},
            share=2,
        ),
        "kaldi archive": Target(_archive, {"a.ark": inputs.archives()}, share=2),
        "kaldi index": Target(
            lambda folder: read_scp(folder / "a.scp"), {"a.scp": [b"u1 a.ark:3\nu2 a.ark:3\n"]}, rest
        ),
        "model": Target(Recognizer.load, {name: [content] for name, content in model.items()}),
        "keywords": Target(_keywords, chosen, model, share=0.5),
        "stream": Target(_stream, {"samples": inputs.streams()}, model, share=0.3),
        "results": Target(read_results, {"results.json": [inputs.RESULTS]}),
    }


def _archive(folder: Path) -> None:
    for _, entry in read_ark(folder / "a.ark"):
        _finite(np.nan_to_num(entry, nan=np.nan, posinf=0.0, neginf=0.0))  # logarithms may be infinite


def _keywords(folder: Path) -> None:
    """Load a model with a rule and keywords, and use both."""
    found, samples = Recognizer.load(folder), _noise()
    found.with_rejection().transcribe(samples)
    found.spotting().transcribe(samples)


@cache
def _noise() -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.3, 0.3, 1000).astype(np.float32)


@lru_cache(maxsize=1)
def _recognizer(folder: Path) -> Recognizer:
    return Recognizer.load(folder)


def _stream(folder: Path) -> None:
    """Give a stream samples in pieces of one size, and see that all words have times."""
    content = (folder / "samples").read_bytes()
    if len(content) < _STREAM_HEAD:
        return
    rate, size = np.frombuffer(content[:_STREAM_HEAD], "<u4").tolist()
    samples = np.frombuffer(
        content[_STREAM_HEAD : _STREAM_HEAD + (len(content) - _STREAM_HEAD) // 4 * 4], "<f4"
    )
    stream = _recognizer(folder).stream(rate)
    step = max(size, -(-samples.size // _MOST_PIECES), 1)
    found = [s for n in range(0, samples.size, step) for s in stream.accept(samples[n : n + step]).finished]
    words = [word for sentence in (*found, stream.finish()) for word in sentence.words]
    _finite(np.array([(word.start_s, word.end_s) for word in words]))


def _serving() -> dict[str, Target]:
    return {
        "served recordings": Target(serving.answer, requests.recordings(), share=0.5),
        "served words": Target(serving.answer, requests.words(), share=0.5),
        "served prompts": Target(serving.answer, requests.prompts(), share=0.3),
        "served takes": Target(serving.answer, requests.takes(), share=0.5),
        "served talk": Target(serving.talk, requests.talks(), share=0.3),
    }


@cache
def targets() -> dict[str, Target]:
    """Return all targets by name."""
    return _sounds() | _corpora() | _texts() | _binaries() | _serving()
