"""What headers promise and what lies behind it, of files written here byte by byte or by libsndfile."""

import io
import struct
import tracemalloc

import numpy as np
import pytest
import soundfile
from numpy.testing import assert_allclose, assert_array_equal

from features import AudioError, audio_info, read_audio
from features.containers import recordings_in
from features.pieces import MOST_RECORDINGS, MOST_STEPS, Pieces, Span

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


def ogg_page(segments, content, flags=4):
    return b"OggS" + bytes([0, flags]) + bytes(20) + bytes([len(segments), *segments]) + content


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
        (sphere(-900, CONTENT), None),
        (sphere(4, CONTENT, header_bytes="  -1024"), None),
        (sphere(4, CONTENT, header_bytes="      0"), None),
        (au(0, b"", start=0), None),
        (ogg_page([10, 6], CONTENT), None),
        (ogg_page([10, 10], CONTENT), (27 + 2 + 20, 27 + 2 + 16)),
        (ogg_page([16], CONTENT) + ogg_page([10, 10], CONTENT)[:20], (27, 20)),  # the last page counts
        (b"ID3 or anything else", None),
    ],
)
def test_promised_and_held(tmp_path, content, expected):
    path = tmp_path / "a"
    path.write_bytes(content)
    if expected is None:
        assert recordings_in(path) == (Span(),)
    else:
        promised, held = expected
        with pytest.raises(
            AudioError, match=f"truncated; expected {promised} bytes of audio; got {held} byt"
        ):
            recordings_in(path)


@pytest.mark.parametrize(
    ("name", "options"),
    [("a.wav", {}), ("a.aiff", {}), ("a.au", {}), ("a.sph", {"format": "NIST"}), ("a.ogg", {})],
)
def test_files_of_libsndfile_and_every_cut_of_their_end(tmp_path, name, options):
    path = tmp_path / name
    soundfile.write(path, SAMPLES, 16000, **options)
    whole = path.read_bytes()
    assert recordings_in(path) == (Span(),)
    for n_cut in (1, 2, 17, 100):
        path.write_bytes(whole[:-n_cut])
        with pytest.raises(
            AudioError, match=r"truncated; expected (\d+) bytes of audio; got (\d+) "
        ) as caught:
            recordings_in(path)
        promised, held = (int(word) for word in str(caught.value).split() if word.isdecimal())
        assert promised - held == n_cut


def test_compressed_sphere_is_named(tmp_path):
    path = tmp_path / "a.sph"
    path.write_bytes(sphere(4, CONTENT, "sample_coding -s26 pcm,embedded-shorten-v2.00"))
    with pytest.raises(
        AudioError, match=r"compressed NIST SPHERE; .* got pcm,embedded-shorten-v2\.00; expand"
    ):
        recordings_in(path)
    path.write_bytes(sphere(4, CONTENT, "sample_coding -s3 pcm"))
    assert recordings_in(path) == (Span(),)


def content_of(path):
    """Return the bytes that libsndfile is given of the only recording in a file."""
    (span,) = recordings_in(path)
    if span.pieces is None:
        return path.read_bytes()
    with path.open("rb") as file:
        return io.BufferedReader(Pieces(file, span.pieces)).read()


def test_sizes_of_a_streamed_wav_are_filled_in(tmp_path):
    path = tmp_path / "a.wav"
    streamed = b"RIFF" + bytes(4) + wav(0)[8:]
    path.write_bytes(streamed)
    assert content_of(path) == wav()
    assert_array_equal(read_audio(path, None) * 32768, range(8))
    assert audio_info(path).duration_s == 8 / 16000
    assert path.read_bytes() == streamed  # the file stays


@pytest.mark.parametrize(
    "content",
    [wav(), wav(0, b""), b"RIFF" + bytes(4) + wav(16)[8:], b"RIFF" + bytes(4) + b"AVI " + bytes(40), b"RIFF"],
    ids=["whole", "no samples", "audio has its size", "no WAV", "nothing"],
)
def test_other_files_are_left_alone(tmp_path, content):
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    assert recordings_in(path) == (Span(),)


