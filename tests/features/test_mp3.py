"""MP3 files that do not state their length."""

import numpy as np
import pytest
import soundfile

from features import AudioError, audio_info, read_audio
from features.containers import unstated_length


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
