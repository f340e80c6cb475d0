"""HTK's master macro files: ours again, HTK's other forms, damaged ones."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from acoustic import ModelError, Topology
from acoustic.hmm.gmm import GmmModel
from acoustic.hmm.mmf import HtkModel, format_mmf, parse_mmf

# As HHEd writes tied models: shared transitions, states, means and variances; an HMM without mixtures.
TEXT = """~o
<STREAMINFO> 1 2
<VECSIZE> 2<NULLD><MFCC_E><DIAGC>
~v "varFloor1"
<VARIANCE> 2
 1.0e-02 2.0e-02
~t "T_pause"
<TRANSP> 3
 0.0 0.75 0.25
 0.0 0.6 0.4
 0.0 0.0 0.0
~u "m"
<MEAN> 2
 1.0 -1.0
~m "mix"
~u "m"
<VARIANCE> 2
 2.0 3.0
<GCONST> 5.467
~s "silst"
<NUMMIXES> 2
<MIXTURE> 1 0.25
~m "mix"
<MIXTURE> 2 7.5e-01
<MEAN> 2
 0.5 0.5
<VARIANCE> 2
 1.0 1.0
~h "sil"
<BEGINHMM>
<NUMSTATES> 3
<STATE> 2
~s "silst"
<TRANSP> 3
 0.0 1.0 0.0
 0.0 0.9 0.1
 0.0 0.0 0.0
<ENDHMM>
~h "a"
<BEGINHMM>
<NUMSTATES> 4
<STATE> 2
<MEAN> 2
 4.0 5.0
<VARIANCE> 2
 6.0 7.0
<STATE> 3
<NUMMIXES> 1
<MIXTURE> 1 1.0
~u "m"
~v "varFloor1"
<TRANSP> 4
 0 1 0 0
 0 0.3 0.7 0
 0 0 0.2 0.8
 0 0 0 0