def test_pieces_are_read_as_one_file(tmp_path):
    content = bytes(range(200))
    (tmp_path / "a").write_bytes(content)
    with (tmp_path / "a").open("rb") as file:
        pieces = Pieces(file, ((10, 40), b"between", (40, 41), (0, 5)))
        whole = content[10:40] + b"between" + content[40:41] + content[:5]
        assert io.BufferedReader(pieces, 8).read() == whole
        assert pieces.seek(0, io.SEEK_END) == len(whole)
        for place in range(len(whole)):
            pieces.seek(place)
            assert pieces.read(9) == whole[place : place + 9]
        assert (pieces.seek(-3, io.SEEK_CUR), pieces.read(9), pieces.tell()) == (40, whole[40:], len(whole))


def test_a_disk_that_fails_while_a_piece_is_decoded():
    class Failing(io.BytesIO):
        def read(self, n=-1):
            raise OSError(5, "Input/output error")

    assert Pieces(Failing(bytes(100)), ((0, 100),)).read(10) == b""


# Several recordings in a file, and what else may lie in one


ID3V1 = b"TAG" + b"a title".ljust(125, b"\0")
ID3V2 = b"ID3\x04\0\0\0\0\x01\x05" + bytes(range(133))  # 0x01, 0x05 are 1 × 128 + 5 bytes
_APE = struct.pack("<IIII", 2000, 3032, 1, 0xA0000000) + bytes(8)
APE = b"APETAGEX" + _APE + b"item" * 750 + b"APETAGEX" + _APE
LIST = b"LIST" + struct.pack("<I", 12) + b"INFOISFT\0\0\0\0"
KINDS = {
    "wav": ("WAV", "PCM_16"),
    "wavex": ("WAVEX", "FLOAT"),
    "rf64": ("RF64", "PCM_24"),
    "w64": ("W64", "PCM_16"),
    "aiff": ("AIFF", "PCM_16"),
    "au": ("AU", "PCM_16"),
    "caf": ("CAF", "PCM_16"),
    "sph": ("NIST", "PCM_16"),
    "svx": ("SVX", "PCM_16"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", None),
}


def encoded(kind, seed=0, n=4000, rate=16000, channels=1, **options):
    """Return a recording of noise."""
    file = io.BytesIO()
    samples = np.random.default_rng(seed).uniform(-0.4, 0.4, (n, channels)).astype(np.float32)
    format, subtype = KINDS[kind]
    soundfile.write(file, samples, rate, format=format, subtype=subtype, **options)
    return file.getvalue()


def frames(seed=0, n=4000):
    """Return an MP3 of constant bit rate that does not tell its length."""
    content = encoded("mp3", seed, n, bitrate_mode="CONSTANT", compression_level=0.5)
    return content[content.index(content[:2], 4) :]


@pytest.fixture
def put(tmp_path):
    """Return a function that writes bytes to a file of their own."""
    n = 0

    def write(*contents):
        nonlocal n
        n += 1
        path = tmp_path / f"{n}.bin"
        path.write_bytes(b"".join(contents))
        return path

    return write


@pytest.fixture
def heard(put):
    """Return a function that gives the samples of some bytes."""
    return lambda *contents, **options: read_audio(put(*contents), **({"sample_rate": None} | options))


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_what_lies_one_behind_another_is_heard(put, heard, kind):
    first, second = encoded(kind, 1), encoded(kind, 2, n=6400)
    expected = np.concatenate([heard(first), heard(second), heard(first)])
    path = put(first, second, first)
    assert_array_equal(read_audio(path, None), expected)
    assert audio_info(path).duration_s == (4000 + 6400 + 4000) / 16000
    part = read_audio(path, None, 0.2, 0.7)
    assert_allclose(part, expected[3200:11200], rtol=0, atol=1e-3 if kind == "mp3" else 1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("between", [bytes(10), bytes(5000), ID3V1, ID3V2, APE, APE + ID3V1 + ID3V2])
def test_tags_and_zeros_stand_between_and_behind(put, heard, kind, between):
    first, second = encoded(kind, 1), encoded(kind, 2)
    expected = np.concatenate([heard(first), heard(second)])
    assert_array_equal(heard(ID3V2, first, between, second, between.replace(b"\0", b"")), expected)


@pytest.mark.parametrize("kind", ["wav", "flac", "ogg", "opus", "mp3", "au"])
def test_rates_and_channels_may_change(heard, kind):
    rates = {"opus": (16000, 48000, 24000)}.get(kind, (16000, 44100, 8000))
    contents = [encoded(kind, n, rate // 4, rate, 1 + n % 2) for n, rate in enumerate(rates)]
    expected = np.concatenate([heard(content, sample_rate=16000) for content in contents])
    assert_array_equal(heard(*contents, sample_rate=16000), expected)
    own = heard(*contents[::-1])  # at the rate of the first one
    assert_array_equal(own, heard(*contents[::-1], sample_rate=rates[-1]))


def test_kinds_may_change(heard):
    contents = [encoded(kind) for kind in ("wav", "mp3", "au", "ogg", "aiff", "sph", "opus", "w64", "flac")]
    contents.insert(4, encoded("wav", n=100_000))
    assert_array_equal(heard(*contents), np.concatenate([heard(content) for content in contents]))


def test_neighbours_of_one_rate_are_resampled_as_one(heard):
    first, second = encoded("wav", 1, rate=8000), encoded("wav", 2, rate=8000)
    file = io.BytesIO()
    soundfile.write(file, np.concatenate([heard(first), heard(second)]), 8000, format="WAV", subtype="FLOAT")
    assert_array_equal(heard(first, second, sample_rate=16000), heard(file.getvalue(), sample_rate=16000))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"flac"}))
@pytest.mark.parametrize("behind", [b"some text\n" * 500, bytes(range(1, 250)) * 20], ids=["text", "bytes"])
def test_what_is_neither_recording_nor_tag_is_an_error(heard, kind, behind):
    with pytest.raises(
        AudioError, match=r"bytes behind the end .*; expected tags, .*; got \d+ others from byte"
    ):
        heard(encoded(kind), behind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_second_one_is_an_error_too(heard, kind):
    with pytest.raises(AudioError, match=r"^[^\n]+$"):
        heard(encoded(kind), encoded(kind, n=16000)[:-800])


@pytest.mark.parametrize("kind", ["wav", "rf64", "w64", "aiff", "caf", "svx"])
def test_a_second_one_of_which_the_beginning_is_left(heard, kind):
    whole = encoded(kind)
    first = whole.index({"aiff": b"SSND", "svx": b"BODY"}.get(kind, b"data"))
    for n in (64, first, first + 4):
        with pytest.raises(AudioError, match=r"truncated; expected [^;]+; got [^;]+; copy"):
            heard(whole, whole[:n])


@pytest.mark.parametrize("kind", ["ogg", "opus"])
def test_ogg_without_the_mark_of_its_end(heard, kind):
    """Telegram for Android and radios leave it out: what whole pages hold is heard."""
    whole = encoded(kind, n=32000)
    pages = whole[: whole.rindex(b"OggS")]
    n_samples = heard(pages).size
    assert 15000 < n_samples < 32000
    assert_array_equal(heard(pages), heard(whole)[:n_samples])
    assert_array_equal(heard(pages, whole), np.concatenate([heard(pages), heard(whole)]))


def test_streams_that_begin_together_are_one_link(put):
    pages = [ogg_page([16], CONTENT, flags) for flags in (2, 2, 0, 0, 4, 4)]
    assert recordings_in(put(*pages)) == (Span(),)
    length = sum(map(len, pages))
    assert [span.pieces for span in recordings_in(put(*pages, *pages))] == [
        ((0, length),),
        ((length, 2 * length),),
    ]


@pytest.mark.parametrize("n", [4000, 40000, 900_000])
@pytest.mark.parametrize("behind", [b"text\n" * 9000, encoded("mp3", n=64000)], ids=["text", "mp3"])
def test_other_bytes_behind_flac(heard, n, behind):
    content = encoded("flac", n=n)
    with pytest.raises(
        AudioError, match=r"bytes behind the end of the recording; .* got \d+ others from byte"
    ):
        heard(content, behind)
    assert heard(content, ID3V1, bytes(9000)).size == n
    assert heard(content, bytes(30000), APE).size == n


def test_flac_that_does_not_tell_its_length(heard):
    content = bytearray(encoded("flac"))
    content[21], content[22:26] = content[21] & 0xF0, bytes(4)
    with pytest.raises(
        AudioError, match=r"FLAC that does not tell its length; expected a number of samples .*; wr"
    ):
        heard(content)


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFF000])
def test_streamed_wav_behind_streamed_wav(heard, size):
    first, second = (bytearray(encoded("wav", n)) for n in (1, 2))
    for content in (first, second):
        struct.pack_into("<I", content, 4, size)
        struct.pack_into("<I", content, 40, size)
    expected = np.concatenate([heard(encoded("wav", n)) for n in (1, 2)])
    assert_array_equal(heard(first, second), expected)


