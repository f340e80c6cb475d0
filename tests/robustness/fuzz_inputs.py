"""Small valid files of every kind that is read: what `fuzz` damages."""

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile

from acoustic import Topology
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.mmf import HtkModel, format_mmf
from acoustic.model import AcousticModel
from asr.formats.model_directories import write_recognizer
from decoder.lexicon import Lexicon
from features.frontend import FrontEnd, FrontEndConfig
from features.htk import HEADER, kind_code, write_htk
from features.kaldi import write_ark
from features.mfcc import MfccConfig

SAMPLE_RATE = 16000
_RNG = np.random.default_rng(0)
_N_SAMPLES = 700


def sound(
    container: str,
    subtype: str | None = None,
    *,
    n: int = _N_SAMPLES,
    channels: int = 1,
    rate: int = SAMPLE_RATE,
) -> bytes:
    """Return a recording of some samples of noise."""
    samples = _RNG.uniform(-0.3, 0.3, (n, channels)).astype(np.float32)
    file = BytesIO()
    soundfile.write(file, samples, rate, format=container, subtype=subtype)
    return file.getvalue()


def sounds(container: str, *subtypes: str | None) -> list[bytes]:
    """Return recordings in several codings, the first also with two channels."""
    both = sound(container, subtypes[0], channels=1 if subtypes[0] == "GSM610" else 2)
    return [*(sound(container, subtype) for subtype in subtypes), both]


def different_sounds(container: str, *subtypes: str | None) -> list[bytes]:
    """Return recordings in several codings, and of another length, rate and number of channels."""
    longer = sound(container, subtypes[0], n=5 * _N_SAMPLES, rate=8000)
    return [*sounds(container, *subtypes), longer]


