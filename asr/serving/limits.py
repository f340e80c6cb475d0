"""How much strangers may ask of the server."""

from __future__ import annotations

from dataclasses import dataclass

from asr.errors import ConfigError
from foundation.records import check_lowest


@dataclass(frozen=True)
class Limits:
    """Bounds of what clients send, and of what runs for them at a time.

    Attributes
    ----------
    upload_bytes : of one recording
    json_bytes : of a request that is no recording
    arrival_s : within which a request must have arrived
    audio_s : of one recording, in seconds of sound
    channels : of one recording
    answer_s : within which work on an upload must be done
    uploads : that arrive or are worked on at a time
    workers : threads that compute for recordings and takes, and as many for streams
    streams : clients that are listened to at a time
    message_bytes : of one message of a stream
    behind_s : seconds of sound that wait for the recogniser before the server stops reading
    told_s : seconds of sound that wait before the client is told
    first_s : within which a stream must say what it will send
    idle_s : without sound, after which a stream is ended
    send_s : within which a client must take what it is sent
    takes : recordings that are kept
    """

    upload_bytes: int = 50_000_000
    json_bytes: int = 4_000_000
    arrival_s: float = 60.0
    audio_s: float = 600.0
    channels: int = 8
    answer_s: float = 300.0
    uploads: int = 8
    workers: int = 2
    streams: int = 8
    message_bytes: int = 262_144
    behind_s: float = 10.0
    told_s: float = 3.0
    first_s: float = 10.0
    idle_s: float = 60.0
    send_s: float = 10.0
    takes: int = 2000

    def __post_init__(self) -> None:
        counts = (
            "upload_bytes",
            "json_bytes",
            "channels",
            "uploads",
            "workers",
            "streams",
            "message_bytes",
            "takes",
        )
        times = ("arrival_s", "audio_s", "answer_s", "behind_s", "told_s", "first_s", "idle_s", "send_s")
        check_lowest(self, dict.fromkeys(counts, 1) | dict.fromkeys(times, 0.01), ConfigError)
