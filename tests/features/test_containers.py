"""What headers promise, of files written here byte by byte or by libsndfile."""

import struct

import numpy as np
import pytest
import soundfile

from features import AudioError, audio_info, read_audio
from features.containers import missing_bytes, sphere_compression, unstated_length, with_sizes_filled_in

SAMPLES = (np.arange(800) % 100 / 200).astype(np.float32)
CONTENT = struct.pack("<8h", *range(8))  # 16 bytes of audio


def wav(size=16, content=CONTENT, *, before=b""):
    body = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + before
    body += b"data" + struct.pack("<I", size) + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


def aiff(size, content):
    return b"FORM" + struct.pack(">I", 20 + len(content)) + b"AIFFSSND" + struct.pack(">I", size) + content


def au(size, content, start=28):
    return b".snd" + struct.pack(">6I", start, size, 3, 16000, 1, 0) + content


def sphere(n_samples, content, *more, header_bytes="   1024"):
    fields = ["NIST_1A", header_bytes, f"sample_count -i {n_samples}", "channel_count -i 2"]
    header = "\n".join([*fields, "sample_n_bytes -i 2", *more, "end_head\n"]).encode()
    return header.ljust(1024) + content


def ogg_page(segments, content):
    return b"OggS" + bytes(22) + bytes([len(segments), *segments]) + content


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (wav(), None),
        (wav(20), (20, 16)),
        (wav(12), None),  # more than promised is no loss
        (wav(0xFFFFFFFF), None),  # a placeholder
        (wav(0x7FFF0000), None),
        (wav(0x7FFEFFFF), (0x7FFEFFFF, 16)),
        (wav(20, before=b"LIST" + struct.pack("<I", 3) + b"abc\0"), (20, 16)),  # padded to an even length
        (wav()[:36], None),  # no audio chunk
        (aiff(24, CONTENT), (24, 16)),
        (aiff(16, CONTENT), None),
        (au(20, CONTENT), (20, 16)),
        (au(16, CONTENT), None),
        (au(0xFFFFFFFF, CONTENT), None),
        (au(20, b"", start=100), (20, 0)),  # cut within the header
        (b".snd\0\0", None),
        (sphere(4, CONTENT), None),
        (sphere(5, CONTENT), (20, 16)),
        (sphere("many", CONTENT), None),  # for libsndfile to say
        (sphere(4, CONTENT, header_bytes="no size"), None),
        (ogg_page([10, 6], CONTENT), None),
        (ogg_page([10, 10], CONTENT), (27 + 2 + 20, 27 + 2 + 16)),
        (ogg_page([16], CONTENT) + ogg_page([10, 10], CONTENT)[:20], (27, 20)),  # the last page counts
        (b"ID3 or anything else", None),
        (b"", None),
    ],
)
def test_promised_and_held(tmp_path, content, expected):
    path = tmp_path / "a"
    path.write_bytes(content)
    assert missing_bytes(path) == expected


@pytest.mark.parametrize(
    ("name", "options"),
    [("a.wav", {}), ("a.aiff", {}), ("a.au", {}), ("a.sph", {"format": "NIST"}), ("a.ogg", {})],
)
def test_files_of_libsndfile_and_every_cut_of_their_end(tmp_path, name, options):
    path = tmp_path / name
    soundfile.write(path, SAMPLES, 16000, **options)
    whole = path.read_bytes()
    assert missing_bytes(path) is None
    for n_cut in (1, 2, 17, 100):
        path.write_bytes(whole[:-n_cut])
        promised, held = missing_bytes(path)
        assert promised - held == n_cut


def test_compressed_sphere_is_named(tmp_path):
    path = tmp_path / "a.sph"
    path.write_bytes(sphere(4, CONTENT, "sample_coding -s26 pcm,embedded-shorten-v2.00"))
    assert sphere_compression(path) == "pcm,embedded-shorten-v2.00"
    for content in (sphere(4, CONTENT, "sample_coding -s3 pcm"), sphere(4, CONTENT), wav()):
        path.write_bytes(content)
        assert sphere_compression(path) is None


