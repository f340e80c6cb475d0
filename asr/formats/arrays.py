"""Features, scores and alignments as files of other tools (Kaldi, HTK, numpy): the arrays of ``asr export``.

Utterances come one after the other, and no more than one is held. To add a format: a function here, and a
row of `ARRAY_FORMATS`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asr.files import FilesOfIds, file_stem
from features.htk import write_htk
from features.kaldi import write_ark
from foundation.files import whole_file, write_whole

Items = Iterable[tuple[str, NDArray[Any]]]


@dataclass(frozen=True)
class Named:
    """What the arrays of an export are.

    Attributes
    ----------
    name : name of their file
    kind : HTK's name of what the columns are
    period_s : time from one row to the next
    """

    name: str
    kind: str
    period_s: float


def _kaldi(items: Items, out: Path, what: Named) -> Path:
    """Write an archive and its index, which names the archive by its absolute path."""
    index = out / f"{what.name}.scp"
    write_ark((out / f"{what.name}.ark").absolute(), items, index)
    return index


def _npz(items: Items, out: Path, what: Named) -> Path:
    """Write what `numpy.load` reads, an array for each utterance under its id."""
    path = out / f"{what.name}.npz"
    with whole_file(path) as whole, zipfile.ZipFile(whole, "w", allowZip64=True) as archive:
        for key, array in items:
            # A fixed date: the same arrays give the same bytes.
            with archive.open(zipfile.ZipInfo(f"{_member(key)}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return path


def _member(key: str) -> str:
    """Return an id as it is, unless `unzip` would lay its file elsewhere than in its directory.

    >>> _member("anna/u01"), _member("../u01"), _member("/u01")
    ('anna/u01', '%2E.%2Fu01', '%2Fu01')
    """
    leads_out = key.startswith("/") or ".." in key.split("/") or "\\" in key or "\0" in key
    return file_stem(key) if leads_out else key


def _htk(items: Items, out: Path, what: Named) -> Path:
    """Write a parameter file for each utterance, and the list of them for the option ``-S``."""
    directory = (out / what.name).absolute()
    directory.mkdir(exist_ok=True)
    index = out / f"{what.name}.scp"
    index.unlink(missing_ok=True)  # of files that are about to be others
    paths, files = [], FilesOfIds(directory, ".mfc")
    for key, array in items:
        paths.append(files.path(key))
        write_htk(paths[-1], array, what.period_s, what.kind)
    write_whole(index, "".join(f"{path}\n" for path in paths).encode())
    return index


ARRAY_FORMATS: Mapping[str, Callable[[Items, Path, Named], Path]] = {
    "kaldi": _kaldi,
    "htk": _htk,
    "npz": _npz,
}
