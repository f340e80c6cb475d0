"""Every kind of fault planted in a small corpus is found, and nothing else."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr.corpora.corpus import Corpus, Utterance, read_corpus, write_corpus
from asr.corpora.marks import source_digest
from asr.corpora.validation import transcripts_as_read, validate
from asr.errors import CorpusError
from decoder.lexicon import Lexicon
from foundation.errors import in_a_line

RATE = 8000
LEXICON = Lexicon(
    {"ZERO": [("Z", "IH", "R", "OW")], "ONE": [("W", "AH", "N")], "NINETY": [("N", "AY", "N", "T", "IY")]}
)


def write_wav(path: Path, duration_s: float = 1.0, sample_rate: int = RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = 0.1 * np.random.default_rng(0).standard_normal(round(duration_s * sample_rate))
    swells = np.sin(3 * np.pi * np.arange(len(samples)) / sample_rate) ** 2  # what is steady is no speech
    soundfile.write(path, samples * swells, sample_rate)
    return path


def write_folder(directory: Path, texts: dict[str, str], duration_s: float = 1.0) -> Path:
    for name, text in texts.items():
        write_wav(directory / f"{name}.wav", duration_s).with_suffix(".txt").write_text(text)
    return directory


def lines_of(directory: Path, lexicon: Lexicon | None = LEXICON, text: str = "plain") -> list[str]:
    found = validate(directory, lexicon=lexicon, text=text)
    return [f"{p.severity}: {p}" for p in found if p.severity not in ("note", "summary")]


def notes_of(directory: Path, lexicon: Lexicon | None = LEXICON) -> list[str]:
    return [str(p) for p in validate(directory, lexicon=lexicon) if p.severity in ("note", "summary")]


GOOD = {f"s{i}/u{i}": "ZERO ONE NINETY" for i in range(4)}


def test_good_corpora_have_no_problems(tmp_path: Path) -> None:
    assert lines_of(write_folder(tmp_path / "plain", GOOD)) == []
    assert lines_of(write_folder(tmp_path / "letters", {"a": "één", "b": "it's"}), None) == []


def test_notes_say_how_much_there_is_and_what_to_record_next(tmp_path: Path) -> None:
    rate, amount, phones, speakers, advice = notes_of(write_folder(tmp_path, GOOD))
    assert rate == (
        ".: recordings have 8000 samples a second at most, the front end expects 16000; "
        "train with --set sample_rate=8000"
    )
    assert amount == ".: 4 seconds of 4 speaker(s), 12 words, 3 of them different, in 4 utterances"
    assert "phones are said less than 20 times" in phones
    assert "4 of 4 speakers have less than 10 s" in speakers
    assert "record more: below 18 minutes every minute counts" in advice


def test_speakers_that_nobody_knows_are_not_short(tmp_path: Path) -> None:
    flat = write_folder(tmp_path, {f"u{i}": "ZERO ONE NINETY" for i in range(4)})
    assert notes_of(flat)[1] == ".: 4 seconds, 12 words, 3 of them different, in 4 utterances"
    assert not any("less than 10 s" in line for line in notes_of(flat))
    told = [str(problem) for problem in validate(flat, lexicon=LEXICON, speakers="one")]
    assert any("4 seconds of 1 speaker(s), 12 words" in line for line in told)


def test_splits_of_unknown_speakers_share_none_that_are_known(tmp_path: Path) -> None:
    for name in ("train", "test"):
        write_folder(tmp_path / name, {f"{name}{i}": "ZERO ONE NINETY" for i in range(2)})
    assert not any("speaker(s) in both" in str(problem) for problem in validate(tmp_path, lexicon=LEXICON))
    told = [str(problem) for problem in validate(tmp_path, lexicon=LEXICON, speakers="one")]
    assert any("1 speaker(s) in both train and test: " in line for line in told)


def fill(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def put_nan(path: Path) -> None:
    samples = np.zeros(RATE, dtype=np.float32)
    samples[17] = np.nan
    soundfile.write(path, samples, RATE, subtype="FLOAT")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (fill(b""), "empty file"),
        (fill(b"this is a text, not a recording"), "not audio that libsndfile can read"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "truncated"),
        (put_nan, "sample 17; expected a finite number; got nan"),
        (lambda path: soundfile.write(path, np.zeros(0), RATE), "no samples"),
        (lambda path: soundfile.write(path, np.zeros(RATE), RATE), "all samples are zero"),
        (
            lambda path: soundfile.write(path, np.outer(np.hanning(RATE), [0.5, -0.5]), RATE),
            "its channels cancel each other; expected the same speech in each; got one upside down; save one",
        ),
        (
            lambda path: soundfile.write(path, np.full(RATE, 1e30), RATE, subtype="FLOAT"),
            "sample 0; expected numbers within ±1, or somewhat above; got 1e+30",
        ),
        (lambda path: soundfile.write(path, np.ones(RATE) / 2, 8), "expected 4000 to 768000 Hz; got 8 Hz"),
        (lambda path: write_wav(path, 0.01), r"0.010 s of audio, expected at least 0.1 s"),
        (lambda path: write_wav(path, 0.3), r"3 words need 36 frames, got 28 (0.30 s)"),
    ],
)
def test_unusable_audio(tmp_path: Path, spoil: Callable[[Path], object], message: str) -> None:
    write_folder(tmp_path, GOOD)
    spoil(tmp_path / "s2/u2.wav")
    (line,) = lines_of(tmp_path)
    assert line.startswith("error: s2-u2: ")
    assert message in line


def dither(n_samples: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-1, 2, size=n_samples) / 2**16


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (dither(RATE), "its loudest part has -9"),
        (np.full(RATE, 0.3), "its samples do not change"),
        (0.1 * np.sin(np.arange(RATE)), "its sound is steady within 0.0 dB"),
    ],
    ids=["dither", "constant", "hum"],
)
def test_a_transcript_without_speech_is_a_warning(tmp_path: Path, samples: np.ndarray, why: str) -> None:
    write_folder(tmp_path, GOOD)
    path = tmp_path / "s2/u2.wav"
    soundfile.write(path, samples, RATE, subtype="PCM_24")
    (line,) = lines_of(tmp_path)
    expected = "no speech in it, expected the 3 words of its transcript"
    assert line.startswith(f"warning: s2-u2: {path}: {expected}; {why}")
    assert line.endswith("; listen to it, record it again or remove it")


def test_noises_need_no_speech(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD | {"s0/u9": "[noise]"})
    soundfile.write(tmp_path / "s0/u9.wav", np.full(RATE, 0.3), RATE)
    assert lines_of(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD)
    for suffix in ("wav", "txt"):
        (tmp_path / f"s0/u0.{suffix}").rename(
            os.fsdecode(os.fsencode(tmp_path) + f"/s0/b\xe4d.{suffix}".encode("latin-1"))
        )
    (line,) = lines_of(tmp_path)
    assert line.startswith(f'error: .: the name "{tmp_path}/s0/b\\udce4d.wav" is not UTF-8, expected')
    assert line.encode().isascii()


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any characters")
@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\x1b[31m", "a\x85b", "a\u2028b", "a\x7f"])
def test_a_name_that_breaks_a_line_is_named_before_training(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path, GOOD)
    for suffix in ("wav", "txt"):
        (tmp_path / f"s0/u0.{suffix}").rename(tmp_path / f"s0/{name}.{suffix}")
    (line,) = lines_of(tmp_path)
    shown = in_a_line(name)
    assert shown.isprintable()
    assert line == (
        f'error: .: the name "{tmp_path}/s0/{shown}.wav" has a line break or another control character, '
        "expected none; rename it"
    )
    with pytest.raises(CorpusError, match="has a line break or another control character"):
        read_corpus(tmp_path)
    (tmp_path / f"s0/{name}.wav").unlink()  # what is wrong with its transcript is one line as well
    (line,) = lines_of(tmp_path)
    assert line.startswith(f"error: s0/{shown}.txt: no recording, expected one of the same name")


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any characters")
@pytest.mark.parametrize(
    "name", ["a\tb", "-rf", " a", "a ", "\"'", "%s%20", "#a", ";;a", "<s>", "$HOME`id`", "a\\nb", "*?["]
)
def test_odd_names_that_lists_can_hold_survive_them(tmp_path: Path, name: str) -> None:
    write_folder(tmp_path / "given", GOOD)
    for suffix in ("wav", "txt"):
        (tmp_path / f"given/s0/u0.{suffix}").rename(tmp_path / f"given/s0/{name}.{suffix}")
    assert lines_of(tmp_path / "given") == []
    corpus = read_corpus(tmp_path / "given")
    assert tmp_path / f"given/s0/{name}.wav" in {u.audio_path for u in corpus}
    write_corpus(corpus, tmp_path / "written")
    assert read_corpus(tmp_path / "written") == corpus


def test_a_file_that_is_no_recording_may_have_any_name(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/notes \xe4\n.pdf")).touch()
    assert lines_of(tmp_path) == []
    assert len(source_digest(tmp_path)) == 64


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that differ in capitals alone")
def test_names_that_other_systems_take_for_one_are_a_note(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD | {"s0/U0": "ONE", "s1/\u00e9": "ONE", "s1/e\u0301": "ONE"})
    (note,) = [line for line in notes_of(tmp_path) if "macOS" in line]
    assert '2 id(s) differ from others in capitals or in how accents are written alone, as "s0-u0"' in note
    assert lines_of(tmp_path) == []


def test_long_silence_is_a_warning(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD)
    write_wav(tmp_path / "s1/u1.wav", 31)
    assert lines_of(tmp_path) == [
        "warning: s1-u1: 31.0 s of audio for 3 word(s), expected less than 10 s a word; "
        "correct the transcript or the times, or remove it"
    ]


def test_transcript_exactly_as_long_as_its_audio_is_possible(tmp_path: Path) -> None:
    # 12 phones × 3 states = 36 frames = 25 ms + 35 × 10 ms.
    write_folder(tmp_path, GOOD, duration_s=0.375)
    assert lines_of(tmp_path) == []
    write_folder(tmp_path, GOOD, duration_s=0.374)
    assert [line.split(",")[1] for line in lines_of(tmp_path)] == [
        " got 35 (0.37 s); correct the transcript or the times"
    ] * 4


def test_without_lexicon_letters_are_counted(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a": "abcde " * 5, "b": "abcde " * 5 + "f"})
    (line,) = lines_of(tmp_path, None)
    assert line.startswith(
        "error: b: transcript too long for its audio: 26 letters in 1.00 s, expected at most 25 a second"
    )


def test_words_that_have_no_spelling_are_warnings_without_lexicon(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a": "gate 7", "b": "well, yes"})
    assert [line.split(";")[0] for line in lines_of(tmp_path, None, text="exact")] == [
        'warning: a: word "7" has the digit "7", which has no spelling in letters',
        'warning: b: word "well," has ",", expected letters, apostrophes and hyphens',
    ]
    assert [line.split("(")[0] for line in notes_of(tmp_path, None)][:2] == [
        ".: transcripts are compared in plain form: of 4 words 1 with punctuation or other marks ",
        ".: 1 word",
    ]


def test_words_that_differ_in_case_only_are_warnings_without_lexicon(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a": "GATE OPEN", "b": "GATE", "c": "gate open"})
    assert [line.split(", expected")[0] for line in lines_of(tmp_path, None, text="exact")] == [
        'warning: c: word "gate" (1 time(s)) differs only in case from "GATE" (2 time(s))',
        'warning: c: word "open" (1 time(s)) differs only in case from "OPEN" (1 time(s))',
    ]


def test_empty_transcript(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD | {"s1/u1": " \n"})
    assert lines_of(tmp_path) == [
        "error: s1-u1: empty transcript, expected the words spoken; write them or remove the utterance"
    ]


def test_unknown_words_come_by_frequency_with_nearest_words_and_counts(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD | {"a": "ZERRO xx", "b": "yy xx xx", "c": "xx NINTY"}, duration_s=2)
    fate = "its pronunciation is guessed if that can be done; add it or correct the transcript"
    once = f"1 time(s) in 1 utterance(s); {fate}"
    assert lines_of(tmp_path, text="exact") == [
        f'warning: a: word "xx" is not in the lexicon, 4 time(s) in 3 utterance(s); {fate}',
        f'warning: c: word "NINTY" is not in the lexicon (did you mean "NINETY"?), {once}',
        f'warning: a: word "ZERRO" is not in the lexicon (did you mean "ZERO"?), {once}',
        f'warning: b: word "yy" is not in the lexicon, {once}',
    ]


def test_many_unknown_words_are_counted(tmp_path: Path) -> None:
    words = [f"x{chr(97 + n)}" for n in range(26)]
    write_folder(tmp_path, GOOD | {"a": " ".join(words[:13] * 2), "b": " ".join(words[13:])}, duration_s=9)
    *named, others = lines_of(tmp_path, text="exact")
    assert [line.split('"')[1] for line in named] == words[:20]
    assert others.startswith('warning: .: 6 more words (6 times) are not in the lexicon: "xu", "xv", ')


def test_transcripts_that_are_read_as_other_words(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a": "Zero, ninety!", "b": "ZERO", "c": "one [coughs]"})
    (tmp_path / "lexicon.txt").write_text("ZERO Z\nONE W\nNINETY N\n")
    assert list(transcripts_as_read(tmp_path)) == [
        ("a", "Zero, ninety!", "ZERO NINETY"),
        ("c", "one [coughs]", "ONE [noise]"),
    ]


def test_one_utterance_and_untrained_phones_and_mixed_rates_are_warnings(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", {"a": "ZERO NINETY"})
    assert [line.split(";")[0] for line in lines_of(tmp_path / "one")] == [
        "warning: .: one utterance to train on, expected many",
        'warning: lexicon.txt: 2 phone(s) are in no training utterance: "AH", "W"',
    ]
    write_wav(write_folder(tmp_path / "mixed", GOOD) / "s0/u0.wav", sample_rate=16000)
    assert lines_of(tmp_path / "mixed") == [
        "warning: .: sample rates are mixed: 8000 Hz (3 recording(s)), 16000 Hz (1 recording(s)); "
        "expected one; all are resampled"
    ]


def test_segments_of_a_bad_recording_are_named_once_and_bad_segments_each(tmp_path: Path) -> None:
    good, cut = write_wav(tmp_path / "good.wav", 3), write_wav(tmp_path / "cut.wav", 3)
    cut.write_bytes(cut.read_bytes()[:20000])
    spans = [("u1", good, 0.0, 1.0), ("u2", good, 1.0, None), ("u3", good, 4.0, 5.0), ("u4", good, 2.0, 2.05)]
    spans += [("u5", cut, 0.0, 1.0), ("u6", cut, 1.0, 2.0)]
    words = ("ZERO", "ONE", "NINETY")
    write_corpus(Corpus(tuple(Utterance(i, p, words, i, a, b) for i, p, a, b in spans)), tmp_path / "data")
    u3, u4, u5 = lines_of(tmp_path / "data")
    assert u3.startswith("error: u3: ")
    assert "segment out of range" in u3
    assert u4.startswith("error: u4: 0.050 s of audio")
    assert u5.startswith("error: u5: ")
    assert u5.endswith("(it has 2 utterances)")


def write_root(root: Path) -> Path:
    """Write a corpus with splits and, in each, faults of several kinds."""
    write_folder(root / "train", GOOD | {"s9/bad": "ZERO QQ"})
    write_folder(root / "dev", {"t1/v1": "ZERO", "s1/u1": "ONE"})
    write_folder(root / "test", {"t2/w1": "ONE ZERRO", "t2/w2": "ONE"})
    (root / "train/s9/bad.wav").write_bytes(b"")
    (root / "test/t2/w2.txt").unlink()
    LEXICON.write(root / "lexicon.txt")
    return root


def test_splits_are_checked_each_and_against_each_other(tmp_path: Path) -> None:
    assert [line.split(",")[0].split(" (")[0] for line in lines_of(write_root(tmp_path), None)] == [
        "error: test/t2/w2.wav: no transcript",
        f"error: train/s9-bad: {tmp_path}/train/s9/bad.wav: empty file; expected an audio file; got 0 bytes; "
        "copy or record it again",
        'warning: train/s9-bad: word "QQ" is not in the lexicon',
        'warning: test/t2-w1: word "ZERRO" is not in the lexicon',
        'error: dev: 1 duplicate utterance id(s) in both train and dev: "s1-u1"; expected distinct ids; '
        "remove or rename them",
        'warning: dev: 1 speaker(s) in both train and dev: "s1"; expected different speakers; '
        "results hold for known speakers only; split by speaker if that is not meant",
    ]


def test_order_and_content_do_not_depend_on_threads(tmp_path: Path) -> None:
    write_root(tmp_path)
    one = validate(tmp_path, n_threads=1)
    assert all(validate(tmp_path, n_threads=n) == one for n in (2, 3, 8))


def test_faults_of_the_lexicon_are_each_a_problem(tmp_path: Path) -> None:
    write_folder(tmp_path, GOOD)
    (tmp_path / "lexicon.txt").write_text("ZERO Z\nONE\n<s> SIL\nTWO SIL\n")
    assert [line.split(",")[0] for line in lines_of(tmp_path, None)] == [
        'error: lexicon.txt:2: word "ONE" has no phones',
        'error: lexicon.txt:4: word "TWO" is pronounced with "SIL"',
    ]
    (tmp_path / "lexicon.txt").write_text("ZERO Z\nONE W\nONE W\nNINETY N\n")
    assert lines_of(tmp_path, None) == [
        "warning: lexicon.txt: 1 pronunciations are repeated, expected each once; the repetitions are ignored"
    ]


def test_structural_problems_and_others_come_together(tmp_path: Path) -> None:
    path = write_wav(tmp_path / "a.wav")
    (tmp_path / "wav.scp").write_text(f"a {path}\nb missing.wav\nc x |\n")
    (tmp_path / "text").write_text("a ZERO ONE QQ NINETY\nb ZERO\nc ZERO\na ONE\n")
    (tmp_path / "utt2spk").write_text("a s\nb s\nc s\n")
    assert [line.split(" ")[1] for line in lines_of(tmp_path)] == [
        "text:4:",
        "wav.scp:2:",
        "wav.scp:3:",
        "a:",
        ".:",
    ]


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such directory"):
        validate(tmp_path / "none")


def test_words_without_letters_taken_as_they_stand(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a": "7 8", "b": "7", "c": "8"})
    found = lines_of(tmp_path, None, "exact")
    assert [line.partition(" has the digit")[0] for line in found] == [
        'warning: a: word "7"',
        'warning: a: word "8"',
    ]