def test_sizes_of_a_streamed_wav_are_filled_in(tmp_path):
    path = tmp_path / "a.wav"
    whole = wav()
    streamed = b"RIFF" + bytes(4) + wav(0)[8:]
    path.write_bytes(streamed)
    filled = with_sizes_filled_in(path)
    assert filled.getvalue() == whole
    samples, rate = soundfile.read(filled, dtype="int16")
    assert (samples.tolist(), rate) == (list(range(8)), 16000)
    assert path.read_bytes() == streamed  # the file stays


@pytest.mark.parametrize(
    "content",
    [wav(), wav(0, b""), b"RIFF" + bytes(4) + wav(16)[8:], b"RIFF" + bytes(4) + b"AVI " + bytes(40), b"RIFF"],
    ids=["whole", "no samples", "audio has its size", "no WAV", "nothing"],
)
def test_other_files_are_left_alone(tmp_path, content):
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    assert with_sizes_filled_in(path) is None


# MP3 files that do not state their length


def loud_then_quiet(sample_rate):
    """Return noise and silence: at a variable bit rate the first frame tells nothing of the mean."""
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 5 * sample_rate)
    return np.concatenate([noise, np.zeros(5 * sample_rate)]).astype(np.float32)


@pytest.fixture
def write_without_length(tmp_path):
    """Return a function that writes an MP3 and takes the first frame, which states the length, away."""

    def write(samples, sample_rate=16000, mode="VARIABLE", tag=b""):
        path = tmp_path / "a.mp3"
        soundfile.write(path, samples, sample_rate, bitrate_mode=mode, compression_level=0.5)
        assert unstated_length(path) is None
        content = path.read_bytes()
        second = content.index(content[:2], 4)
        path.write_bytes(tag + content[second:])
        return path

    return write


@pytest.mark.parametrize("sample_rate", [8000, 16000, 22050, 44100, 48000])
@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_length_is_counted(write_without_length, sample_rate, mode):
    counted = unstated_length(write_without_length(loud_then_quiet(sample_rate), sample_rate, mode))
    assert 0 <= counted - 10 * sample_rate <= 4 * 1152  # the encoder's delay and padding are in it


def test_a_tag_is_stepped_over(write_without_length):
    tag = b"ID3\x04\0\0\0\0\x01\x05" + bytes(133)  # 0x01, 0x05 are 1 × 128 + 5 bytes
    path = write_without_length(loud_then_quiet(16000), tag=tag)
    assert unstated_length(path) >= 160000


def test_constant_rate_is_read_whole(write_without_length):
    path = write_without_length(loud_then_quiet(16000), mode="CONSTANT")
    samples = read_audio(path)
    assert 160000 <= samples.size <= 160000 + 4 * 1152
    assert audio_info(path).duration_s == samples.size / 16000


def test_guess_that_is_too_long_is_corrected(write_without_length):
    path = write_without_length(loud_then_quiet(16000)[::-1])
    assert 10.0 <= audio_info(path).duration_s <= 10.3
    assert abs(read_audio(path).size / 16000 - audio_info(path).duration_s) < 0.15


def test_guess_that_is_too_short_is_an_error_not_a_shorter_recording(write_without_length):
    path = write_without_length(loud_then_quiet(16000))
    with pytest.raises(
        AudioError,
        match=r"a\.mp3: MP3 of variable bit rate .*; expected \d+ samples; got \d+ from .*; convert",
    ):
        read_audio(path)


def test_other_content_has_no_length(tmp_path):
    path = tmp_path / "a.mp3"
    for content in (
        b"",
        b"ID3",
        b"\xff\xfb",
        b"\xff\xfb\xf0\x00",
        b"\xff\xfb\x9c\x00",
        b"\xff\xea\x90\x00",
        b"no sound",
    ):
        path.write_bytes(content)
        assert unstated_length(path) is None
    path.write_bytes(b"\xff\xfb\x90\x00")  # the header of a frame of MPEG 1, 128 kbit/s, 44,100 Hz
    assert unstated_length(path) == 1152
