import numpy as np
import pytest
from numpy.testing import assert_allclose

from acoustic import ModelError, Topology


def test_monophones():
    topology = Topology.monophones(["b", "a", "b", "sil"])
    assert topology.phones == ("sil", "a", "b", "sp")
    assert topology.phone_states == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (1,))
    assert topology.n_states == 9
    assert topology.transition_offsets.tolist() == [0, 3, 6, 9, 10]
    assert set(topology.flat_self_loops()) == {0.6}
    assert topology.state_names()[:4] == ("sil[1]", "sil[2]", "sil[3]", "a[1]")


def test_without_short_pause_and_with_other_lengths():
    topology = Topology.monophones("a", n_states=5, short_pause=False, self_loop=0.25)
    assert topology.phones == ("sil", "a")
    assert "sp" not in topology
    assert topology.phone_states[1] == (5, 6, 7, 8, 9)
    assert set(topology.flat_self_loops()) == {0.25}


def test_the_order_of_the_phones_given_does_not_matter():
    assert Topology.monophones(["b", "a", "c"]) == Topology.monophones({"c", "b", "a"})


def test_transitions_there_and_back():
    topology = Topology.monophones("ab")
    loops = np.linspace(0.1, 0.9, 10)
    changed = topology.with_flat_self_loops(loops)
    assert changed.flat_self_loops().tolist() == loops.tolist()
    assert (changed.phones, changed.phone_states) == (topology.phones, topology.phone_states)
    log_stay, log_move = changed.log_transitions(2)
    assert_allclose(np.exp(log_stay), loops[6:9], rtol=1e-14, atol=0)
    assert_allclose(np.exp(log_stay) + np.exp(log_move), 1.0, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("phones", "states", "loops"),
    [
        ((), (), ()),
        (("a", "a"), ((0,), (1,)), ((0.5,), (0.5,))),
        (("a", "b"), ((0,),), ((0.5,), (0.5,))),
        (("a",), ((),), ((),)),
        (("a",), ((0, 1),), ((0.5,),)),
        (("a",), ((-1,),), ((0.5,),)),
        (("a",), ((0.5,),), ((0.5,),)),
        (("a",), ((0,),), ((1.0,),)),
        (("a",), ((0,),), ((0.0,),)),
        (("a",), ((0,),), ((np.nan,),)),
        ((1,), ((0,),), ((0.5,),)),
    ],
)
def test_faulty_topologies(phones, states, loops):
    with pytest.raises(ModelError, match=r"topology: .*expected"):
        Topology(phones, states, loops)


def test_noise_has_states_of_its_own_beside_silence():
    topology = Topology.monophones("ab", noise=True)
    assert topology.phones == ("sil", "noise", "a", "b", "sp")
    assert topology.phone_states == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11), (1,))
    assert np.flatnonzero(topology.is_speech()).tolist() == [6, 7, 8, 9, 10, 11]


def test_loose_units_are_the_phones_or_those_with_the_least_context():
    assert Topology.monophones("ba", noise=True).loose_units == ("a", "b")
    names = ("sil", "c-a+b", "#-a+b", "a-b+#", "#-b+#", "sp", "b-c+a", "a-c+b")
    loops, states = tuple((0.5,) for _ in names), tuple((k,) for k in range(len(names)))
    assert Topology(names, states, loops, is_contextual=True).loose_units == ("#-a+b", "#-b+#", "a-c+b")
