"""States, phones and words of an alignment as intervals in seconds."""

from types import SimpleNamespace

import numpy as np
import pytest

from acoustic.alignment import Alignment, Segment
from acoustic.hmm.topology import Topology
from asr.formats.aligned import aligned_utterance
from asr.formats.intervals import Interval


def test_frames_become_seconds_and_numbers_names() -> None:
    topology = Topology.monophones("ab", n_states=2)
    a, b = (topology.phone_id(phone) for phone in "ab")
    (a1, a2), (b1, b2) = topology.phone_states[a], topology.phone_states[b]
    # Two neighbouring runs of one state are told apart where a phone ends between them.
    states = np.array([a1, a1, a2, b1, b2, b2, b1, b2, b2], dtype=np.int32)
    phones = (Segment(0, 3, a), Segment(3, 6, b), Segment(6, 8, b), Segment(8, 9, b))
    alignment = Alignment(
        states=states,
        phones=phones,
        words=(Segment(0, 6, 0), Segment(6, 9, 1)),
        variants=(0, 0),
        log_likelihood=-45.0,
    )
    model = SimpleNamespace(topology=topology, front_end=SimpleNamespace(frame_shift_s=0.01))
    found = aligned_utterance("u1", model, ["AB", "B"], alignment)  # type: ignore[arg-type]
    assert (found.utterance_id, found.duration_s) == ("u1", 0.09)
    assert found.log_likelihood == pytest.approx(-5.0)
    assert found.tiers["words"] == (Interval(0.0, 0.06, "AB"), Interval(0.06, 0.09, "B"))
    assert [(i.start_s, i.end_s, i.label) for i in found.tiers["phones"]] == [
        (0.0, 0.03, "a"),
        (0.03, 0.06, "b"),
        (0.06, 0.08, "b"),
        (0.08, 0.09, "b"),
    ]
    names = topology.state_names()
    assert [(i.start_s, i.end_s, i.label) for i in found.tiers["states"]] == [
        (0.0, 0.02, names[a1]),
        (0.02, 0.03, names[a2]),
        (0.03, 0.04, names[b1]),
        (0.04, 0.06, names[b2]),
        (0.06, 0.07, names[b1]),
        (0.07, 0.08, names[b2]),
        (0.08, 0.09, names[b2]),
    ]


def test_tied_states_are_called_after_the_phone_in_context_that_is_spoken() -> None:
    topology = Topology(
        ("sil", "S-AH+N", "T-AH+#"), ((0,), (1, 2), (3, 2)), ((0.5,), (0.5,) * 2, (0.5,) * 2), True
    )
    assert topology.state_names() == ("sil[1]", "AH[1] S-_+N", "AH[2] S-_+N", "AH[1] T-_+#")
    alignment = Alignment(
        states=np.array([0, 3, 2, 2], dtype=np.int32),
        phones=(Segment(0, 1, 0), Segment(1, 4, 2)),
        words=(Segment(1, 4, 0),),
        variants=(0,),
        log_likelihood=-4.0,
    )
    model = SimpleNamespace(topology=topology, front_end=SimpleNamespace(frame_shift_s=0.01))
    found = aligned_utterance("u1", model, ["A"], alignment)  # type: ignore[arg-type]
    assert [i.label for i in found.tiers["states"]] == ["sil[1]", "AH[1] T-_+#", "AH[2] T-_+#"]
    assert [i.label for i in found.tiers["phones"]] == ["sil", "AH"]
