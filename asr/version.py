"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "asr-sparse-kernel"


def package_version() -> str:
    """Return the version, "unknown" in a source tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
