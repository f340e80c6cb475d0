"""Words of transcripts found in a lexicon."""

import pytest

from acoustic.hmm.topology import NOISE_WORD
from asr.text.forms import UNKNOWN_WORD, Spellings, WordForms, forms_of_text, without_remarks


def words_of(forms: WordForms, transcript: str) -> list[str]:
    return [found.word for found in forms.read(transcript)]


class TestWithALexicon:
    @pytest.mark.parametrize(
        ("transcript", "expected"),
        [
            ("author", "author"),
            ("AUTHOR Author, “author”", "author author author"),
            ("U.S. US us u.s. u.s.,", "u.s. us us u.s. u.s."),
            ("etc. etc", "etc. etc."),
            ("Twenty-one ex-author", "twenty-one ex author"),
            ("L’homme l'eau", "l' homme l'eau"),
            ("and/or yes—no yes...no Yes,no", "and or yes no yes no yes no"),
            ("mp3 Mp3 mp4", f"mp3 mp3 {UNKNOWN_WORD}"),
            ("aut- author- author-, to--author", f"{UNKNOWN_WORD} author author to author"),
            ("a – b … ! (c)", "a b c"),
            ("[coughs] yes <unk> <sil>", f"{NOISE_WORD} yes {UNKNOWN_WORD}"),
            ("AT&T 50% Polish polish POLISH", f"{UNKNOWN_WORD} {UNKNOWN_WORD} Polish polish polish"),
        ],
    )
    def test_words(self, transcript: str, expected: str) -> None:
        known = "author u.s. us etc. twenty-one l' homme mp3 yes no Polish polish and or"
        assert words_of(WordForms(known.split()), transcript) == expected.split()

    def test_the_lexicons_spelling_is_kept_and_new_words_follow_its_capitals(self) -> None:
        forms = WordForms(["YES", "NO"])
        assert words_of(forms, "Yes, no Maybe") == ["YES", "NO", "MAYBE"]
        assert [found.written for found in forms.read("Yes, no Maybe")] == ["Yes", "no", "Maybe"]

    def test_changes_are_said(self) -> None:
        found = WordForms(["yes", "well", "known"]).read("yes Yes yes, Yes! well-known wel- 7 [noise]")
        assert [sorted(word.changes) for word in found] == [
            *([], ["case"], ["punctuation"], ["case", "punctuation"], ["taken apart"], ["taken apart"]),
            *(["broken off"], ["not readable"], ["remark"]),
        ]

    def test_every_word_is_read_as_itself(self) -> None:
        known = ["A.", "a", "'em", "C++", "x-ray", "3d", "don't", "re-", "¡", "%"]
        assert words_of(WordForms(known), " ".join(known)) == known


class TestWithoutALexicon:
    def test_a_word_is_as_it_is_always_written(self) -> None:
        forms = forms_of_text(["The Author of the trail", "ask Philip about the author"])
        assert words_of(forms, "the AUTHOR, philip Of") == ["the", "author", "Philip", "of"]

    def test_punctuation_inside_a_word_is_none_of_its_letters(self) -> None:
        assert words_of(forms_of_text(["the U.S. and e.g. Don’t"]), "U.S. US e.g don't") == [
            *("us", "us", "eg", "Don’t"),
        ]

    def test_capitals_everywhere_stay(self) -> None:
        assert words_of(forms_of_text(["YES NO", "NO"]), "YES no") == ["YES", "NO"]

    def test_one_word_alone_is_no_beginning_of_a_sentence(self) -> None:
        assert words_of(forms_of_text(["Licht", "Musik"]), "Licht musik") == ["Licht", "Musik"]

    def test_hyphens_part_and_what_is_broken_off_is_known_elsewhere_or_nowhere(self) -> None:
        forms = forms_of_text(["hello hel- hello- well-known"])
        assert words_of(forms, "hello hel- hello- well-known") == [
            *("hello", UNKNOWN_WORD, "hello", "well", "known")
        ]


def test_numerals_in_a_language() -> None:
    pytest.importorskip("num2words")
    found = WordForms(["TWENTY", "ONE", "YEARS", "7"], "en").read("21 years, 7 50%")
    assert [word.word for word in found] == ["TWENTY", "ONE", "YEARS", "7", UNKNOWN_WORD]
    assert [word.written for word in found] == ["twenty", "one", "years", "7", "50%"]


def test_ways_of_writing() -> None:
    ways = Spellings()
    for word, written, begins in [
        ("the", "The", True),
        ("the", "the", False),
        ("anna", "Anna", True),
        ("anna", "Anna", False),
        ("may", "May", False),
        ("may", "may", False),
        ("bbc", "BBC", True),
    ]:
        ways.add(word, written, begins=begins)
    assert ways.spelling == {"anna": "Anna", "bbc": "BBC", "may": "may", "the": "the"}


def test_remarks_are_no_words_of_a_lexicon() -> None:
    assert without_remarks(["<unk>", "go", "[noise]", "!SIL"]) == ["go"]


@pytest.mark.parametrize("apostrophe", ["'", "\u2019", "\u2018", "`", "\u02bc", "\u00b4"])
def test_an_elision_with_any_apostrophe(apostrophe: str) -> None:
    first, second = WordForms(["L'", "HOMME"]).read(f"l{apostrophe}homme,")
    assert (first.word, second.word) == ("L'", "HOMME")
    assert (first.written, second.written) == (f"l{apostrophe}", "homme")


@pytest.mark.parametrize("token", ["$5", "5€", "5%", "£five"])
def test_a_sign_is_not_lost(token: str) -> None:
    assert [found.word for found in WordForms(["FIVE", "5"]).read(token)] == [UNKNOWN_WORD]
