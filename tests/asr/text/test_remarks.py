"""Remarks: what is one, and what it says."""

import pytest

from asr.text.remarks import is_remark, kind_of, parts_of


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
    kinds = [kind_of(r) for r in ("[inaudible]", "<oov>", "[SIL]", "<i>", "[]", "[Music]", "[phone rings]")]
    assert kinds == ["unknown", "unknown", "nothing", "nothing", "nothing", "noise", "noise"]


def test_entries_of_lexicons() -> None:
    assert [is_remark(w) for w in ("<unk>", "[noise]", "++um++", "!SIL", "<a", "(2)", "a[b]")] == [
        *(True, True, True, True, False, False, False)
    ]
