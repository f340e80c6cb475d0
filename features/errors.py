"""Errors of recordings and the front end."""

from __future__ import annotations

from pathlib import Path

from foundation.errors import AsrError

__all__ = ["AsrError", "AudioError", "FeatureError"]


class AudioError(AsrError):
    """A recording cannot be used."""

    @classmethod
    def of(cls, path: Path, what: str, expected: object, got: object, cure: str) -> AudioError:
        """Return the error of a recording in one line."""
        return cls(f"{path}: {what}; expected {expected}; got {got}; {cure}")

    @classmethod
    def truncated(cls, path: Path, promised: str, held: str) -> AudioError:
        """Return the error of a recording that holds less than it promises."""
        return cls.of(
            path, "truncated", promised, held, "copy it again, or re-encode it to keep what is there"
        )


class FeatureError(AsrError):
    """A front-end configuration, feature file or feature array cannot be used."""
