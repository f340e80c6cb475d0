"""Language models as corpora publish them: ARPA files, plain, of gzip or in a tar archive."""

from __future__ import annotations

import gzip
import logging
import shutil
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from asr.errors import CorpusError
from foundation.files import pieces_of

PATTERNS = ("*.arpa", "*.arpa.gz", "*.arpa.tar.gz")

logger = logging.getLogger(__name__)


def published_model(places: Iterable[Path]) -> Path | None:
    """Return the language model in the first folder that has any, the smallest file if there are several."""
    for place in places:
        found = [file for pattern in PATTERNS for file in place.glob(pattern)]
        if found:
            smallest = min(found, key=lambda file: (file.stat().st_size, file.name))
            others = sorted(file.name for file in found if file != smallest)
            if others:
                logger.warning("%s is taken, the smallest; left aside: %s", smallest, ", ".join(others))
            return smallest
    return None


def unpack_model(source: Path, target: Path) -> None:
    """Write the ARPA model of a file as a plain file."""
    try:
        if source.name.endswith(".tar.gz"):
            _unpack_member(source, target)
        elif source.suffix == ".gz":
            with gzip.open(source) as packed, open(target, "wb") as plain:
                plain.writelines(pieces_of(packed, source.stat().st_size))
        else:
            shutil.copyfile(source, target)
    except (gzip.BadGzipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{source}: cannot be unpacked ({error}); expected a whole file; get it again"
        ) from error


def _unpack_member(source: Path, target: Path) -> None:
    with tarfile.open(source, "r:gz") as archive:
        members = [member for member in archive if member.isfile() and member.name.endswith(".arpa")]
        packed = archive.extractfile(members[0]) if len(members) == 1 else None
        if packed is None:
            raise CorpusError(f"{source}: {len(members)} .arpa files in it, expected one; unpack it yourself")
        with packed, open(target, "wb") as plain:
            plain.writelines(pieces_of(packed, source.stat().st_size))
