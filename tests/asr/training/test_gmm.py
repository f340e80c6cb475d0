"""What training leaves out or warns of, and what stops it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from asr import train
from asr.corpora.corpus import Corpus, Utterance
from asr.corpora.speech_data import SpeechData
from asr.errors import CorpusError
from asr.recognizer import Recognizer
from asr.training.gmm import warn_of_untrained_phones
from asr.training.learned_from import usable_for_training
from decoder.lexicon import Lexicon

LEXICON = Lexicon({"YES": [("y", "e", "s")], "NO": [("n", "o")]})


def speech(**transcripts: str) -> SpeechData:
    utterances = tuple(Utterance(i, Path(f"/{i}.wav"), tuple(t.split()), "s") for i, t in transcripts.items())
    return SpeechData(Corpus(utterances), tuple(np.zeros((9, 39), np.float32) for _ in utterances))


class TestUsable:
    def test_all_that_is_wrong_at_once(self) -> None:
        with pytest.raises(CorpusError, match="2 of 5 transcripts cannot be trained on") as caught:
            usable_for_training(speech(a="YES", b="", c="YEP NO", d="YEP", e="NO"), LEXICON)
        head, empty, unknown = str(caught.value).splitlines()
        assert head.startswith("2 of 5 transcripts cannot be trained on; ")
        assert empty == "b: empty transcript, expected words"
        assert unknown == 'd: no word of it is in lexicon.txt: "YEP" (did you mean "YES"?) 1 time(s)'

    def test_unknown_words_among_others_are_named_and_kept(self, caplog: pytest.LogCaptureFixture) -> None:
        kept = usable_for_training(speech(a="YES YEP", b="YEP NO", c="NO"), LEXICON)
        assert kept.corpus.ids == ("a", "b", "c")
        assert caplog.messages == [
            "1 word(s) of 2 utterance(s) are not in lexicon.txt and are taken for any sequence of phones: "
            '"YEP" (did you mean "YES"?) 2 time(s); add them or correct the transcripts'
        ]

    def test_a_lexicon_of_another_corpus(self) -> None:
        data = speech(a="UNO YES", b="DUE TRE")
        with pytest.raises(
            CorpusError, match=r'^3 of 4 words .* does not belong .*: "DUE" 1 time\(s\), "TRE"'
        ):
            usable_for_training(data, LEXICON, most_left_out=1.0)
        assert usable_for_training(data, LEXICON, most_left_out=1.0, needed=False).corpus.ids == ("a",)

    def test_left_out_by_name(self, caplog: pytest.LogCaptureFixture) -> None:
        left = usable_for_training(speech(a="YES", b="", c="YEP"), LEXICON, most_left_out=1.0)
        assert left.corpus.ids == ("a",)
        (message,) = caplog.messages
        assert message.startswith("left out: 2 of 3 transcripts cannot be trained on: b: empty transcript")

    def test_good_data_is_passed_on_in_silence(self, caplog: pytest.LogCaptureFixture) -> None:
        data = speech(a="YES", b="NO")
        assert usable_for_training(data, LEXICON).corpus == data.corpus
        assert caplog.messages == []


class TestUntrainedPhones:
    def test_named(self, caplog: pytest.LogCaptureFixture) -> None:
        warn_of_untrained_phones(speech(a="NO NO"), LEXICON)
        (message,) = caplog.messages
        assert message.startswith("3 phone(s) of the lexicon are in no training transcript: e, s, y; ")

    def test_all_spoken(self, caplog: pytest.LogCaptureFixture) -> None:
        warn_of_untrained_phones(speech(a="NO", b="YES"), LEXICON)
        assert caplog.messages == []


class TestTraining:
    """The same through `asr.train`, with train, dev and test given by the user."""

    @pytest.fixture
    def corpus(self, tones: Path, tmp_path: Path) -> Path:
        for split, speakers in (("train", "0123"), ("dev", "4"), ("test", "5")):
            for speaker in speakers:
                shutil.copytree(
                    tones / f"speaker {speaker}", tmp_path / "corpus" / split / f"speaker{speaker}"
                )
        words = {"ASA": "a s a", "IMI": "i m i", "SUS": "s u s", "MAUI": "m a u i", "ZOO": "z o"}
        lines = "".join(f"{word} {phones}\n" for word, phones in words.items())
        (tmp_path / "corpus/lexicon.txt").write_text(lines)
        return tmp_path / "corpus"

    def run(self, corpus: Path, settings: tuple[str, ...], *more: str) -> list[tuple[str, int]]:
        options = ("grammars=loop", *settings, *more)
        rows = train("folder", corpus=corpus, out=corpus.parent / "exp", models=["gmm1"], settings=options)
        return [(row.split, row.words) for row in rows]

    def test_phone_without_data_is_named_once(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        self.run(corpus, settings)
        warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
        assert [w[:67] for w in warnings] == [
            "2 phone(s) of the lexicon are in no training transcript: o, z; word"
        ]

    def test_dev_may_have_what_cannot_be_trained_on(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        (corpus / "dev/speaker4/0.txt").write_text("ASA ZULU\n")
        (corpus / "dev/speaker4/1.txt").write_text("\n")
        (corpus / "test/speaker5/0.txt").write_text("\n")
        assert [split for split, _ in self.run(corpus, settings)] == ["dev", "test"]
        left_out = [m for m in caplog.messages if m.startswith("left out: ")]
        assert len(left_out) == 1
        assert "speaker4-1: empty transcript" in left_out[0]
        assert "1 of 1 words that the lexicon lacks have got a pronunciation" in caplog.text
        assert Recognizer.load(corpus.parent / "exp").lexicon.guessed == {"ZULU"}

    def test_all_of_dev_is_useless_for_training(self, corpus: Path, settings: tuple[str, ...]) -> None:
        for text in (corpus / "dev").rglob("*.txt"):
            text.write_text("ZULU\n")
        assert ("dev", 5) in self.run(corpus, settings)

    def test_train_may_not(self, corpus: Path, settings: tuple[str, ...]) -> None:
        (corpus / "train/speaker0/0.txt").write_text("\n")
        with pytest.raises(
            CorpusError, match=r"1 of 20 transcripts .*--set unusable=skip .*\nspeaker0-0: empty"
        ):
            self.run(corpus, settings, "unusable=stop")
        assert self.run(corpus, settings, "unusable=skip")
        with pytest.raises(CorpusError, match="empty transcript"):  # is not forgotten
            self.run(corpus, settings, "unusable=stop")

    def test_a_tenth_may(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        for name in ("0", "1"):
            (corpus / f"train/speaker0/{name}.txt").write_text("\n")
        assert self.run(corpus, settings)
        assert "left out: 2 of 20 transcripts cannot be trained on: speaker0-0: empty" in caplog.text
        # The share is one of the whole corpus, 30 utterances.
        (corpus / "train/speaker0/2.txt").write_text("\n")
        assert self.run(corpus, settings)
        (corpus / "train/speaker0/3.txt").write_text("\n")
        with pytest.raises(
            CorpusError, match=r"4 of 20 transcripts .* \(at most 10 % of the corpus are left"
        ):
            self.run(corpus, settings)

    def test_recordings_that_cannot_be_used_are_a_share_of_the_whole_corpus(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        (corpus / "dev/speaker4/0.wav").write_bytes(b"")
        (corpus / "test/speaker5/3.wav").write_bytes(b"")
        assert set(self.run(corpus, settings)) == {("dev", 10), ("test", 9)}  # words
        named = [m[:60] for m in caplog.messages if m.startswith("left out: ")]
        assert named == [
            "left out: 1 of 5 recordings of dev cannot be used: speaker4-",
            "left out: 1 of 5 recordings of test cannot be used: speaker5",
        ]
        for name in ("train/speaker0/0", "train/speaker1/1"):
            (corpus / f"{name}.wav").write_bytes(b"")
        said = r"4 of 30 recordings cannot be used \(at most 10 % of the corpus are left out\); .*"
        names = r"\ntrain/speaker0-0\ntrain/speaker1-1\ndev/speaker4-0\ntest/speaker5-3$"
        with pytest.raises(CorpusError, match=said + names):
            self.run(corpus, settings)

    def test_words_of_train_outside_the_lexicon(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        (corpus / "train/speaker0/0.txt").write_text("ASAA SUS\n")
        assert self.run(corpus, settings, "unusable=stop")
        assert "1 of 1 words that the lexicon lacks have got a pronunciation" in caplog.text
        assert Recognizer.load(corpus.parent / "exp").lexicon.guessed == {"ASAA"}
        (corpus / "train/speaker0/0.txt").write_text("ASAA\n")
        with pytest.raises(CorpusError, match=r'0: no word of it is in lexicon\.txt: "ASAA"'):
            self.run(corpus, settings, "unusable=stop")

    def test_noise_is_learned_where_transcripts_have_it(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        lexicon = (corpus / "lexicon.txt").read_text()
        (corpus / "lexicon.txt").write_text(lexicon.replace("ZOO z o\n", ""))
        rng = np.random.default_rng(0)
        for speaker in range(4):
            path = corpus / f"train/speaker{speaker}/0.wav"
            clicks = np.where(np.arange(4000) % 40 < 20, 0.3, -0.3) * rng.uniform(0.5, 1.0, 4000)
            soundfile.write(path, np.concatenate([soundfile.read(path)[0], clicks]), 16000)
            text = path.with_suffix(".txt")
            text.write_text(text.read_text().strip() + " [noise]\n")
        assert [split for split, _ in self.run(corpus, settings)] == ["dev", "test"]
        assert [m for m in caplog.messages if "[noise]" in m and "taken for noise" not in m] == []
        trained = Recognizer.load(corpus.parent / "exp")
        assert trained.model.topology.phones[:3] == ("sil", "noise", "a")
        wav = corpus / "train/speaker0/0.wav"
        words = wav.with_suffix(".txt").read_text().split()
        noise = trained.align(wav, words).words[-1]
        n_frames = len(trained.align(wav, words).states)
        assert (noise.index, n_frames) == (len(words) - 1, pytest.approx(noise.end, abs=5))
        assert noise.end - noise.start == pytest.approx(25, abs=8)
        assert trained.transcribe(wav).text == tuple(words[:-1])

    def test_bad_recordings_of_train(self, corpus: Path, settings: tuple[str, ...]) -> None:
        soundfile.write(corpus / "train/speaker0/0.wav", np.zeros(10), 16000)
        (corpus / "test/speaker5/1.wav").write_bytes(b"")
        with pytest.raises(CorpusError, match=r"1 of 20 recordings .*\nspeaker0-0: audio too short"):
            self.run(corpus, settings, "unusable=stop")
        (_, _), (split, n_words) = self.run(corpus, settings, "unusable=skip")
        assert (split, n_words) == ("test", 12 - 3)

    def test_low_sample_rate(
        self, corpus: Path, settings: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        for path in corpus.rglob("*.wav"):
            soundfile.write(path, soundfile.read(path)[0][::2], 8000)
        self.run(corpus, settings)
        assert any("20 of 20 recordings have fewer samples" in message for message in caplog.messages)
        caplog.clear()
        self.run(corpus, settings, "sample_rate=8000")
        assert not any("fewer samples" in message for message in caplog.messages)

    def test_hardly_anything(self, corpus: Path, settings: tuple[str, ...]) -> None:
        for split in ("train", "dev", "test"):
            recordings = sorted((corpus / split).rglob("*.wav"))
            for path in recordings[2 if split == "train" else 1 :]:
                path.unlink()
                path.with_suffix(".txt").unlink()
        assert [split for split, _ in self.run(corpus, settings)] == ["dev", "test"]

    def test_one_utterance_at_all(self, tones: Path, tmp_path: Path) -> None:
        (tmp_path / "c").mkdir()
        for suffix in (".wav", ".txt"):
            shutil.copy(tones / f"speaker 0/0{suffix}", tmp_path / "c")
        with pytest.raises(CorpusError, match=r"train has 1 utterance\(s\), expected at least 10"):
            train("folder", corpus=tmp_path / "c", out=tmp_path / "exp")

    def test_duplicate_id(self, corpus: Path, settings: tuple[str, ...]) -> None:
        folder = corpus / "train/speaker0"
        (folder / "a b.wav").write_bytes((folder / "0.wav").read_bytes())
        (folder / "a_b.wav").write_bytes((folder / "0.wav").read_bytes())
        for name in ("a b", "a_b"):
            (folder / f"{name}.txt").write_text("ASA\n")
        with pytest.raises(CorpusError, match='duplicate id "speaker0-a_b"'):
            self.run(corpus, settings)