def test_links_without_samples_are_passed_over(heard):
    empty, first = encoded("ogg", n=0), encoded("ogg", 1)
    assert_array_equal(heard(first, empty, first), np.concatenate([heard(first), heard(first)]))
    with pytest.raises(AudioError, match="no samples; expected at least one; got 0"):
        heard(empty, empty)
    assert_array_equal(heard(encoded("wav", n=0), encoded("wav")), heard(encoded("wav")))


def test_chunks_behind_the_sound_are_none_of_it(put, heard):
    for kind, chunk in {
        "wav": LIST + b"id3 " + struct.pack("<I", 3) + b"abc\0",
        "aiff": b"NAME" + struct.pack(">I", 5) + b"hallo\0",
        "caf": b"free" + struct.pack(">q", 300) + bytes(300),
        "w64": b"junk\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a" + struct.pack("<Q", 324) + bytes(300),
    }.items():
        whole = encoded(kind, 1)
        assert_array_equal(heard(whole, chunk), heard(whole))
        assert_array_equal(heard(whole, chunk, whole), np.concatenate([heard(whole)] * 2))
    assert recordings_in(put(encoded("wav"), LIST[:-2])) == (Span(),)  # a description cut short
    assert recordings_in(put(encoded("wav"), b"ab\0\0" + LIST[4:])) == (Span(),)


