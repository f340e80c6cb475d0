"""What words cost: grammars, networks, and the search for the words of some recordings.

The grammar and the network are the task's own. What is decoded are stretches of recordings that the model has
not heard, scored by a small model of the sample: with it the search follows about as many paths as with a
model trained on hours (`docs/results/plan.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acoustic.hmm.topology import Topology
from acoustic.model import AcousticModel
from asr.corpora.speech_data import SpeechData
from asr.language.grammars import has_lm_scale, read_grammar
from asr.planning.sample import size_of
from asr.planning.timing import least_seconds
from asr.scoring.edit_distance import align_words, count_errors
from asr.systems import GrammarName
from asr.training.tuning import LATTICE_BEAM, MAX_EDGES_PER_FRAME
from decoder.decoder import Decoder, DecoderConfig, Hypothesis
from decoder.lexicon import Lexicon
from decoder.search.compiled import Weights
from decoder.search.lattice import WeighedLattice
from decoder.search.tree_network import TreeNetwork
from foundation.arrays import Singles

SEARCHED_S = 30.0  # of speech, in stretches; by feel
STRETCH_S = 2.5  # at most; the middle of a recording; by feel
_START = {"lm_scale": 8.0, "word_penalty": -16.0}  # weights that tuning begins with
_START_WITHOUT_SCALE = {"word_penalty": -32.0}
_OTHER = Weights(10.0, -24.0, -5.0)


@dataclass(frozen=True)
class SearchCosts:
    """Costs of a grammar's words, in CPU seconds; per frame where nothing else is said.

    Attributes
    ----------
    load_s : seconds to read the grammar and to build the network
    decode : the best words
    lattice : the best words and a lattice
    trial : other weights on a lattice
    is_tree : whether the vocabulary is searched as a prefix tree
    grammar_bytes : size of the grammar's file
    """

    load_s: float
    decode: float
    lattice: float
    trial: float
    is_tree: bool
    grammar_bytes: int


def stretches(model: AcousticModel, data: SpeechData, shift_s: float) -> list[Singles]:
    """Return the scores (T, S) of stretches of recordings, each from the middle of one."""
    frames = model.front_end.transform(data.cepstra, data.speakers)
    n = max(round(STRETCH_S / shift_s), 1)
    middles = [f[max((len(f) - n) // 2, 0) :][:n] for f in frames]
    return [model.emissions.log_likelihoods(f) for f in middles]


def search_costs(
    name: GrammarName,
    directory: Path,
    lexicon: Lexicon,
    topology: Topology,
    scores: Sequence[Singles],
    config: DecoderConfig,
) -> SearchCosts:
    """Return the costs of a grammar.

    Parameters
    ----------
    name, directory : the grammar and where its file is
    lexicon, topology : pronunciations, and the units and states of the scores
    scores : (T, S) of each stretch that is decoded
    config : the decoder's configuration before tuning
    """
    built: list[Decoder] = []
    load_s = least_seconds(
        lambda: built.append(Decoder(lexicon, read_grammar(name, directory, lexicon), topology, config)),
        is_warm=len(lexicon) > 1000,
    )
    decoder = built[-1].with_config(**(_START if has_lm_scale(name) else _START_WITHOUT_SCALE))
    n_frames = sum(map(len, scores))
    if not n_frames:
        return SearchCosts(load_s, 0.0, 0.0, 0.0, isinstance(decoder.network, TreeNetwork), 0)
    for compiled in scores[:1]:
        decoder.decode(compiled)
        decoder.decode_with_lattice(compiled, LATTICE_BEAM, MAX_EDGES_PER_FRAME)[1].best_words(_OTHER)
    found: list[tuple[Hypothesis, WeighedLattice]] = []

    def with_lattices() -> None:
        found[:] = [decoder.decode_with_lattice(s, LATTICE_BEAM, MAX_EDGES_PER_FRAME) for s in scores]

    def trial() -> None:
        for hypothesis, lattice in found:
            count_errors(align_words(hypothesis.text, lattice.best_words(_OTHER)))

    return SearchCosts(
        load_s,
        least_seconds(lambda: [decoder.decode(s) for s in scores], is_warm=True) / n_frames,
        least_seconds(with_lattices, is_warm=True) / n_frames,
        least_seconds(trial) / n_frames,
        isinstance(decoder.network, TreeNetwork),
        sum(size_of(path) for path in directory.glob(f"{name}*")),
    )