def htk_features() -> list[bytes]:
    """Return parameter files of HTK: plain, and compressed by hand."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.mfc"
        write_htk(path, _RNG.normal(size=(7, 3)).astype(np.float32), kind="USER")
        plain = path.read_bytes()
    stored = _RNG.integers(-99, 99, (3, 3)).astype(">i2").tobytes()
    scales = np.array([[1, 2, 3], [0, 1, 0]], dtype=">f4").tobytes()
    header = HEADER.pack(7, 100000, 6, kind_code("MFCC_C"))
    return [plain, header + scales + stored]


def archives() -> list[bytes]:
    """Return Kaldi archives, binary and in text, and a compressed matrix."""
    entries = [("u1", _RNG.normal(size=(4, 3)).astype(np.float32)), ("u2", np.arange(5, dtype=np.int32))]
    found = []
    with TemporaryDirectory() as folder:
        for text in (False, True):
            path = Path(folder) / "a.ark"
            write_ark(path, [*entries, ("u3", _RNG.normal(size=6))], text=text)
            found.append(path.read_bytes())
    sizes = np.array([-1.0, 2.0], "<f4").tobytes() + np.array([4, 2], "<i4").tobytes()
    for kind, body in ((b"CM ", bytes(range(2 * 8 + 8))), (b"CM2 ", bytes(16)), (b"CM3 ", bytes(8))):
        found.append(b"u4 \0B" + kind + sizes + body)
    return found


def model_folder() -> dict[str, bytes]:
    """Return the files of a small recogniser by name."""
    lexicon = Lexicon({"YES": [("Y", "E")], "NO": [("N", "O"), ("N", "A")]})
    topology = Topology.monophones(lexicon.phones)
    front_end = FrontEndConfig(MfccConfig(n_channels=8, n_cepstra=3, derivatives=0), normalize="none")
    model = AcousticModel(FrontEnd(front_end), topology, _gmm(topology.n_states), np.ones(topology.n_states))
    weights = {"lm_scale": 5.0, "word_penalty": -10.0}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        path.mkdir()
        write_recognizer(path, model, lexicon, {"loop": weights}, {}, "loop", spelling={"YES": "yes"})
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def keywords() -> bytes:
    """Return what ``asr keywords`` writes, cut down to what is read of it."""
    weights = {"margin": 2.0, "best_margin": 1.0, "length": 0.1}
    rule = {"threshold": -20.0, "weights": weights, "offset": 0.5, "of_words": {"YES": -1.0}}
    return json.dumps({"words": ["YES"], "filler_cost": 2.0, "rejection": rule}).encode()


def take() -> bytes:
    """Return a recording that can be kept as a take: a tone between quiet parts."""
    t = np.arange(SAMPLE_RATE // 2) / SAMPLE_RATE
    tone = 0.3 * np.sin(2 * np.pi * 400 * t) * ((t > 0.15) & (t < 0.35))
    file = BytesIO()
    soundfile.write(file, tone + 1e-3 * _RNG.normal(size=t.size), SAMPLE_RATE, format="WAV")
    return file.getvalue()


def streams() -> list[bytes]:
    """Return what `fuzz_targets` gives to a stream: rate and size of the pieces, then samples."""
    samples = _RNG.uniform(-0.3, 0.3, 4000).astype("<f4").tobytes()
    heads = ((16000, 1, 2000), (8000, 37, 8000), (48000, 1000, 16000), (44100, 4000, 16000))
    return [np.array([rate, size], "<u4").tobytes() + samples[:end] for rate, size, end in heads]


def mmf() -> bytes:
    """Return a small master macro file of HTK."""
    topology = Topology.monophones(["A", "sil"])
    return format_mmf(HtkModel(topology, _gmm(topology.n_states), "MFCC_E")).encode()


def _gmm(n_states: int) -> GmmModel:
    shape = (n_states, 2, 4)
    log_weights = np.full(shape[:2], np.log(0.5))
    return GmmModel(log_weights, _RNG.normal(size=shape), _RNG.uniform(0.5, 2, shape))


LEXICON = b"YES Y EH S\nNO N OW\nNO(2) N AW  # guessed\n;;; note\nMA\xc3\x8fS M A I S 0.5\n"
TEXT = b"u1 yes no\nu2 it costs 25,30 EUR on 3/4/1999 at 10:30, wor- [noise] na\xc3\xafve (uh)\nu3 1e5 XIV\n"
TRANSCRIPTS = b"u1 YES NO\nu2 NO\nu3 YES\n"
TRN = b"YES NO (spk1_u1)\nNO (spk1_u2)\n(spk2_u3)\n"
KALDI = {
    "wav.scp": b"r1 a.wav\nr2 b.wav\n",
    "text": b"u1 YES NO\nu2 NO\nu3 YES\n",
    "utt2spk": b"u1 s1\nu2 s1\nu3 s2\n",
    "segments": b"u1 r1 0.0 0.02\nu2 r1 0.02 0.04\nu3 r2 0 -1\n",
}
ARPA = b"""
\\data\\
ngram 1=4
ngram 2=3

\\1-grams:
-0.6\tYES\t-0.3
-0.6\tNO\t-0.3
-99\t<s>\t-0.2
-0.5\t</s>

\\2-grams:
-0.1\t<s> YES
-0.2\tYES NO
-0.3\tNO </s>

\\end\\
"""
ARPA_GZ = gzip.compress(ARPA, mtime=0)
JSGF = b"""#JSGF V1.0 UTF-8 en;
grammar test;
public <order> = /2/ <polite> go [left | right] {tag} | /1.5/ stop* | /0.1/ (again)+ <NULL>;
<polite> = please | kindly "thank you";
// comment
<loop> = go <order> | <VOID>;
"""
SLF = b"""VERSION=1.0
lmscale=2.0 wdpenalty=-1
N=4 L=4
I=0 W=!NULL
I=1 W=YES v=1
I=2 W="NO"
I=3 W=!NULL
J=0 S=0 E=1 l=-0.7
J=1 S=0 E=2 l=-0.7
J=2 S=1 E=3
J=3 S=2 E=3
"""
WORD_PAIRS = b"<s>: YES NO\nYES: NO </s>\nNO: </s>\n"
MLF = b"""#!MLF!#
"*/u1.lab"
0 100000 sil -10.5 sil
100000 300000 Y -3 YES
300000 500000 E -2
.
"*/u2.lab"
0 200000 "a b" -1 'NO'
.
"""
HTK_CONFIG = b"""# HCopy
TARGETKIND = MFCC_E
TARGETRATE = 100000.0
WINDOWSIZE = 250000
NUMCHANS=26
NUMCEPS=12
CEPLIFTER=22
PREEMCOEF=0.97
LOFREQ=64
HIFREQ=7000
USEHAMMING=T
ENORMALISE=F
"""
HTK_DICTIONARY = b'YES [yes] 0.5 Y EH S sp\n"N O" N OW\n\\"Q A\nSENT-END [] sil\n'
TEXTGRID = b'''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 0.04
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 0.04
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 0.02
            text = "YES"
        intervals [2]:
            xmin = 0.02
            xmax = 0.04
            text = "say ""no"""
    item [2]:
        class = "TextTier"
        name = "points"
        xmin = 0
        xmax = 0.04
        points: size = 1
        points [1]:
            number = 0.01
            mark = "x"
