"""Recordings that libsndfile cannot read (m4a, webm, mp4, wma, ...), decoded by ffmpeg where it is installed.

A recording may be read in hundreds of segments: the last ones that were decoded are kept as WAV files in a
temporary folder. Recordings are files of strangers: ffmpeg is called without a shell, and may open nothing
but the file itself, and that only as one of the formats meant here; playlists that name other files are not.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from features.errors import AudioError
from features.pieces import HEAD, File
from foundation.files import folder_until_exit

FFMPEG_SUFFIXES = frozenset(
    {".m4a", ".mp4", ".m4b", ".aac", ".webm", ".mka", ".mkv", ".mov", ".3gp", ".wma", ".wmv", ".amr", ".avi"}
)
# As ffmpeg calls these formats.
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,aac,asf,amr,amrnb,amrwb,avi"
# How files of these formats begin, whatever they are called: telephones' recordings are renamed to .mp3, too.
_ISO_MEDIA, _MATROSKA, _ASF = b"ftyp", b"\x1a\x45\xdf\xa3", b"\x30\x26\xb2\x75"
_N_KEPT = 16  # more than there are threads: each may be reading another recording


@dataclass
class _Decoded:
    """A recording's WAV file, None while there is none."""

    path: Path | None = None
    lock: Lock = field(default_factory=Lock)


class DecodedRecordings:
    """The last recordings that ffmpeg decoded.

    Parameters
    ----------
    most : how many are kept
    """

    def __init__(self, most: int = _N_KEPT) -> None:
        self.most = most
        self._guard = Lock()
        self._folder: Path | None = None
        self._kept: OrderedDict[tuple[str, int, int], _Decoded] = OrderedDict()
        self._n_decoded = 0

    def open(self, path: Path) -> int:
        """Return the descriptor of an open WAV file with a recording's samples.

        Raises
        ------
        AudioError
            ffmpeg is not there, or finds no sound recording or a damaged one.
        """
        stat = path.stat()
        with self._guard:
            key = (os.path.abspath(path), stat.st_mtime_ns, stat.st_size)
            entry = self._kept.setdefault(key, _Decoded())
            self._kept.move_to_end(key)
            old = [self._kept.popitem(last=False)[1] for _ in range(len(self._kept) - self.most)]
        for each in old:
            _remove(each)
        with entry.lock:
            if entry.path is None:
                target = self._new_path()
                decode(path, target)
                entry.path = target
            return os.open(entry.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))

    def _new_path(self) -> Path:
        with self._guard:
            self._n_decoded += 1
            if self._folder is None:
                self._folder = folder_until_exit("asr-decoded-")
            return self._folder / f"{self._n_decoded}.wav"


def _remove(entry: _Decoded) -> None:
    """Delete a WAV file; where open files cannot be deleted, that is left to the end of the program."""
    with entry.lock:
        if entry.path is not None:
            try:
                entry.path.unlink(missing_ok=True)
            except OSError:
                return
            entry.path = None


def is_installed() -> bool:
    """Return whether there is an ffmpeg to call."""
    return shutil.which("ffmpeg") is not None


def is_for_ffmpeg(path: Path) -> bool:
    """Return whether a recording is of a format for ffmpeg, by its name or by how it begins."""
    if path.suffix.lower() in FFMPEG_SUFFIXES:
        return True
    with path.open("rb") as file:
        head = file.read(8)
    return head[4:] == _ISO_MEDIA or head.startswith((_MATROSKA, _ASF))


