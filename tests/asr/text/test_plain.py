"""The plain form of words: what is compared, and what stays of the spelling."""

import unicodedata

import pytest

from asr.text.plain import bare, folded, has_digit, has_sign, is_remark, parts_of, plain, remark_kind


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Author", "author"),
        ("trail,", "trail"),
        ("etc.", "etc"),
        ("daylight’s", "daylight's"),
        ("‘tis", "tis"),
        ("dogs'", "dogs"),
        ("mother‑in‑law", "mother-in-law"),
        ("«Où", "où"),
        ("¿Qué", "qué"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("ＡＢＣ", "ａｂｃ"),
        ("Ἀθῆναι·", "ἀθῆναι"),
        ("МОСКВА!", "москва"),
        ("काम।", "काम"),
        ("مرحبًا،", "مرحبًا"),
        ("كتـــاب", "كتاب"),
        ("שלום״", "שלום"),
        ("你好。", "你好"),
        ("–", ""),
        ("…", ""),
        ("", ""),
    ],
)
def test_plain(word: str, expected: str) -> None:
    assert plain(word) == expected
    assert plain(expected) == expected


def test_composed_and_decomposed_letters_are_one() -> None:
    assert plain(unicodedata.normalize("NFD", "Größe")) == plain("größe") == "grösse"


def test_marks_that_a_sign_kept_apart_are_in_normal_form() -> None:
    form = plain("\u05bc\u2f3d\u0613v")
    assert form == unicodedata.normalize("NFC", form) == plain(form)


def test_what_is_folded_keeps_its_punctuation() -> None:
    assert (folded("U.S."), folded("L’Homme"), folded("–a")) == ("u.s.", "l'homme", "-a")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("(Trail),", "Trail"),
        ("U.S.", "U.S"),
        ("50%", "50%"),
        ("-a-", "a"),
        ("--", ""),
        ("O’N!", "O’N"),
    ],
)
def test_bare(word: str, expected: str) -> None:
    assert bare(word) == expected


def test_digits_and_signs_of_all_scripts() -> None:
    assert [has_digit(w) for w in ("a1", "٣", "²", "Ⅳ", "one")] == [True, True, True, True, False]
    assert [has_sign(w) for w in ("5%", "€5", "AT&T", "a-b", "a.")] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go on", [("go on", None)]),
        ("[noise]", [("[noise]", "noise")]),
        ("a<unk>b", [("a", None), ("<unk>", "unknown"), ("b", None)]),
        ("(laughs loudly) no", [("(laughs loudly)", "noise"), (" no", None)]),
        ("(and so on)", [("(and so on)", None)]),
        ("*very* good *coughs*", [("*very* good ", None), ("*coughs*", "noise")]),
        ("{door slams} ++BREATH++", [("{door slams}", "noise"), (" ", None), ("++BREATH++", "noise")]),
        ("<s> yes </s>", [("<s>", "nothing"), (" yes ", None), ("</s>", "nothing")]),
        ("an [open bracket", [("an [open bracket", None)]),
        ("", []),
    ],
)
def test_parts(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert list(parts_of(text)) == expected
    assert "".join(part for part, _ in expected) == text


def test_kinds() -> None:
    kinds = [
        remark_kind(r) for r in ("[inaudible]", "<oov>", "[SIL]", "<i>", "[]", "[Music]", "[phone rings]")
    ]
    assert kinds == ["unknown", "unknown", "nothing", "nothing", "nothing", "noise", "noise"]


def test_entries_of_lexicons() -> None:
    assert [is_remark(w) for w in ("<unk>", "[noise]", "++um++", "!SIL", "<a", "(2)", "a[b]")] == [
        *(True, True, True, True, False, False, False)
    ]
