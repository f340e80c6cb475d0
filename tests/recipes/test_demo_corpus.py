"""The synthetic demo corpus: consistent text, lexicon and grammar; repeatable, sane audio."""

import wave
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from asr.corpora.corpus import SPLITS, read_corpus
from asr.errors import ConfigError, CorpusError
from decoder.lexicon import Lexicon
from recipes import demo_corpus
from recipes.demo import TASK
from recipes.demo_corpus import (
    NOISES,
    SAMPLE_RATE,
    CommandTask,
    DemoCorpusConfig,
    draw_noise,
    draw_sentences,
    draw_speakers,
    mix_at_snr,
    plan_utterances,
    render,
    speak,
    task_lexicon,
    word_pairs,
    write_demo_corpus,
)

SMALL = DemoCorpusConfig(train_sentences=1, dev_sentences=1, test_sentences=1)
TINY_TASK = CommandTask(
    ["switch THE lamp NOW?"], {"switch": "START STOP", "lamp": "LAMP"}, "", "STOP THE LAMP NOW"
)


@pytest.fixture(scope="module")
def corpus_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("espeakng_loader", reason="needs the extra demo (espeakng-loader)")
    directory = tmp_path_factory.mktemp("demo") / "corpus"
    write_demo_corpus(TASK, directory, SMALL, n_workers=1)
    return directory


def read_wav(path: Path) -> np.ndarray:
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, SAMPLE_RATE)
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def read_word_pairs(path: Path) -> dict[str, set[str]]:
    lines = (line.split(": ") for line in path.read_text(encoding="utf-8").splitlines())
    return {word: set(after.split()) for word, after in lines}


def files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


# Text


def test_word_pairs_of_a_pattern_written_out_by_hand() -> None:
    assert word_pairs(TINY_TASK) == {
        "<s>": ("START", "STOP"),
        "LAMP": ("</s>", "NOW"),
        "NOW": ("</s>",),
        "START": ("THE",),
        "STOP": ("THE",),
        "THE": ("LAMP",),
    }


def test_sentences_differ_and_leave_out_the_new_one() -> None:
    drawn = draw_sentences(TINY_TASK, 3, np.random.default_rng(0))
    assert {" ".join(s) for s in drawn} == {"START THE LAMP", "START THE LAMP NOW", "STOP THE LAMP"}


def test_more_sentences_than_the_patterns_have_is_an_error() -> None:
    with pytest.raises(ConfigError, match="expected 4 different sentences, got 3"):
        draw_sentences(TINY_TASK, 4, np.random.default_rng(0))


def test_every_sentence_is_in_the_grammar_and_every_word_in_the_lexicon() -> None:
    pairs, lexicon = word_pairs(TASK), task_lexicon(TASK)
    words = set()
    for utterance in plan_utterances(TASK, DemoCorpusConfig()):
        assert all(after in pairs[before] for before, after in pairwise(("<s>", *utterance.words, "</s>")))
        assert 3 <= len(utterance.words) <= 9
        words.update(utterance.words)
    assert words == set(lexicon.words) == set(pairs) - {"<s>"}


def test_every_word_is_heard_often_enough_in_train_and_no_sentence_twice() -> None:
    plan = plan_utterances(TASK, DemoCorpusConfig())
    train = [word for u in plan if u.speaker.split == "train" for word in u.words]
    assert min(train.count(word) for word in task_lexicon(TASK)) >= 5
    assert len({u.words for u in plan}) == len(plan)


def test_speakers_and_their_variants_are_in_one_split_only() -> None:
    speakers = draw_speakers(seed=0)
    assert [sum(s.split == split for s in speakers) for split in SPLITS] == [27, 5, 8]
    assert len({s.name for s in speakers}) == len({s.voice.variant for s in speakers}) == len(speakers)
    assert {s.voice.language for s in speakers if s.split == "test"} == set(demo_corpus.ACCENTS)


# Sound


@pytest.mark.parametrize("snr_db", [-5.0, 0.0, 10.0, 40.0])
def test_mixture_has_the_snr_asked_for(snr_db: float) -> None:
    rng = np.random.default_rng(1)
    speech, noise = rng.normal(scale=0.1, size=4000), rng.normal(scale=3.0, size=6000)
    mixed = mix_at_snr(speech, noise, 1500, snr_db)
    padded = np.zeros(6000)
    padded[1500:5500] = speech
    measured = 10 * np.log10(np.mean(speech**2) / np.mean((mixed - padded) ** 2))
    np.testing.assert_allclose(measured, snr_db, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.corrcoef(mixed - padded, noise)[0, 1], 1.0, rtol=0, atol=1e-9)