'''
ELAN = b"""<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT FORMAT="3.0" VERSION="3.0"><HEADER TIME_UNITS="milliseconds"/>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="20"/>
<TIME_SLOT TIME_SLOT_ID="ts3"/><TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="40"/></TIME_ORDER>
<TIER TIER_ID="words@anna" PARTICIPANT="anna" LINGUISTIC_TYPE_REF="default"><ANNOTATION>
<ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2"><ANNOTATION_VALUE>YES
</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a2"
ANNOTATION_REF="a1"><ANNOTATION_VALUE>NO &amp; no</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>
</ANNOTATION_DOCUMENT>
"""
STM = b";; CATEGORY\na 1 anna 0.00 0.02 <o,f0,male> YES NO\na 1 bert 0.02 0.04 <o> {a / b} NO\n"
CTM = b"a 1 0.00 0.01 YES 0.9\na 1 0.01 0.01 NO 0.8\n;; x\na 1 0.03 0.01 NO\n"
SRT = b"""1
00:00:00,000 --> 00:00:00,020
<i>Yes</i>

2
00:00:00,020 --> 00:00:00,040 X1:1
ANNA: no
- yes
"""
VTT = b"""WEBVTT - x

NOTE n

1
00:00.000 --> 00:00.020 align:left
<v Anna>Yes &amp; no

00:00:00.020 --> 00:00:00.040
No
"""
CSV = b'path,sentence,client_id,split\na.wav,"Yes, ""no""",anna,train\nb.wav,No,bert,test\n'
TSV = b'client_id\tpath\tsentence\tup_votes\nanna\ta.wav\tYes no\t2\nbert\tb.wav\t"No"\t0\n'
JSONL = b"""{"audio": "a.wav", "text": "yes", "duration": 0.04}
{"audio": "b.wav", "text": "no", "x": [1, {"y": null}]}
"""
RECORDINGS = (
    b'{"id": "a", "sources": [{"type": "file", "channels": [0], "source": "a.wav"}], '
    b'"sampling_rate": 16000, "num_samples": 60, "duration": 0.00375}\n'
)
SUPERVISIONS = b"""{"id": "u1", "recording_id": "a", "start": 0.0, "duration": 0.002, "text": "YES"}
{"id": "u2", "recording_id": "a", "start": 0.002, "duration": 0.001, "text": "NO", "speaker": "s1"}
"""
FILEIDS = b"a\nb\n"
TRANSCRIPTION = b"<s> YES </s> (a)\n<s> NO </s> (b)\n"
LJSPEECH = b"a|Yes, no|yes no\nb|No 3|no three\n"
LIST = b"a.wav yes no\nb.wav no\n"
LIBRISPEECH = b"1-2-0001 YES NO\n1-2-0002 NO\n"
CLUSTER = b'kind = "slurm"\njobs = 4\n[options]\ncores = 2\nmemory = "4GB"\nwalltime = "01:00:00"\n'
SETTINGS = b"""gmm.mixtures=1,2
front_end.window_ms=25
front_end.sample_rate=16000
hybrid.sigma=5
unusable=0.3
"""
RESULT = {
    "model": "gmm",
    "preset": "best",
    "split": "test",
    "grammar": "loop",
    "word_accuracy": 90.0,
    "sentence_accuracy": 80.0,
    "substitutions": 1,
    "deletions": 0,
    "insertions": 0,
    "words": 10,
    "utterances": 5,
    "incomplete": 0,
    "interval": [80.0, 95.0],
}
RESULTS = json.dumps({"results": [RESULT]}).encode()
