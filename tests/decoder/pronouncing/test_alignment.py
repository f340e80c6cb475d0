"""Units of letters and phones, against all ways to cut small words."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoder.pronouncing.alignment import Numbering, best_cuts, expected_counts, learn_units, number

Cut = tuple[tuple[str, tuple[str, ...]], ...]
ENTRIES = [
    ("axe", ("AE", "K", "S")),
    ("shed", ("SH", "EH", "D")),
    ("ash", ("AE", "SH")),
    ("dash", ("D", "AE", "SH")),
    ("ax", ("AE", "K", "S")),
    ("ex", ("EH", "K", "S")),
    ("he", ("HH", "IY")),
]


def all_cuts(letters: str, phones: Sequence[str]) -> Iterator[Cut]:
    """Yield every way to cut an entry into units."""
    if not letters and not phones:
        yield ()
    for n_letters, n_phones in ((1, 0), (1, 1), (1, 2), (2, 1)):
        if n_letters <= len(letters) and n_phones <= len(phones):
            unit = letters[:n_letters], tuple(phones[:n_phones])
            for rest in all_cuts(letters[n_letters:], phones[n_phones:]):
                yield (unit, *rest)


def by_name(names: Numbering) -> dict[tuple[str, tuple[str, ...]], int]:
    """Return the numbers of all units."""
    found = {}
    for unit in range(names.n_units):
        letters, phones = names.parts(unit)
        found["".join(names.letters[i] for i in letters), tuple(names.phones[i] for i in phones)] = unit
    return found


@pytest.fixture
def weights() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.1, 1.0, size=number(ENTRIES)[1].n_units)


def test_sums_over_all_cuts(weights: np.ndarray) -> None:
    cuts, names = number(ENTRIES)
    ids = by_name(names)
    assert len(ids) == names.n_units
    counts, log_total = np.zeros(names.n_units), 0.0
    for letters, phones in ENTRIES:
        products = {cut: np.prod([weights[ids[u]] for u in cut]) for cut in all_cuts(letters, phones)}
        total = sum(products.values())
        log_total += np.log(total)
        for cut, product in products.items():
            for unit in cut:
                counts[ids[unit]] += product / total
    found = np.zeros(names.n_units)
    assert_allclose(expected_counts(cuts, weights, found), log_total, rtol=1e-12, atol=0)
    assert_allclose(found, counts, rtol=1e-9, atol=1e-12)


def test_the_best_cut_is_the_best_of_all(weights: np.ndarray) -> None:
    cuts, names = number(ENTRIES)
    ids = by_name(names)
    units, offsets = best_cuts(cuts, weights)
    for k, (letters, phones) in enumerate(ENTRIES):
        best = max(all_cuts(letters, phones), key=lambda cut: np.prod([weights[ids[u]] for u in cut]))
        assert units[offsets[k] : offsets[k + 1]].tolist() == [ids[u] for u in best]


def test_the_likelihood_never_falls_and_units_are_a_distribution() -> None:
    cuts, names = number(ENTRIES)
    weights, log_likelihoods = learn_units(cuts, names.n_units)
    assert np.all(np.diff(log_likelihoods) > 0)
    assert_allclose(weights.sum(), 1.0, rtol=1e-12, atol=0)
    units, offsets = best_cuts(cuts, weights)
    shed = [names.parts(unit) for unit in units[offsets[1] : offsets[2]].tolist()]
    spelled = ["".join(names.letters[i] for i in letters) for letters, _ in shed]
    assert spelled == ["sh", "e", "d"]


def test_an_entry_that_cannot_be_cut_is_passed_over() -> None:
    cuts, names = number([*ENTRIES, ("x", ("EH", "K", "S"))])
    weights, _ = learn_units(cuts, names.n_units)
    without, _ = learn_units(number(ENTRIES)[0], number(ENTRIES)[1].n_units)
    units, offsets = best_cuts(cuts, weights)
    assert offsets[-1] == offsets[-2] == len(units)
    assert_allclose(np.sort(weights[weights > 0]), np.sort(without[without > 0]), rtol=1e-12, atol=0)