_DESCRIPTIONS = "acid regn umid levl minf elm1 SAUR smed ResU LGWV strc DGDA ©nam LIST bext"


@pytest.mark.parametrize("kind", ["wav", "rf64", "aiff", "caf"])
def test_descriptions_cut_by_the_end_of_the_file_are_no_loss(put, heard, kind):
    whole, size = encoded(kind, 1), {"aiff": ">I", "caf": ">q"}.get(kind, "<I")
    for name in _DESCRIPTIONS.encode("latin-1").split():
        chunk = name + struct.pack(size, 500) + bytes(range(250)) * 2
        for n_left in (500, 300, 100, 20):
            path = put(whole, chunk[: 8 + n_left])
            assert recordings_in(path) == (Span(),)
            assert_array_equal(read_audio(path, None), heard(whole))
        with pytest.raises(AudioError, match=r"bytes behind the end of the recording|truncated"):
            heard(whole, chunk[:100], whole)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("padding", [b"\xff" * 512, b" " * 512, b"U" * 5000, b"\xff" * 70_000 + ID3V1])
def test_a_run_of_one_byte_is_padding(heard, kind, padding):
    whole = encoded(kind, 1)
    assert_array_equal(heard(whole, padding), heard(whole))
    for second in {encoded("mp3"), whole} if kind not in ("flac", "mp3") else {encoded("flac")}:
        if kind != "mp3":  # where frames end is told by what follows
            assert_array_equal(heard(whole, padding, second), np.concatenate([heard(whole), heard(second)]))


def test_a_run_within_an_mp3_is_no_padding(heard):
    content = frames(1, n=64000)
    with pytest.raises(AudioError, match="damaged MP3; expected frames one behind another; got"):
        heard(content[:8000] + b"\xff" * 6000 + content[14000:])


_READ_TO_THE_END = """avr PCM_16|mat5 PCM_16|paf PCM_24|pvf PCM_16|ircam ULAW|voc PCM_U8|voc PCM_16|wve ALAW
mpc2k PCM_16|xi DPCM_16""".replace("\n", "|").split("|")


