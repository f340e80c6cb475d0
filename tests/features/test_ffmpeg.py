"""Decoding by ffmpeg. The program itself need not be there: a script of its name stands for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose

from features import AudioError, audio_info, read_audio
from features.ffmpeg import DecodedRecordings, decode, is_for_ffmpeg, is_installed
from foundation.threads import parallel_map

SAMPLES = np.linspace(-0.5, 0.5, 8000).astype(np.float32)
# Writes down its arguments, and copies what it is asked to decode: our files are WAV files but for 4 bytes.
SCRIPT = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
test -f "$(dirname "$0")/error" && cat "$(dirname "$0")/error" >&2
while test "$1" != "-i"; do shift; done
source="${2#file:}"
for target; do :; done
(printf RIFF; tail -c +5 "$source") > "${target#file:}"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file with the arguments of each call of the program."""
    program = tmp_path / "bin" / "ffmpeg"
    program.parent.mkdir()
    program.write_text(SCRIPT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program.parent / "calls"


def write(path: Path, samples: np.ndarray = SAMPLES) -> Path:
    soundfile.write(path, samples, 8000, subtype="PCM_16", format="WAV")
    path.write_bytes(b"NONE" + path.read_bytes()[4:])
    return path


def n_calls(calls: Path) -> int:
    return len(calls.read_text().splitlines()) if calls.exists() else 0


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
class TestDecoding:
    def test_samples_segments_and_header_cost_one_call(self, tmp_path: Path, calls: Path) -> None:
        path = write(tmp_path / "a b.M4A")
        assert_allclose(read_audio(path, None), SAMPLES, rtol=0, atol=1e-4)
        assert_allclose(read_audio(path, None, 0.25, 0.5), SAMPLES[2000:4000], rtol=0, atol=1e-4)
        assert audio_info(path).duration_s == 1.0
        (call,) = calls.read_text().splitlines()
        assert "-protocol_whitelist file -format_whitelist mov,mp4,m4a" in call
        assert f"-i file:{path} -map 0:a:0 -c:a pcm_s16le" in call

    def test_a_file_that_changed_is_decoded_again(self, tmp_path: Path, calls: Path) -> None:
        path = write(tmp_path / "a.webm")
        assert read_audio(path, None).size == 8000
        write(path, SAMPLES[:4000])
        assert_allclose(read_audio(path, None), SAMPLES[:4000], rtol=0, atol=1e-4)
        assert n_calls(calls) == 2

    def test_only_the_last_ones_are_kept(self, tmp_path: Path, calls: Path) -> None:
        decoded = DecodedRecordings(most=2)
        paths = [write(tmp_path / f"{i}.m4a") for i in range(3)]
        for path in (*paths, paths[2], paths[0]):
            os.close(decoded.open(path))
        assert [line.split("-i file:")[1].split()[0] for line in calls.read_text().splitlines()] == [
            str(paths[i]) for i in (0, 1, 2, 0)
        ]

    def test_what_a_killed_run_had_decoded_goes(
        self, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        path = write(tmp_path / "a.m4a")
        code = "import os, sys; from features import read_audio; read_audio(sys.argv[1], None); os._exit(9)"
        environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
        subprocess.run([sys.executable, "-c", code, path], env=environment, check=False)
        (left,) = (tmp_path / "temporary").glob("asr-decoded-*")
        assert (left / "1.wav").is_file()
        os.close(DecodedRecordings().open(path))
        (ours,) = (tmp_path / "temporary").iterdir()
        assert (ours != left, (ours / "1.wav").is_file()) == (True, True)

    def test_threads_wait_for_one_call(self, tmp_path: Path, calls: Path) -> None:
        path = write(tmp_path / "a.mkv")
        starts = [0.1 * i for i in range(8)]
        found = list(parallel_map(lambda s: read_audio(path, None, s, s + 0.1), starts, 8))
        assert_allclose(np.concatenate(found), SAMPLES[:6400], rtol=0, atol=1e-4)
        assert n_calls(calls) == 1

    def test_what_ffmpeg_says_is_an_error_of_one_line(self, tmp_path: Path, calls: Path) -> None:
        calls.with_name("error").write_text("[in#0/webm @ 0x55c2] File ended prematurely.\nmore\n")
        with pytest.raises(
            AudioError, match=r"a\.webm: not a whole recording to ffmpeg; .* got File ended pre"
        ):
            decode(write(tmp_path / "a.webm"), tmp_path / "out.wav")
        assert not (tmp_path / "out.wav").exists()

    @pytest.mark.parametrize(
        "content",
        [
            b"\0\0\0\x10ftypM4A mp42\0\0\0\x18moov"
            + bytes(16)
            + b"\0\0\0\1mdat"
            + bytes(7)
            + b"\x20"
            + bytes(16),
            b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm" + bytes(500) + b"\x1a\x45\xdf\xa3",
            bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c") + bytes(300) + b"\x30\x26\xb2\x75",
            b"#!AMR\n" + bytes(100),
            b"RIFF\0\1\0\0AVI " + bytes(100) + b"RIFF\0\1\0\0AVIX" + bytes(100),
        ],
        ids=["mp4", "webm", "wma", "amr", "avi"],
    )
    def test_two_recordings_in_a_file_are_an_error(self, tmp_path: Path, calls: Path, content: bytes) -> None:
        (tmp_path / "one.m4a").write_bytes(content)
        decode(tmp_path / "one.m4a", tmp_path / "out.wav")
        assert n_calls(calls) == 1
        (tmp_path / "two.m4a").write_bytes(2 * content)
        line = rf"two recordings in one file; expected one; got another from byte {len(content)} on; cut it"
        with pytest.raises(AudioError, match=line):
            decode(tmp_path / "two.m4a", tmp_path / "out.wav")
        assert n_calls(calls) == 1

    def test_names_of_other_kinds_are_not_for_ffmpeg(self, tmp_path: Path, calls: Path) -> None:
        with pytest.raises(AudioError, match="not audio that libsndfile can read"):
            read_audio(write(tmp_path / "a.wav"))
        assert n_calls(calls) == 0


def test_ffmpeg_does_not_get_the_input_that_another_thread_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows a process that begins with a pipe on which a thread waits would wait, too."""
    given: list[object] = []

    def run(
        command: list[str], stdin: object = None, **options: object
    ) -> "subprocess.CompletedProcess[bytes]":
        given.append(stdin)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr("features.ffmpeg.shutil.which", lambda name: name)
    monkeypatch.setattr("features.ffmpeg.subprocess.run", run)
    (tmp_path / "x.m4a").touch()
    decode(tmp_path / "x.m4a", tmp_path / "x.wav")
    assert given == [subprocess.DEVNULL]


def test_without_ffmpeg_one_line_says_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AudioError, match=r"a\.m4a: \.m4a is read by ffmpeg; expected that program; got none"):
        read_audio(write(tmp_path / "a.m4a"))
    assert not is_installed()


def test_a_name_says_nothing_of_what_libsndfile_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    soundfile.write(tmp_path / "a.m4a", SAMPLES, 8000, format="FLAC")
    assert_allclose(read_audio(tmp_path / "a.m4a", None), SAMPLES, rtol=0, atol=1e-4)


@pytest.mark.parametrize("head", [b"\0\0\0\x18ftypM4A ", b"\x1a\x45\xdf\xa3", b"\x30\x26\xb2\x75\x8e\x66"])
def test_how_a_file_begins_tells_where_the_name_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "a.mp3"
    path.write_bytes(head + bytes(1000))
    assert is_for_ffmpeg(path)
    with pytest.raises(AudioError, match=r"m4a, webm or wma \(though it is called \.mp3\) is read by ffmpeg"):
        read_audio(path)
    path.write_bytes(b"ID3" + bytes(1000))
    assert not is_for_ffmpeg(path)