def test_noises_have_the_spectra_of_their_names() -> None:
    rng = np.random.default_rng(2)
    frequency_hz = np.fft.rfftfreq(4 * SAMPLE_RATE, 1 / SAMPLE_RATE)
    babble = rng.standard_normal(SAMPLE_RATE)
    power = {
        kind: np.abs(np.fft.rfft(draw_noise(kind, 4 * SAMPLE_RATE, babble, rng))) ** 2 for kind in NOISES
    }

    def octave_db(kind: str, low_hz: float) -> float:
        band = (low_hz <= frequency_hz) & (frequency_hz < 2 * low_hz)
        return float(10 * np.log10(power[kind][band].mean()))

    assert abs(octave_db("white", 250) - octave_db("white", 2000)) < 0.7
    # Pink: 3 dB an octave.
    np.testing.assert_allclose(octave_db("pink", 250) - octave_db("pink", 2000), 9.03, rtol=0, atol=0.7)
    at_mains = np.isin(frequency_hz, np.concatenate([50.0 * np.arange(1, 11), 60.0 * np.arange(1, 11)]))
    assert power["hum"][at_mains].sum() > 0.999 * power["hum"].sum()
    np.testing.assert_array_equal(draw_noise("babble", 5, np.ones(3), rng), np.ones(5))


def test_speakers_differ_in_spectrum() -> None:
    pytest.importorskip("espeakng_loader", reason="needs the extra demo (espeakng-loader)")
    words = ("WATER", "ALL", "MELONS", "NOW")
    voices = [s.voice for s in draw_speakers(seed=0) if s.split == "test"]
    spectra = []
    for voice in voices:
        power = np.abs(np.fft.rfft(speak(words, voice), 4 * SAMPLE_RATE)) ** 2
        # 250 Hz bands up to 7 kHz.
        bands = 10 * np.log10(power[:28000].reshape(28, -1).mean(axis=1))
        spectra.append(bands - bands.mean())
    distances = [np.sqrt(np.mean((a - b) ** 2)) for i, a in enumerate(spectra) for b in spectra[:i]]
    assert min(distances) > 1.5


def test_recordings_begin_and_end_with_noise_below_the_speech() -> None:
    pytest.importorskip("espeakng_loader", reason="needs the extra demo (espeakng-loader)")
    config = replace(SMALL, low_snr_db=30.0, high_snr_db=30.0)
    babble = np.random.default_rng(3).standard_normal(SAMPLE_RATE)
    for utterance in plan_utterances(TASK, config)[:10]:
        pcm = render(utterance, babble, config).astype(np.float64)
        edge = int(0.15 * SAMPLE_RATE)
        power = np.mean(pcm**2)
        for silence in (pcm[:edge], pcm[-edge:]):
            assert 0 < np.mean(silence**2) < power / 100


def test_written_corpus_is_complete_and_consistent(corpus_dir: Path) -> None:
    pairs = read_word_pairs(corpus_dir / "word_pairs.txt")
    lexicon = Lexicon.read(corpus_dir / "lexicon.txt")
    speakers: set[str] = set()
    for split, n_speakers in zip(SPLITS, (27, 5, 8), strict=True):
        corpus = read_corpus(corpus_dir / split)
        assert len(corpus) == len(corpus.speakers) == n_speakers
        assert speakers.isdisjoint(corpus.speakers)
        speakers.update(corpus.speakers)
        for utterance in corpus:
            assert all(a in pairs[b] for b, a in pairwise(("<s>", *utterance.words, "</s>")))
            assert all(word in lexicon for word in utterance.words)
            pcm = read_wav(utterance.audio_path)
            # 0.3 to 0.9 s of silence around 2 to 5.5 words a second.
            assert 0.3 + len(utterance.words) / 5.5 < len(pcm) / SAMPLE_RATE < 0.9 + len(utterance.words) / 2
            assert 0.19 * 32767 < np.abs(pcm.astype(int)).max() < 0.91 * 32767
    assert (corpus_dir / "new.txt").read_text(encoding="utf-8") == TASK.new_sentence + "\n"
    assert len(read_wav(corpus_dir / "new.wav")) > SAMPLE_RATE


def test_corpus_may_be_moved(corpus_dir: Path, tmp_path: Path) -> None:
    moved = corpus_dir.rename(tmp_path / "elsewhere")
    try:
        assert all(u.audio_path.is_relative_to(moved) for u in read_corpus(moved / "test"))
    finally:
        moved.rename(corpus_dir)


def test_number_of_workers_changes_no_byte(corpus_dir: Path, tmp_path: Path) -> None:
    write_demo_corpus(TASK, tmp_path / "corpus", SMALL, n_workers=2)
    again, before = files(tmp_path / "corpus"), files(corpus_dir)
    assert again.keys() == before.keys()
    assert [name for name in before if again[name] != before[name]] == []


def test_another_seed_gives_another_corpus(corpus_dir: Path, tmp_path: Path) -> None:
    write_demo_corpus(TASK, tmp_path / "corpus", replace(SMALL, seed=1), n_workers=1)
    before, other = files(corpus_dir), files(tmp_path / "corpus")
    assert before["train/text"] != other["train/text"]
    assert before["new.wav"] != other["new.wav"]
    assert before["word_pairs.txt"] == other["word_pairs.txt"]


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("espeakng_loader", reason="needs the extra demo (espeakng-loader)")
    (tmp_path / "wav").write_text("in the way")
    with pytest.raises(
        CorpusError, match=r"cannot write the recording .*; make room or choose another place"
    ):
        write_demo_corpus(TASK, tmp_path, SMALL, n_workers=1)