@pytest.mark.parametrize("format", _READ_TO_THE_END)
@pytest.mark.parametrize(
    "second", ["flac", "ogg", "opus", "wav", "rf64", "w64", "aiff", "caf", "au", "sph", None]
)
def test_formats_that_would_take_another_recording_for_their_sound(heard, format, second):
    file, (container, subtype) = io.BytesIO(), format.upper().split()
    soundfile.write(file, np.linspace(-0.5, 0.5, 8000), 16000, format=container, subtype=subtype)
    content = file.getvalue()
    assert 8000 <= heard(content).size <= 8001
    with pytest.raises(AudioError, match="two recordings in one file; expected one; got another from about"):
        heard(content, encoded(second) if second else content)


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [("mat4", "PCM_16"), ("mat4", "DOUBLE"), ("sds", "PCM_S8"), ("sds", "PCM_16"), ("sds", "PCM_24")],
)
def test_formats_of_which_the_first_alone_is_heard(heard, kind, subtype):
    file = io.BytesIO()
    soundfile.write(file, np.linspace(-0.5, 0.5, 8000), 16000, format=kind.upper(), subtype=subtype)
    content = file.getvalue()
    assert heard(content).size == 8000
    with pytest.raises(
        AudioError, match=rf"bytes that are not heard; expected some \d+ in all; got {2 * len(content)}"
    ):
        heard(content, content)


@pytest.mark.parametrize("pad", [b"", b"\0", b"x"])
def test_chunks_behind_an_odd_number_of_bytes(put, pad):
    header = wav(31, b"").replace(struct.pack("<IHH", 32000, 2, 16), struct.pack("<IHH", 16000, 1, 8))
    assert recordings_in(put(header, bytes(range(100, 131)), pad, LIST)) == (Span(),)


def test_a_second_chunk_of_sound_is_an_error(put):
    with pytest.raises(AudioError, match=r"bytes behind the end of the recording; .* got 408 others"):
        recordings_in(put(wav(), b"data" + struct.pack("<I", 400) + bytes(range(200)) * 2))


def test_mp3_that_promises_the_first_part_alone(put, heard):
    first, second_frames = encoded("mp3", 1), frames(2, n=16000)
    found = heard(first, second_frames)
    assert_array_equal(found, np.concatenate([heard(first), heard(second_frames)]))
    n_frames = (len(found) - 4000) // 576
    assert recordings_in(put(first, second_frames)) == (
        Span(((0, len(first)),)),
        Span(((len(first), len(first) + len(second_frames)),), n_frames * 576),
    )


