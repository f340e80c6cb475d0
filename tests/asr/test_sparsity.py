"""The table of accuracies against centres; that they are trained: `tests/asr/training/test_hybrid.py`."""

from pathlib import Path

from asr.sparsity import SparsityRow, format_sparsity


class TestSparsityTable:
    def test_a_row_for_each_size_a_column_for_each_grammar(self, tmp_path: Path) -> None:
        rows = [
            SparsityRow(n, 10 * n, grammar, accuracy, (0.0, 100.0))
            for n, grammar, accuracy in [(25, "loop", 50.0), (25, "bigram", 60.5), (50, "loop", 55.25)]
        ]
        rows.append(SparsityRow(50, 500, "bigram", 70.0, (0.0, 100.0)))
        title, head, *body, empty, place = format_sparsity(rows, tmp_path).splitlines()
        assert (title, empty, place) == ("word accuracy on dev, %", "", str(tmp_path / "sparsity.json"))
        assert head.split() == ["centres", "distinct", "loop", "bigram"]
        assert [line.split() for line in body] == [
            ["25", "250", "50.00", "60.50"],
            ["50", "500", "55.25", "70.00"],
        ]
