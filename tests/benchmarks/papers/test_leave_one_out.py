"""The table of the slides on blobs that no method should get wrong."""

from collections.abc import Callable

from benchmarks.papers.leave_one_out import leave_one_out
from benchmarks.papers.parts import Request

Rows = Callable[[str], list[list[str]]]


def test_slides_beside_ours(quick: Request, rows_of: Rows) -> None:
    request = Request(quick.folder, quick.search, 2, True, frozenset({"heart", "diabetis"}))
    header, absent, *rows = rows_of(leave_one_out(request))
    assert absent[:2] == ["diabetis", "not in the folder"]
    cells = {row[1]: dict(zip(header, row, strict=True)) for row in rows}
    assert cells["RBF"]["slides"] == "17.6 ± 3.3"
    assert cells["RBF"]["ours"] == "not run"
    for name in ("LOO forward selection, defaults", "LOO forward selection, tuned"):
        assert (cells[name]["slides"], cells[name]["slides: size"]) == ("15.8 ± 3.7", "10 ± 3")
        assert float(cells[name]["ours"].split()[0]) < 10.0
        assert 1 <= float(cells[name]["ours: centres"].split()[0]) <= 20
    for name in ("SVM", "KFD", "AdaBoost, stumps"):
        assert float(cells[name]["ours"].split()[0]) < 10.0
