"""Small valid requests and conversations with ``asr serve``: what `fuzz` damages before it sends them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import fuzz_inputs as inputs
import numpy as np
from fuzz_serving import BETWEEN, BINARY

_SOUND = "application/octet-stream"
_SAME_SITE = b"host: 127.0.0.1:8000\norigin: http://127.0.0.1:8000\n"  # what is not said is so, too
_WORD = {"word": "YES", "start_s": 0.0, "end_s": 0.5, "confidence": 0.9}


def head(method: str, target: str, kind: str = _SOUND) -> bytes:
    """Return the first line and the headers of a request."""
    return f"{method} {target}\ncontent-type: {kind}\n".encode()


def recordings() -> dict[str, Sequence[bytes]]:
    """Return requests to which a recording belongs, and recordings."""
    targets = [
        *(f"/api/transcribe?format={kind}&name=a%20b.wav" for kind in ("json", "ctm", "textgrid", "srt")),
        *(f"/api/align?text=yes+no&format={kind}&name=x" for kind in ("json", "ctm", "textgrid", "vtt")),
        "/api/takes?prompt=light%20on",
    ]
    short = [inputs.sound("WAV", "PCM_16", n=2400), *inputs.sounds("FLAC", "PCM_16")]
    bodies = [inputs.take(), *short, *inputs.sounds("OGG", "VORBIS")]
    return {"request": [head("POST", target) for target in targets], "body": bodies}


def words() -> dict[str, Sequence[bytes]]:
    """Return requests that write words as a file."""
    sentence = {"name": "a", "duration_s": 1.5, "words": [_WORD, _WORD | {"start_s": 0.5, "end_s": 1.0}]}
    kinds = ("ctm", "textgrid", "trn", "srt", "vtt")
    heads = [head("POST", f"/api/words?format={kind}", "application/json") for kind in kinds]
    return {"request": heads, "body": [json.dumps(sentence).encode()]}


def prompts() -> dict[str, Sequence[bytes]]:
    """Return requests that set the prompts."""
    heads = [head("PUT", "/api/prompts", "application/json")]
    return {"request": heads, "body": [json.dumps({"prompts": ["light on", "na\u00efve", "stop"]}).encode()]}


def takes() -> dict[str, Sequence[bytes]]:
    """Return requests without a body, and the folder of takes that they ask about."""
    asked = [
        *(("GET", path) for path in ("/api/takes", "/api/takes/stop-001", "/api/training", "/api/model")),
        *(("GET", path) for path in ("/", "/assets/page.js", "/openapi.json")),
        *(("DELETE", path) for path in ("/api/takes/stop-001", "/api/training")),
        ("POST", "/api/training"),
    ]
    sound = head("GET", "/api/takes/stop-001")
    return {
        "request": [
            *(head(method, path) for method, path in asked),
            sound + b"range: bytes=0-99\n",
            sound + _SAME_SITE,
        ],
        "stop-001.wav": [inputs.take()],
        "stop-001.txt": [b"stop\n"],
        ".prompts.json": [b'["light on", "stop"]\n'],
    }


def talks() -> dict[str, Sequence[bytes]]:
    """Return conversations: what the client sends, sound, commands."""
    rng = np.random.default_rng(0)
    sound = rng.uniform(-0.3, 0.3, 3000)
    short, single = (sound * 32767).astype("<i2").tobytes(), sound.astype("<f4").tobytes()
    finish, reset = b'{"type": "finish"}', b'{"type": "reset"}'
    found = [
        [b'{"sample_rate": 16000}', BINARY + short, finish],
        [b'{"sample_rate": 48000, "encoding": "pcm_f32le"}', BINARY + single[:4000], reset, BINARY + single],
        [b'{"sample_rate": 8000, "encoding": "pcm_s16le"}', BINARY, BINARY + short[:2], finish, finish],
    ]
    return {"talk": [BETWEEN.join(messages) for messages in found]}