<ENDHMM>
~h sp
<BeginHMM>
<NumStates> 3
<State> 2
~s silst
~t "T_pause"
<EndHMM>
"""


def log_density(frame: np.ndarray, mean: list[float], variance: list[float]) -> float:
    deviations = (frame - np.array(mean)) ** 2 / np.array(variance)
    return float(-0.5 * np.sum(np.log(2 * np.pi * np.array(variance)) + deviations))


@pytest.mark.parametrize("end", ["\n", " \n"])
def test_forms_of_htk(end: str) -> None:
    found = parse_mmf(TEXT.replace("\n", end))
    assert found.kind == "MFCC_E"
    assert found.topology.phones == ("sil", "a", "sp")
    assert found.topology.phone_states == ((0,), (1, 2), (0,))
    assert [np.round(loops, 12).tolist() for loops in found.topology.self_loops] == [[0.9], [0.3, 0.2], [0.6]]
    frame = np.array([0.3, -0.7], dtype=np.float32)
    scores = found.emissions.log_likelihoods(frame[None])[0]
    mixed = np.logaddexp(
        np.log(0.25) + log_density(frame, [1, -1], [2, 3]),
        np.log(0.75) + log_density(frame, [0.5, 0.5], [1, 1]),
    )
    expected = [mixed, log_density(frame, [4, 5], [6, 7]), log_density(frame, [1, -1], [0.01, 0.02])]
    assert_allclose(scores, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("noise", [False, True])
def test_what_is_written_is_read_as_the_same(noise: bool) -> None:
    rng = np.random.default_rng(3)
    topology = Topology.monophones(["a", 'b"\\'], noise=noise)
    topology = topology.with_flat_self_loops(rng.uniform(0.1, 0.9, len(topology.flat_self_loops())))
    shape = (topology.n_states, 3, 5)
    weights = rng.dirichlet(np.ones(3), topology.n_states)
    weights[0] = [0.4, 0.6, 0.0]
    with np.errstate(divide="ignore"):
        emissions = GmmModel(np.log(weights), rng.normal(size=shape), rng.uniform(0.01, 3, shape))
    model = HtkModel(topology, emissions, "MFCC_E_D_A")
    found = parse_mmf(format_mmf(model))
    assert (found.topology.phones, found.topology.phone_states) == (topology.phones, topology.phone_states)
    assert_allclose(found.topology.flat_self_loops(), topology.flat_self_loops(), rtol=1e-12, atol=0)
    assert_allclose(np.exp(found.emissions.log_weights), weights, rtol=1e-12, atol=0)
    used = weights > 0
    assert_array_equal(found.emissions.means[used], emissions.means[used])
    assert_array_equal(found.emissions.variances[used], emissions.variances[used])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "<MEAN> 2\n 4.0 5.0",
            "<MEAN> 2000000000\n 4.0",
            r"MMF:43: expected a count from 1 to 8191",
        ),
        (
            "<MEAN> 2\n 4.0 5.0",
            "<MEAN> 3\n 4 5 6",
            r"MMF:43: expected 2 numbers, as many as elsewhere",
        ),
        ("<MEAN> 2\n 4.0 5.0", "<MEAN> 2\n 4.0 nan", r"MMF:44: expected a number, got nan"),
        (" 6.0 7.0", " 6.0 -7.0", r"MMF:45: expected variances above 0"),
        (" 6.0 7.0", " 6.0", r"MMF:47: expected a number, got <STATE>"),
        ("<NUMSTATES> 4", "<NUMSTATES> 999999999", r"MMF:41: expected a count from 1 to 1000"),
        ("<NUMMIXES> 2", "<NUMMIXES> 1", r"MMF:24: expected a count from 1 to 1, got 2"),
        ("<MIXTURE> 2 7.5e-01", "<MIXTURE> 2 0.5", r"weights that sum to 1 \(got 0.75\)"),
        ("<MIXTURE> 2 7.5e-01", "<MIXTURE> 2 -0.25", r"weights that sum to 1"),
        ("0 0.3 0.7 0", "0 0.3 0.5 0.2", r'"a": 2 states, from each on to itself or the next one'),
        ("0 0.3 0.7 0", "0 0.3 0.5 0", r'"a": 2 states, from each on'),
        ("0 0.3 0.7 0", "0 1 0 0", r'"a": 2 states, from each on'),
        (
            '~s "silst"\n<TRANSP>',
            '~s "other"\n<TRANSP>',
            r'MMF:33: expected a macro ~s "other" before',
        ),
        ('~t "T_pause"\n<EndHMM>', '~t "T"\n<EndHMM>', r'expected a macro ~t "T" before'),
        ('~v "varFloor1"\n<TRANSP>', '~v "v"\n<TRANSP>', r'expected a macro ~v "v" before'),
        ('~m "mix"\n<MIXTURE>', '~m "n"\n<MIXTURE>', r'expected a macro ~m "n" before'),
        ("~h sp", '~h "a"', r'expected each HMM once \("a" again\)'),
        ('~h "a"', '~h "a-b+c"', r"HMMs of phones in context \(a-b\+c\), expected phones alone"),
        ("<STATE> 3", "<STATE> 4", r"MMF:47: expected state 3"),
        ("<STREAMINFO> 1 2", "<STREAMINFO> 3 2", r"MMF:2: expected one stream"),
        ("<DIAGC>", "<FULLC>", r"MMF:3: expected diagonal covariances"),
        ("<NUMMIXES> 2", "<SWEIGHTS> 1 1.0", r"expected one stream of mixtures"),
        ("~o", "hello", r"MMF:1: expected a master macro file of HTK, which begins with ~o"),
        ("~u ", "~x ", r"MMF:12: expected a macro \(~o ~h"),
        ("<ENDHMM>\n~h sp", "~h sp", r"expected <ENDHMM>, got ~h"),
    ],
)
def test_faults_are_one_line(old: str, new: str, message: str) -> None:
    assert old in TEXT
    tracemalloc.start()
    with pytest.raises(ModelError, match=message) as caught:
        parse_mmf(TEXT.replace(old, new, 1))
    assert tracemalloc.get_traced_memory()[1] < 1 << 22
    tracemalloc.stop()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", ":\0\1\2", "\0", "~o", TEXT[: TEXT.index("~h")], "#!MLF!#\n"])
def test_other_files(text: str) -> None:
    with pytest.raises(ModelError, match=r"expected text; write it|begins with ~o|no HMM \(~h\) in it"):
        parse_mmf(text)


def test_every_shortened_file_is_an_error_or_whole_hmms() -> None:
    kept = set()
    for length in range(0, len(TEXT), 7):
        try:
            kept.add(parse_mmf(TEXT[:length]).topology.phones)
        except ModelError as error:
            assert "\n" not in str(error)  # noqa: PT017
    assert kept <= {("sil",), ("sil", "a")}