@pytest.mark.parametrize("between", [b"", bytes(700), ID3V1, APE, ID3V2])
def test_mp3_without_lengths_is_one_stream(put, between):
    first, second = frames(1), frames(2)
    ((alone,), (span,)) = recordings_in(put(first)), recordings_in(put(first, between, second))
    assert span.n_samples == 2 * alone.n_samples
    assert read_audio(put(first, between, second), None).size == 2 * alone.n_samples


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
def test_mp3_that_lacks_more_than_two_frames(put, heard, rate):
    content = encoded("mp3", n=20 * 1152, rate=rate, bitrate_mode="CONSTANT", compression_level=0.5)
    assert heard(content).size == 20 * 1152
    n_frames = 20 if rate == 44100 else 40
    with pytest.raises(AudioError, match=r"truncated; expected 23040 samples; got \d+; copy"):
        heard(content[: -4 * len(content) // n_frames])


def test_mp3_whose_last_frame_is_cut_before_another(put, heard):
    first, second = encoded("mp3", 1, n=16000), encoded("mp3", 2)
    assert_array_equal(heard(first[:-20], second)[-4000:], heard(second))
    assert len(recordings_in(put(first[:-20], second))) == 2


@pytest.mark.parametrize("start", [encoded("mp3"), frames()], ids=["told", "untold"])
def test_mp3_with_other_bytes_between_frames(heard, start):
    with pytest.raises(AudioError, match="damaged MP3; expected frames one behind another; got 6000 other"):
        heard(start, bytes(range(1, 241)) * 25, encoded("mp3"))


# However many there are


def steps(path, monkeypatch):
    """Return how often a file is read to find its recordings, and how many bytes these are."""
    sizes = []
    read = __import__("features.pieces", fromlist=["File"]).File.read

    def counted(file, position, n_bytes):
        sizes.append(len(read(file, position, n_bytes)))
        return read(file, position, n_bytes)

    with monkeypatch.context() as patched:
        patched.setattr("features.pieces.File.read", counted)
        try:
            recordings_in(path)
        except AudioError as error:
            assert "\n" not in str(error)  # noqa: PT017 (it may be good)
    return len(sizes), sum(sizes)


FRAME = b"\xff\xf3\x14\xc4" + bytes(20)  # MPEG 2, 24 kHz, 8 kbit/s


def worst(kind, n):
    """Return the most parts of a container in some ``n`` bytes."""
    riff, aiff, w64, caf = (encoded(kind) for kind in ("wav", "aiff", "w64", "caf"))
    junk = b"junk\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a" + struct.pack("<Q", 24)
    return {
        "wav before": riff[:36] + b"JUNK\0\0\0\0" * (n // 8) + riff[36:],
        "wav behind": riff + b"JUNK\0\0\0\0" * (n // 8),
        "aiff": aiff[:38] + b"ANNO\0\0\0\0" * (n // 8) + aiff[38:],
        "w64": w64[:80] + junk * (n // 24) + w64[80:],
        "caf": caf[:52] + (b"free" + bytes(8)) * (n // 12) + caf[52:],
        "flac blocks": encoded("flac")[:42] + b"\x01\0\0\0" * (n // 4),
        "flac marks": encoded("flac") + b"fLaC\0\0\0\x22" * (n // 8),
        "flac headers": encoded("flac") + b"\xff\xf8\xc9\x18\0\1" * (n // 6),
        "flac tags": encoded("flac") + b"TAG" * (n // 6) + bytes(n // 2) + b"x",
        "ogg pages": ogg_page([], b"", 0) * (n // 27) + ogg_page([], b""),
        "ogg beginnings": ogg_page([], b"", 2) * (n // 27) + ogg_page([], b""),
        "ogg links": (ogg_page([], b"", 2) + ogg_page([], b"")) * (n // 54),
        "id3": b"ID3\x04\0\0\0\0\0\0" * (n // 10) + encoded("mp3"),
        "id3 and zeros": b"ID3\x04\0\0\0\0\0\0\0" * (n // 11),
        "mp3 frames": FRAME * (n // 24),
        "mp3 tags": (FRAME + ID3V1) * (n // 152),
        "mp3 kinds": (FRAME + FRAME[:2] + b"\x10" + FRAME[3:]) * (n // 48),
        "mp3 lengths": encoded("mp3")[:200] * (n // 200),
        "mp3 bytes": encoded("mp3") + b"\xff" * n,
        "wavs": wav() * (n // len(wav())),
        "zeros": riff + bytes(n) + b"x" * 100,
    }[kind]


_WORST = """wav before|wav behind|aiff|w64|caf|flac blocks|flac marks|flac headers|flac tags|ogg pages
ogg beginnings|ogg links|id3|id3 and zeros|mp3 frames|mp3 tags|mp3 kinds|mp3 lengths|mp3 bytes|wavs
zeros""".replace("\n", "|").split("|")


@pytest.mark.parametrize("kind", _WORST)
def test_a_walk_is_bounded_whatever_the_file_holds(put, monkeypatch, kind):
    """A file has at most so many steps, and is read once or so; but the first bytes of each step."""
    content = worst(kind, 2_000_000)
    n_reads, n_bytes = steps(put(content), monkeypatch)
    assert n_reads <= 8 * MOST_STEPS
    assert n_bytes <= 3 * len(content) + 300 * n_reads + MOST_RECORDINGS * (1 << 17)


@pytest.mark.parametrize("size", [(1 << 63) - 1, -1, -(1 << 63)])
def test_chunks_larger_than_any_file(put, size):
    whole = encoded("caf")
    assert recordings_in(put(whole[:52], b"free", struct.pack(">q", size), whole[52:])) == (Span(),)
    assert recordings_in(put(whole, b"free", struct.pack(">q", size))) == (Span(),)


@pytest.mark.parametrize("content", [FRAME, b"\xff\xf3\x14\xc4", FRAME + ID3V1, b"\xff"])
def test_memory_does_not_grow_with_the_file(put, content):
    path = put(encoded("mp3"), content * (2_500_000 // len(content)))
    tracemalloc.start()
    try:
        recordings_in(path)
    except AudioError as error:
        assert "\n" not in str(error)  # noqa: PT017 (it may be good)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20_000_000


def test_more_than_anybody_records(put):
    with pytest.raises(
        AudioError, match=r"not a usual recording; expected at most \d+ chunks, .*; got more; conv"
    ):
        recordings_in(put(worst("wav before", 100_000)))
    with pytest.raises(
        AudioError, match="recordings one behind another; expected at most 1000; got more; cut"
    ):
        recordings_in(put(wav() * (MOST_RECORDINGS + 1)))
    assert len(recordings_in(put(wav() * MOST_RECORDINGS))) == MOST_RECORDINGS


def test_a_file_that_is_read_in_segments_is_looked_through_once(put, monkeypatch):
    path = put(encoded("ogg", 1), encoded("ogg", 2))
    assert steps(path, monkeypatch)[0] > 0
    opened = []
    with monkeypatch.context() as patched:
        patched.setattr("features.audio.Pieces", lambda *given: opened.append(given) or Pieces(*given))
        for start in (0.0, 0.1, 0.2, 0.3):
            read_audio(path, None, start, start + 0.05)
    assert len(opened) == 2 + 4  # both for what they are, and that in which each segment lies
    assert steps(path, monkeypatch) == (0, 0)
    path.write_bytes(encoded("ogg", 3))
    assert steps(path, monkeypatch)[0] > 0


@pytest.mark.parametrize("kind", ["flac", "ogg", "opus"])
def test_what_does_not_tell_its_end_is_read_once(put, monkeypatch, kind):
    content = encoded(kind, n=900_000)
    n_reads, n_bytes = steps(put(content), monkeypatch)
    assert n_reads < 40
    last = {"flac": 20_000}.get(kind, 70_000)  # frame or page
    assert n_bytes < len(content) + last
    assert n_bytes >= len(content) - 5000


def test_a_larger_corpus_is_looked_through_once(tmp_path, monkeypatch):
    content = ogg_page([16], CONTENT, 2) + ogg_page([16], CONTENT, 4)
    paths = [tmp_path / str(n) for n in range(1500)]
    for path in paths:
        path.write_bytes(content)
    assert {recordings_in(path) for path in paths} == {(Span(),)}
    assert [steps(path, monkeypatch) for path in paths] == [(0, 0)] * 1500


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
        assert recordings_in(path) == (Span(),)
        content = path.read_bytes()
        second = content.index(content[:2], 4)
        path.write_bytes(tag + content[second:])
        return path

    return write


@pytest.mark.parametrize("sample_rate", [8000, 16000, 22050, 44100, 48000])
@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_length_is_counted(write_without_length, sample_rate, mode):
    (span,) = recordings_in(write_without_length(loud_then_quiet(sample_rate), sample_rate, mode))
    counted = span.n_samples
    assert 0 <= counted - 10 * sample_rate <= 4 * 1152  # the encoder's delay and padding are in it


def test_a_tag_is_stepped_over(write_without_length):
    (span,) = recordings_in(write_without_length(loud_then_quiet(16000), tag=ID3V2))
    assert 160000 <= span.n_samples <= 160000 + 4 * 1152


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


def test_other_content_has_no_length(put):
    for content in (
        b"ID3",
        b"\xff\xfb",
        b"\xff\xfb\xf0\x00",
        b"\xff\xfb\x9c\x00",
        b"\xff\xea\x90\x00",
        b"no sound",
    ):
        assert recordings_in(put(content)) == (Span(),)
    # the headers of frames of layer III of MPEG 1, layer II, and layer I
    for header, n_samples in (
        (b"\xff\xfb\x90\x00", 1152),
        (b"\xff\xfd\x90\x00", 1152),
        (b"\xff\xff\x90\x00", 384),
    ):
        assert recordings_in(put(header)) == (Span(None, n_samples),)
