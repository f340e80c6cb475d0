"""The beam search, against all sequences of units that spell a word."""

from collections.abc import Iterator

import numpy as np
from numpy.testing import assert_allclose

from decoder.lexicon import Lexicon
from decoder.pronouncing.joint_ngram import JointNgram, search
from decoder.pronouncing.model import PronunciationModel

LEXICON = Lexicon(
    {
        "cache": [("K", "AE", "SH")],
        "chat": [("CH", "AE", "T"), ("SH", "AE", "T")],
        "cat": [("K", "AE", "T")],
        "ace": [("EY", "S")],
        "tax": [("T", "AE", "K", "S")],
        "the": [("DH", "AH"), ("DH", "IY")],
        "hat": [("HH", "AE", "T")],
        "each": [("IY", "CH")],
    }
)


def step(model: JointNgram, node: int, unit: int) -> tuple[float, int]:
    """Return P(unit | node) and the node that follows, arc by arc."""
    n_inner = len(model.arc_units) - len(model.last_nodes)
    for arc in range(model.first_arcs[node], model.first_arcs[node + 1]):
        if model.arc_units[arc] == unit:
            target = arc + 1 if arc < n_inner else model.last_nodes[arc - n_inner]
            return float(model.arc_probs[arc]), int(target)
    p, target = step(model, int(model.suffixes[node]), unit)
    return float(model.backoffs[node]) * p, target


def spellings(model: PronunciationModel, letters: str) -> Iterator[tuple[int, ...]]:
    """Yield all sequences of units that spell a word."""
    if not letters:
        yield ()
    for i, unit in enumerate(model.units.tolist()):
        spelled = "".join(model.names.letters[a] for a in model.names.parts(unit)[0])
        if letters.startswith(spelled):
            for rest in spellings(model, letters[len(spelled) :]):
                yield (i, *rest)


def joint(model: PronunciationModel, units: tuple[int, ...]) -> float:
    """Return the probability of a sequence of units and its end."""
    node = len(model.units) + 2 if len(model.ngram.suffixes) > 1 else 0
    total = 1.0
    for unit in (*units, len(model.units)):
        p, node = step(model.ngram, node, unit)
        total *= p
    return total


def test_all_pronunciations_have_the_sum_of_all_their_cuts() -> None:
    for order in (1, 2, 5):
        model = PronunciationModel.train(LEXICON, order=order)
        expected: dict[tuple[str, ...], float] = {}
        for units in spellings(model, "chace"):
            phones = tuple(
                model.names.phones[p] for u in units for p in model.names.parts(int(model.units[u]))[1]
            )
            expected[phones] = expected.get(phones, 0.0) + joint(model, units)
        probs, cuts = search(model.ngram, model._ranges("chace"), model.unit_phones, 100_000, 0.0)
        found: dict[tuple[str, ...], float] = {}
        for p, row in zip(probs, cuts, strict=True):
            phones = model._pronunciation(row)
            found[phones] = found.get(phones, 0.0) + float(p)
        assert found.keys() == expected.keys()
        assert_allclose([found[p] for p in expected], list(expected.values()), rtol=1e-10, atol=0)


def test_a_beam_keeps_the_best() -> None:
    model = PronunciationModel.train(LEXICON)
    ranges = model._ranges("thatcache")
    everything, _ = search(model.ngram, ranges, model.unit_phones, 3000, 0.0)
    few, _ = search(model.ngram, ranges, model.unit_phones, 32, 1e-5)
    assert len(few) <= 32 < len(everything)
    assert_allclose(few.max(), everything.max(), rtol=1e-6, atol=0)
    assert 0.95 < few.sum() / everything.sum() <= 1 + 1e-12


def test_a_full_stack_makes_room() -> None:
    model = PronunciationModel.train(LEXICON)
    ranges = model._ranges("thecat")
    one, units = search(model.ngram, ranges, model.unit_phones, 1, 0.0)
    assert units.shape == (1, 6)
    assert np.all((one > 0) & (one < 1))
