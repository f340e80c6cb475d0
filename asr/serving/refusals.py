"""What the server does not do, and how it says so: one line, a number of HTTP, no path of the machine."""

from __future__ import annotations

from pathlib import Path

from foundation.errors import AsrError

BAD, FORBIDDEN, NOT_FOUND, TOO_SLOW, CONFLICT = 400, 403, 404, 408, 409
TOO_LARGE, WRONG_KIND, UNUSABLE, BUSY = 413, 415, 422, 503


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
