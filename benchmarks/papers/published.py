"""The numbers the papers print, under the names our data files have.

Thesis: E. Andelić, *Sparse Nonlinear Discriminants*, 2007, chapter 5. OROLS paper: IJCAI 2007; its table 2
is the OROLS column of thesis table 5.2 (USPS: 10 % of the points as centres, not 9.7), its tables 3 and 4 are
thesis tables 5.4 and 5.5 without NPD, with centres. LOO slides: ICIC 2006. See ``docs/papers.md``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Test error in %, its standard deviation over partitions if there are several, and the centres in %."""

    error: float
    deviation: float | None = None
    centers: float | None = None

    def __str__(self) -> str:
        """Return the cell as the papers print it."""
        spread = "" if self.deviation is None else f" ± {self.deviation:g}"
        return f"{self.error:g}{spread}" + ("" if self.centers is None else f" ({self.centers:g})")


# Thesis table 5.2: SVM, OROLS, NPD; average centres of a machine in % of the training points.
CHARACTERS = {
    "usps": (Cell(4.3, None, 3.9), Cell(4.4, None, 9.7), Cell(4.4, None, 10)),
    "letter": (Cell(2.75, None, 7), Cell(2.61, None, 4.3), Cell(2.65, None, 6.3)),
    "optdigits": (Cell(2.73, None, 12.1), Cell(1.11, None, 10.2), Cell(1.2, None, 10.4)),
    "pendigits": (Cell(2.5, None, 3.2), Cell(1.66, None, 1.9), Cell(1.95, None, 2.5)),
    "satimage": (Cell(7.8, None, 5.5), Cell(8.2, None, 7.5), Cell(8.1, None, 10.3)),
}


@dataclass(frozen=True)
class Benchmark:
    """Training and test points of a partition, and a row of thesis table 5.3."""

    n_train: int
    n_test: int
    svm: Cell
    kfd: Cell
    ols: Cell
    orols: Cell
    npd: Cell


def _sparse(text: str) -> Cell:
    """Return the cell "error deviation sparsity"; sparsity is the share of points that are *not* centres."""
    error, deviation, *sparsity = (float(number) for number in text.split())
    return Cell(error, deviation, 100 - sparsity[0] if sparsity else None)


# Thesis table 5.3: SVM, KFD, OLS, OROLS, NPD.
BENCHMARKS = {
    name: Benchmark(n_train, n_test, *map(_sparse, cells.split(",")))
    for name, n_train, n_test, cells in (
        ("banana", 400, 4900, "11.5 0.7 78, 10.8 0.5, 10.7 0.5 93, 10.6 0.4 90, 10.5 0.4 87"),
        ("breast_cancer", 200, 77, "26.0 4.7 42, 24.8 4.6, 25.8 4.7 96, 26.8 4.8 95, 26.8 4.8 95"),
        ("diabetis", 468, 300, "23.5 1.7 57, 23.2 1.6, 23.1 1.8 98, 23.1 1.7 93, 23.0 1.8 91"),
        ("flare_solar", 666, 400, "32.4 1.8 9, 33.2 1.7, 33.6 1.6 99, 33.6 1.7 95, 33.5 1.8 94"),
        ("german", 700, 300, "23.6 2.0 58, 23.7 2.2, 24.0 2.3 99, 23.8 2.1 91, 23.9 2.2 89"),
        ("heart", 170, 100, "16.0 3.2 51, 16.1 3.4, 15.8 3.4 98, 16.1 3.4 91, 16.2 3.4 91"),
        ("image", 1300, 1010, "3.0 0.6 87, 4.8 0.6, 2.8 0.6 78, 2.9 0.6 77, 2.8 0.6 74"),
        ("ringnorm", 400, 7000, "1.7 0.1 62, 1.5 0.1, 1.6 0.1 98, 1.8 0.1 95, 1.8 0.1 94"),
        ("splice", 1000, 2175, "10.9 0.7 31, 10.5 0.6, 11.7 0.6 67, 11.7 0.7 55, 11.7 0.8 50"),
        ("thyroid", 140, 75, "4.8 2.2 79, 4.2 2.0, 4.6 2.4 84, 4.2 2.0 83, 4.1 1.9 82"),
        ("titanic", 150, 2051, "22.4 1.0 10, 23.3 2.0, 22.4 1.0 93, 22.4 1.0 90, 22.3 1.0 73"),
        ("twonorm", 400, 7000, "3.0 0.2 82, 2.6 0.2, 2.7 0.2 97, 2.7 0.2 85, 2.6 0.2 75"),
        ("waveform", 400, 4600, "9.9 0.4 60, 9.9 0.4, 10.0 0.4 96, 10.0 0.4 60, 10.0 0.5 51"),
    )
}

# LOO slides: test error in %, model size (centres, not %).
LEAVE_ONE_OUT = {
    "breast_cancer": (Cell(25.74, 5), "6 ± 2"),
    "diabetis": (Cell(23.0, 1.7), "6 ± 1"),
    "heart": (Cell(15.8, 3.7), "10 ± 3"),
}

# The slides' rivals (taken there from Rätsch's collection), with their sizes.
RIVALS = {
    name: tuple(
        (rival, error, size)
        for rival, error in zip(
            ("RBF", "AdaBoost with RBF", "AdaBoost, regularised", "LP-AdaBoost, reg.", "QP-AdaBoost, reg."),
            errors,
            strict=True,
        )
    )
    for name, size, errors in (
        ("breast_cancer", "5", ("27.6 ± 4.7", "30.4 ± 4.7", "26.5 ± 4.5", "26.8 ± 6.1", "25.9 ± 4.6")),
        ("diabetis", "15", ("24.3 ± 1.9", "26.5 ± 2.3", "23.8 ± 1.8", "24.1 ± 1.9", "25.4 ± 2.2")),
        ("heart", "4", ("17.6 ± 3.3", "20.3 ± 3.4", "16.5 ± 3.5", "17.5 ± 3.5", "17.2 ± 3.4")),
    )
}

# Thesis table 5.4; the RVM is in table 3 of the OROLS paper only.
SINC_RMSE = {"SVM": 0.0519, "RVM": 0.0494, "OROLS": 0.0431}

# Thesis table 5.5: training and test points, partitions, then mean squared errors of QR, OROLS, NPD;
# the centres of OROLS from table 4 of the OROLS paper, whose spreads are 3.28 and 0.17.
HOUSES_AND_SHELLS = {
    "boston": (481, 25, 100, Cell(8.35, 5.67), Cell(7.92, 3.46, 26), Cell(7.66, 3.66)),
    "abalone": (3000, 1177, 10, Cell(4.53, 0.29), Cell(4.32, 0.15, 10.8), Cell(4.34, 0.16)),
}

HOUSES_SVM = {"boston": Cell(8.7, 6.8)}  # thesis 5.2, from Schölkopf and Smola 2002

# Thesis 3.4.1, on Ripley's synthetic data with ten centres.
RIPLEY = {"KFD": 9.6, "NPD": 9.2}
