"""How much clients may ask of the server, and how it refuses: in one line, without paths of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from asr.errors import ConfigError
from foundation.errors import AsrError
from foundation.records import check_lowest

USUAL_STREAMS = 8


@dataclass(frozen=True)
class Limits:
    """Bounds of what clients send, and of what runs for them at a time.

    Attributes
    ----------
    upload_bytes : of one recording
    words_bytes : of words that are sent to be written
    json_bytes : of any other request that is no recording
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
    connections : at a time, of whatever kind
    each_address : connections of one address at a time: a page has seven, a class behind one address 140
    head_s : within which a connection must bring the head of a request
    """

    upload_bytes: int = 50_000_000
    words_bytes: int = 2_000_000
    json_bytes: int = 150_000
    arrival_s: float = 60.0
    audio_s: float = 600.0
    channels: int = 8
    answer_s: float = 300.0
    uploads: int = 8
    workers: int = 2
    streams: int = USUAL_STREAMS
    message_bytes: int = 262_144
    behind_s: float = 10.0
    told_s: float = 3.0
    first_s: float = 10.0
    idle_s: float = 60.0
    send_s: float = 10.0
    takes: int = 2000
    connections: int = 400
    each_address: int = 200
    head_s: float = 10.0

    def __post_init__(self) -> None:
        counts = (
            "upload_bytes",
            "words_bytes",
            "json_bytes",
            "channels",
            "uploads",
            "workers",
            "streams",
            "message_bytes",
            "takes",
            "connections",
            "each_address",
        )
        times = (
            "arrival_s",
            "audio_s",
            "answer_s",
            "behind_s",
            "told_s",
            "first_s",
            "idle_s",
            "send_s",
            "head_s",
        )
        check_lowest(self, dict.fromkeys(counts, 1) | dict.fromkeys(times, 0.01), ConfigError)

    def with_room(self) -> Limits:
        """Return limits with connections for all streams, and for others beside them."""
        most, each = self.connections + self.streams, self.each_address + self.streams
        return self if self.streams <= USUAL_STREAMS else replace(self, connections=most, each_address=each)


# Statuses of HTTP by what they say here.
BAD, FORBIDDEN, NOT_FOUND, TOO_SLOW, CONFLICT = 400, 403, 404, 408, 409
TOO_LARGE, WRONG_KIND, UNUSABLE, BUSY, UNSTORED = 413, 415, 422, 503, 507


class Refusal(AsrError):
    """A request that is not carried out.

    Parameters
    ----------
    message : what is wrong, what was expected, what to do
    status : of the answer
    """

    def __init__(self, message: str, status: int = UNUSABLE) -> None:
        super().__init__(message)
        self.status = status


def told(error: AsrError, path: Path | None = None, name: str = "the recording") -> str:
    """Return an error's line as a client may read it, the path of a file of the server replaced.

    >>> told(AsrError("/tmp/xyz: empty file"), Path("/tmp/xyz"))
    'the recording: empty file'
    """
    return str(error) if path is None else str(error).replace(str(path), name)


class Places:
    """A number of places, each taken by one client at a time.

    Parameters
    ----------
    most : how many there are
    what : what they are for, as a refusal says it
    """

    def __init__(self, most: int, what: str) -> None:
        self.most, self.what, self.taken = most, what, 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a place; `Refusal` if none is free."""
        if self.taken >= self.most:
            raise Refusal(
                f"the server is busy with {self.taken} {self.what}, expected at most {self.most} at a time; "
                "try again in a moment",
                BUSY,
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