def decode(path: Path, target: Path) -> None:
    """Write the first sound track of a recording as a WAV file of 16 bits, rate and channels as they are.

    Of several recordings one behind another ffmpeg would decode the first: they are an error.
    """
    program = shutil.which("ffmpeg")
    if program is None:
        raise AudioError(
            f"{path}: {_format_of(path)} is read by ffmpeg; expected that program; got none on PATH; install "
            "it (ffmpeg.org), or convert the recording to wav or flac"
        )
    check_one_for_ffmpeg(path)
    options = ["-nostdin", "-v", "error", "-y", "-protocol_whitelist", "file", "-format_whitelist", _FORMATS]
    sound = ["-map", "0:a:0", "-c:a", "pcm_s16le", "-rf64", "auto", "-f", "wav"]
    command = [program, *options, "-i", f"file:{os.path.abspath(path)}", *sound, f"file:{target}"]
    # A list without a shell, the recording's name behind "file:".
    result = subprocess.run(  # noqa: S603
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    said = result.stderr.decode("utf-8", errors="replace").strip().splitlines()
    if result.returncode or said:
        target.unlink(missing_ok=True)
        reason = said[0] if said else f"exit code {result.returncode}"
        # Without the name and address of the part of ffmpeg that speaks.
        reason = re.sub(r"\[[^\]]* @ [^\]]*\] *", "", reason).rstrip(".")
        raise AudioError(
            f"{path}: not a whole recording to ffmpeg; expected sound without errors; got {reason}; "
            "copy it again, or convert it to wav to keep what is there"
        )


def _format_of(path: Path) -> str:
    known = path.suffix.lower() in FFMPEG_SUFFIXES
    return path.suffix if known else f"m4a, webm or wma (though it is called {path.suffix})"


_DECODED = DecodedRecordings()


def open_decoded(path: Path) -> int:
    """Return the descriptor of an open WAV file with a recording's samples (see `DecodedRecordings`)."""
    return _DECODED.open(path)


# What ffmpeg decodes: it hears the first of several, too

_ISO_BOX = struct.Struct(">I4s")
_MOST_BOXES = 100_000  # of a fragmented file; by feel: ten hours have some ten thousand
_MARKS_FOR_FFMPEG = {
    b"\x1a\x45\xdf\xa3": re.compile(
        rb"\x1a\x45\xdf\xa3((?!\x1a\x45\xdf\xa3).){0,60}?\x42\x82.(webm|matroska)", re.DOTALL
    ),
    b"\x30\x26\xb2\x75": re.compile(rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c"),
    b"#!AM": re.compile(rb"#!AMR(-WB)?\n"),
    b"RIFF": re.compile(rb"RIFF....AVI ", re.DOTALL),
}


def check_one_for_ffmpeg(path: Path) -> None:
    """Raise AudioError of an MP4, Matroska, ASF, AMR or AVI file behind which another one lies."""
    with path.open("rb") as opened:
        file = File(path, opened)
        head = file.read(0, HEAD)
        mark = _MARKS_FOR_FFMPEG.get(head[:4])
        if head[4:8] == b"ftyp":
            place = _second_movie(file)
        elif mark is not None:
            place = _second(file, head[:4], mark)
        else:
            return
    if place < file.size:
        cure = "cut it there, or join them with `ffmpeg -f concat`"
        raise AudioError.of(path, "two recordings in one file", "one", f"another from byte {place} on", cure)


def _second_movie(file: File) -> int:
    """Return where a second MP4 begins behind the first, or the end of the file."""
    position = 0
    for n in range(_MOST_BOXES):
        header = file.read(position, 16)
        if len(header) < _ISO_BOX.size:
            return file.size
        size, name = _ISO_BOX.unpack(header[: _ISO_BOX.size])
        if name == b"ftyp" and n:
            return position
        size = int.from_bytes(header[8:], "big") if size == 1 else size
        if size < _ISO_BOX.size:
            return file.size  # up to the end, or damaged
        position += size
    raise AudioError.of(
        file.path, "not a usual recording", f"at most {_MOST_BOXES} boxes", "more", "convert it"
    )


def _second(file: File, first: bytes, mark: re.Pattern[bytes]) -> int:
    """Return where a mark is found again behind the beginning of the file, or its end."""
    place = 0
    while (place := file.find((first,), place + 1)) < file.size:
        if mark.match(file.read(place, 2 * HEAD)):
            return place
        file.step()
    return file.size
