"""Reading recordings of every kind, and one clear line for each that cannot be used."""

import os
import struct

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose, assert_array_equal

from features import AudioError, AudioInfo, audio_info, read_audio


def tone(sample_rate=16000, seconds=1.0, hz=440.0):
    return (0.5 * np.sin(2 * np.pi * hz * np.arange(round(seconds * sample_rate)) / sample_rate)).astype(
        np.float32
    )


@pytest.fixture
def write(tmp_path):
    """Return a function that writes samples as an audio file and returns its path."""

    def write_file(name, samples=None, sample_rate=16000, **options):
        path = tmp_path / name
        soundfile.write(path, tone(sample_rate) if samples is None else samples, sample_rate, **options)
        return path

    return write_file


def cut(path, share=0.6):
    """Keep the first part of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def raises_line(message):
    """Expect one line: path, what, expected, got, what to do."""
    return pytest.raises(AudioError, match=rf"^[^\n;]*: {message}[^\n]*$")


# --- what can be read


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("a.wav", {"subtype": "PCM_16"}, 1e-4),
        ("a.wav", {"subtype": "PCM_24"}, 1e-6),
        ("a.wav", {"subtype": "PCM_U8"}, 2e-2),
        ("a.wav", {"subtype": "FLOAT"}, 0.0),
        ("a.wav", {"subtype": "DOUBLE"}, 0.0),
        ("a.wav", {"subtype": "ULAW"}, 2e-2),
        ("a.wav", {"format": "WAVEX"}, 1e-4),
        ("a.rf64", {}, 1e-4),
        ("a.flac", {}, 1e-4),
        ("a.aiff", {}, 1e-4),
        ("a.au", {}, 1e-4),
        ("a.sph", {"format": "NIST", "subtype": "PCM_16"}, 1e-4),
        ("a.sph", {"format": "NIST", "subtype": "PCM_16", "endian": "BIG"}, 1e-4),
        ("a.sph", {"format": "NIST", "subtype": "ULAW"}, 2e-2),
        ("a.ogg", {}, 5e-2),
        ("a.opus", {"format": "OGG", "subtype": "OPUS"}, 5e-2),
        ("a.mp3", {}, 5e-2),
    ],
)
def test_formats(write, name, options, tolerance):
    samples = read_audio(write(name, **options))
    assert samples.dtype == np.float32
    assert samples.shape == (16000,)
    # the ends of a lossy file ring
    assert_allclose(samples[1600:-1600], tone()[1600:-1600], rtol=0, atol=tolerance)


def test_the_extension_does_not_matter(write, tmp_path):
    path = write("a.flac").rename(tmp_path / "a.wav")
    assert_allclose(read_audio(path), tone(), rtol=0, atol=1e-4)


def test_sixteen_bits_are_exact(write):
    integers = np.array([-32768, -1, 0, 1, 32767], dtype=np.int16)
    assert_array_equal(read_audio(write("a.wav", integers)) * 32768, integers)


def test_stereo_at_44100_hz(write):
    left, right = tone(44100, hz=440.0), tone(44100, hz=1000.0)
    samples = read_audio(write("a.wav", np.stack([left, right], axis=1), 44100))
    assert samples.shape == (16000,)
    expected = (tone(hz=440.0) + tone(hz=1000.0)) / 2
    assert_allclose(samples[800:-800], expected[800:-800], rtol=0, atol=1e-3)


@pytest.mark.parametrize("sample_rate", [8000, 11025, 22050, 48000])
def test_resampling(write, sample_rate):
    samples = read_audio(write("a.wav", sample_rate=sample_rate))
    assert samples.shape == (16000,)
    assert_allclose(samples[800:-800], tone()[800:-800], rtol=0, atol=1e-3)


def test_other_rates_on_request(write):
    path = write("a.wav", sample_rate=22050)
    lower = read_audio(path, sample_rate=8000)
    assert lower.shape == (8000,)
    assert_allclose(lower[400:-400], tone(8000)[400:-400], rtol=0, atol=1e-3)
    assert_allclose(read_audio(path, sample_rate=None), tone(22050), rtol=0, atol=1e-4)


def test_channels_are_averaged_over_blocks(write, monkeypatch):
    channels = np.random.default_rng(0).uniform(-0.5, 0.5, (5000, 3)).astype(np.float32)
    path = write("a.wav", channels, subtype="FLOAT")
    monkeypatch.setattr("features.audio.BLOCK_SAMPLES", 777)
    assert_allclose(read_audio(path), channels.mean(axis=1), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg", "a.mp3"])
def test_segments(write, name):
    path = write(name, np.random.default_rng(0).uniform(-0.5, 0.5, 16000).astype(np.float32))
    whole = read_audio(path)
    segment = read_audio(path, start_s=0.25, end_s=0.5)
    assert_allclose(segment, whole[4000:8000], rtol=0, atol=1e-3)
    assert_array_equal(read_audio(path, start_s=0.75).shape, (4000,))


def test_segment_that_ends_a_little_late_is_shortened(write):
    path = write("a.wav")
    assert_array_equal(read_audio(path, start_s=0.5, end_s=1.05), read_audio(path)[8000:])


def test_segment_of_another_rate(write):
    segment = read_audio(write("a.wav", sample_rate=8000), start_s=0.5, end_s=1.0)
    assert segment.shape == (8000,)
    assert_allclose(segment[800:-800], tone()[8800:15200], rtol=0, atol=1e-3)


def test_info_is_read_from_the_header(write):
    path = write("a.wav", np.zeros((4410, 2), dtype=np.float32), 44100)
    assert audio_info(path) == AudioInfo(sample_rate=44100, n_channels=2, duration_s=0.1)
    assert audio_info(str(path)).n_channels == 2


# --- what cannot


def test_missing_file(tmp_path):
    with raises_line("no such file; expected an audio file; got nothing; check the path"):
        read_audio(tmp_path / "none.wav")


def test_directory(tmp_path):
    with raises_line("not a recording; expected an audio file; got a directory; check"):
        read_audio(tmp_path)


def test_path_through_a_file(write):
    with raises_line("cannot be opened; expected a readable file; got Not a directory; check"):
        read_audio(write("a.wav") / "b.wav")


@pytest.mark.parametrize("function", [read_audio, audio_info])
def test_empty_file(tmp_path, function):
    (tmp_path / "a.wav").touch()
    with raises_line("empty file; expected an audio file; got 0 bytes; copy"):
        function(tmp_path / "a.wav")


@pytest.mark.parametrize("name", ["a.wav", "a.mp3", "a.sph", "a.raw", "a"])
@pytest.mark.parametrize(
    "content", [b"not a sound at all\n" * 50, b"R", b"RIFF", b"NIST_1A\n", b"OggS", b"fLaC" + bytes(40)]
)
def test_not_audio(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with raises_line(
        "(not audio that libsndfile can read; expected wav, flac, .*; convert|truncated; expected .*; copy)"
    ):
        read_audio(tmp_path / name)


def test_random_bytes_never_end_in_a_traceback(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "a.bin"
    for magic in (
        b"",
        b"RIFF\0\0\0\0WAVE",
        b"RIFF\xff\xff\0\0WAVEdata",
        b"NIST_1A\n   1024\n",
        b"OggS",
        b"FORM\0\0\0\0AIFF",
    ):
        for _ in range(20):
            path.write_bytes(magic + rng.bytes(int(rng.integers(0, 300))))
            with pytest.raises(AudioError, match=r"^[^\n]+$"):
                read_audio(path)


@pytest.mark.parametrize("function", [read_audio, audio_info])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.wav", {}),
        ("a.aiff", {}),
        ("a.au", {}),
        ("a.sph", {"format": "NIST", "subtype": "PCM_16"}),
        ("a.ogg", {}),
    ],
)
def test_truncated_where_the_header_tells(write, function, name, options):
    with raises_line("truncated; expected [0-9]+ bytes of audio; got [0-9]+ bytes of audio; copy"):
        function(cut(write(name, **options)))


def test_wav_one_byte_short(write):
    path = write("a.wav")
    path.write_bytes(path.read_bytes()[:-1])
    with raises_line("truncated; expected 32000 bytes of audio; got 31999 bytes of audio"):
        read_audio(path)


@pytest.mark.parametrize("name", ["a.flac", "a.mp3"])
def test_truncated_where_only_decoding_tells(write, name):
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 32000)
    with raises_line("truncated; expected 32000 samples; got .*; copy"):
        read_audio(cut(write(name, noise)))


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFF000, 0x80000000])
def test_wav_written_to_a_pipe(write, size):
    path = write("a.wav")
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 4, size)
    struct.pack_into("<I", content, 40, size)
    path.write_bytes(content)
    assert_allclose(read_audio(path), tone(), rtol=0, atol=1e-4)
    assert audio_info(path).duration_s == 1.0


def test_shortened_sphere_names_the_cure(tmp_path):
    fields = ["NIST_1A", "   1024", "sample_count -i 100", "channel_count -i 1", "sample_n_bytes -i 2"]
    fields += ["sample_rate -i 16000", "sample_coding -s26 pcm,embedded-shorten-v2.00", "end_head\n"]
    (tmp_path / "a.sph").write_bytes("\n".join(fields).encode().ljust(1024) + b"ajkg" + bytes(60))
    with raises_line(
        "compressed NIST SPHERE; expected pcm or ulaw; got pcm,embedded-shorten-v2.00; expand with `sph2pipe"
    ):
        read_audio(tmp_path / "a.sph")


@pytest.mark.parametrize(("bad", "name"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_samples_that_are_no_numbers(write, bad, name):
    samples = tone()
    samples[5] = bad
    with raises_line(f"sample 5; expected a finite number; got {name}; divide integers by 32768, repair"):
        read_audio(write("a.wav", samples, subtype="FLOAT"))


@pytest.mark.parametrize("value", [1e30, -1e30, 150.0])
def test_samples_far_above_full_scale(write, value):
    samples = tone()
    samples[5] = value
    with raises_line(r"sample 5; expected numbers within ±1, or somewhat above; got -?[0-9.e+]+; divide"):
        read_audio(write("a.wav", samples, subtype="FLOAT"))


def test_moderate_overshoot_is_sound(write):
    assert_allclose(read_audio(write("a.wav", 20 * tone(), subtype="FLOAT")), 20 * tone(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("function", [read_audio, audio_info])
@pytest.mark.parametrize("rate", [1, 8, 3999, 768_001, 2**31 - 1])
def test_rates_that_no_recording_has(write, function, rate):
    path = write("a.wav")
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 24, rate)
    path.write_bytes(content)
    with raises_line(f"damaged header; expected 4000 to 768000 Hz; got {rate} Hz; correct"):
        function(path)


def test_a_header_that_claims_more_than_any_coding_holds(write):
    path = write("a.flac")
    content = bytearray(path.read_bytes())
    content[21] |= 0x0F
    content[22:26] = b"\xff" * 4  # the 36 bits of STREAMINFO's number of samples
    path.write_bytes(content)
    with raises_line("truncated; expected 68719476735 samples; got [0-9]+ bytes; copy"):
        audio_info(path)


def test_more_hours_than_anybody_records(write, monkeypatch):
    monkeypatch.setattr("features.audio.LONGEST_S", 0.5)
    with raises_line("too long; expected at most 0 hours; got 0 hours; cut it"):
        audio_info(write("a.wav"))


@pytest.mark.parametrize(("name", "place", "field"), [("a.rf64", b"ds64", 16), ("a.w64", b"data", 16)])
def test_64_bit_containers_that_lack_samples(write, name, place, field):
    path = write(name)
    content = bytearray(path.read_bytes())
    struct.pack_into("<Q", content, content.find(place) + field, 1 << 40)
    path.write_bytes(content)
    with raises_line("truncated; expected 1[0-9]+ bytes of audio; got 32000 bytes of audio; copy"):
        read_audio(path)


@pytest.mark.parametrize("name", ["a.rf64", "a.w64"])
def test_64_bit_containers_cut_short(write, name):
    with raises_line("truncated; expected 32000 bytes of audio; got [0-9]+ bytes of audio; copy"):
        read_audio(cut(write(name)))


def test_gsm_in_wav(write):
    path = write("a.wav", tone(8000), 8000, subtype="GSM610")
    assert_allclose(read_audio(path, 8000)[800:7200], tone(8000)[800:7200], rtol=0, atol=0.1)
    part = read_audio(path, 8000, start_s=0.5, end_s=0.75)
    assert_array_equal(part, read_audio(path, 8000)[4000:6000])


def test_many_channels_are_read_in_small_blocks(write, monkeypatch):
    monkeypatch.setattr("features.audio.BLOCK_SAMPLES", 8)
    channels = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 128)).astype(np.float32)
    path = write("a.wav", channels, subtype="FLOAT")
    assert_allclose(read_audio(path), channels.mean(axis=1), rtol=0, atol=1e-7)


def test_a_length_of_a_sphere_header_that_is_no_number(write):
    path = write("a.sph", format="NIST", subtype="PCM_16")
    content = path.read_bytes()
    path.write_bytes(content[:8] + "   1²24\n".encode("latin-1") + content[16:])
    assert np.abs(read_audio(path)).max() <= 1.0  # libsndfile takes a length of its own


@pytest.mark.parametrize("name", ["a\0b.wav", "a\ud800.wav"])
def test_names_that_no_file_can_have(tmp_path, name):
    with raises_line("cannot be opened; expected a readable file; got No file can have this name; check"):
        read_audio(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"\0\5\x16\7\0\2\0\0" + bytes(200)])
def test_a_file_that_a_mac_leaves_beside_it(tmp_path, content):
    samples = np.sin(np.arange(8000) / 20) / 2
    for name in ("a.mp3", "a.wav", "a.flac", "a.ogg"):
        soundfile.write(tmp_path / name, samples, 16000)
        alone = read_audio(tmp_path / name)
        (tmp_path / f"._{name}").write_bytes(content)
        assert_array_equal(read_audio(tmp_path / name), alone)
        assert audio_info(tmp_path / name).duration_s == 0.5


def test_a_pipe_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "a.wav")
    with raises_line("cannot be opened; expected a readable file; got a pipe, not a file; check"):
        read_audio(tmp_path / "a.wav")


@pytest.mark.parametrize("function", [read_audio, audio_info])
def test_a_disk_that_fails(write, monkeypatch, function):
    def fails(file, position, n_bytes):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("features.pieces.File.read", fails)
    with raises_line("cannot be opened; expected a readable file; got Input/output error; check"):
        function(write("a.wav"))


def test_memory_that_is_not_there(write, monkeypatch):
    def fails(*arguments):
        raise MemoryError

    monkeypatch.setattr("features.audio._mono_blocks", fails)
    with raises_line("needs more memory than there is; expected a shorter one; got this; cut it"):
        read_audio(write("a.wav"))


def test_too_few_samples_for_another_rate(write):
    path = write("a.wav", tone()[:1], 768_000)
    with raises_line("no samples; expected at least one at 4000 Hz; got 0; record"):
        read_audio(path, 4000)


def test_no_samples(write):
    with raises_line("no samples; expected at least one; got 0; record"):
        read_audio(write("a.wav", np.zeros(0, dtype=np.float32)))


@pytest.mark.parametrize(
    ("start_s", "end_s"),
    [(-0.1, 0.5), (0.5, 0.5), (0.6, 0.5), (0.0, 1.2), (1.0, None), (2.0, 3.0), (0.0, float("nan"))],
)
def test_segment_out_of_range(write, start_s, end_s):
    with raises_line(r"segment out of range; expected 0 <= start < end <= 1\.000 s; got .* to .* s; correct"):
        read_audio(write("a.wav"), start_s=start_s, end_s=end_s)


def test_impossible_rate(write):
    with raises_line("sample rate; expected 4000 to 768000 Hz; got 0; ask"):
        read_audio(write("a.wav"), sample_rate=0)


@pytest.mark.parametrize("options", [{}, {"subtype": "PCM_16"}, {"start_s": 0.2, "sample_rate": 8000}])
def test_channels_that_cancel_each_other(write, options):
    channel = np.random.default_rng(0).normal(0, 0.1, 16000)
    asked = {name: options[name] for name in ("start_s", "sample_rate") if name in options}
    path = write("a.wav", np.stack([channel, -channel], 1), subtype=options.get("subtype", "FLOAT"))
    with pytest.raises(
        AudioError, match=r"a\.wav: its channels cancel each other; .* save one of them alone"
    ):
        read_audio(path, **asked)


def test_channels_that_cancel_but_for_a_rest(write):
    channel = np.random.default_rng(0).normal(0, 0.1, 16000)
    loud = np.stack([channel, -0.5 * channel], 1)
    assert_allclose(read_audio(write("a.wav", loud, subtype="FLOAT")), channel / 4, rtol=0, atol=1e-7)
    lossy = write("b.opus", np.stack([channel, -channel], 1), format="OGG", subtype="OPUS")
    clipped = write("c.wav", np.stack([20 * channel, -20 * channel], 1))  # 32767 and -32768 are no opposites
    for path in (lossy, clipped):
        with pytest.raises(AudioError, match="its channels cancel each other"):
            read_audio(path)


def test_silent_channels_do_not_cancel_each_other(write):
    assert_array_equal(read_audio(write("a.wav", np.zeros((400, 2)))), np.zeros(400))
