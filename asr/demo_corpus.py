"""A synthetic many-speaker corpus for the demo: spoken commands of an island research station.

The words, sentence patterns and pronunciations are our own; the voices are espeak-ng's (`asr.espeak`), one variant
of vocal tract, accent, pitch and rate a speaker, so no real person is heard, and figures measured here say nothing
about real speech. Everything random comes from one generator per utterance, derived from the seed and the
utterance's number: the number of workers changes no byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import soundfile
import soxr
from joblib import Parallel, delayed  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from asr import espeak
from asr.corpus import SPLITS, Corpus, Utterance, write_corpus
from asr.errors import ConfigError
from asr.espeak import EspeakVoice
from decoder.grammar import SENTENCE_END, SENTENCE_START
from decoder.lexicon import Lexicon

SAMPLE_RATE = 16000

# A word in small letters is a class; "?" behind it = may be left out.
PATTERNS = (
    "move THE colour? vessel TO THE place when?",
    "WHICH vessel IS AT THE place when?",
    "TURN THE vessel direction FOR tens digit? METERS",
    "LOAD tens digit? crop ONTO THE vessel",
    "switch THE colour? device IN THE place when?",
    "switch device digit AND device digit when?",
    "WAIT tens digit? MINUTES THEN switch THE device",
    "SET THE quantity TO tens digit? unit when?",
    "show THE quantity OF TANK digit when?",
    "WHAT IS THE quantity IN THE place when?",
    "HOW MANY crop ARE IN THE place when?",
    "tend ALL crop NEAR THE colour device",
)
CLASSES = {
    "move": "SEND BRING STEER TOW",
    "vessel": "FERRY BARGE TUGBOAT ROVER GLIDER SUBMARINE KAYAK",
    "place": "PIER LAGOON LIGHTHOUSE WORKSHOP GREENHOUSE ISLAND BOATHOUSE OBSERVATORY",
    "direction": "NORTH SOUTH EAST WEST",
    "switch": "OPEN CLOSE START STOP CHECK RESET",
    "device": "VALVE PUMP HEATER SHUTTER TURBINE SPRINKLER LAMP",
    "colour": "RED GREEN BLUE YELLOW PURPLE ORANGE SILVER",
    "show": "SHOW PLOT REPORT PREDICT",
    "quantity": "TEMPERATURE PRESSURE HUMIDITY SALINITY OXYGEN VOLTAGE DEPTH",
    "tend": "WATER HARVEST COUNT WEIGH PLANT",
    "crop": "TOMATOES MELONS LETTUCES ORCHIDS PEPPERS BEANS",
    "digit": "ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE",
    "tens": "TWENTY THIRTY FORTY FIFTY SIXTY",
    "unit": "DEGREES PERCENT VOLTS METERS",
    "when": "NOW TONIGHT TOMORROW",
}
# General American, stress left out; a second pronunciation where continuous speech has one.
PRONUNCIATIONS = """
ALL AO L; AND AE N D; AND AH N D; ARE AA R; AT AE T; AT AH T; BARGE B AA R JH; BEANS B IY N Z; BLUE B L UW
BOATHOUSE B OW T HH AW S; BRING B R IH NG; CHECK CH EH K; CLOSE K L OW Z; COUNT K AW N T; DEGREES D IH G R IY Z
DEPTH D EH P TH; EAST IY S T; EIGHT EY T; FERRY F EH R IY; FIFTY F IH F T IY; FIVE F AY V; FOR F AO R; FOR F ER
FORTY F AO R T IY; FOUR F AO R; GLIDER G L AY D ER; GREEN G R IY N; GREENHOUSE G R IY N HH AW S
HARVEST HH AA R V AH S T; HEATER HH IY T ER; HOW HH AW; HUMIDITY HH Y UW M IH D IH T IY; IN IH N; IS IH Z
ISLAND AY L AH N D; KAYAK K AY AE K; LAGOON L AH G UW N; LAMP L AE M P; LETTUCES L EH T AH S IH Z
LIGHTHOUSE L AY T HH AW S; LOAD L OW D; MANY M EH N IY; MELONS M EH L AH N Z; METERS M IY T ER Z
MINUTES M IH N AH T S; NEAR N IH R; NINE N AY N; NORTH N AO R TH; NOW N AW
OBSERVATORY AH B Z ER V AH T AO R IY; OF AH V; ONE W AH N; ONTO AA N T UW; OPEN OW P AH N; ORANGE AO R IH N JH
ORCHIDS AO R K IH D Z; OXYGEN AA K S IH JH AH N; PEPPERS P EH P ER Z; PERCENT P ER S EH N T; PIER P IH R
PLANT P L AE N T; PLOT P L AA T; PREDICT P R IH D IH K T; PRESSURE P R EH SH ER; PUMP P AH M P; PURPLE P ER P AH L
RED R EH D; REPORT R IH P AO R T; RESET R IY S EH T; ROVER R OW V ER; SALINITY S AH L IH N IH T IY; SEND S EH N D
SET S EH T; SEVEN S EH V AH N; SHOW SH OW; SHUTTER SH AH T ER; SILVER S IH L V ER; SIX S IH K S
SIXTY S IH K S T IY; SOUTH S AW TH; SPRINKLER S P R IH NG K L ER; START S T AA R T; STEER S T IH R; STOP S T AA P
SUBMARINE S AH B M ER IY N; TANK T AE NG K; TEMPERATURE T EH M P R AH CH ER; THE DH AH; THE DH IY; THEN DH EH N
THIRTY TH ER T IY; THREE TH R IY; TO T UW; TO T AH; TOMATOES T AH M EY T OW Z; TOMATOES T AH M AA T OW Z
TOMORROW T AH M AA R OW; TONIGHT T AH N AY T; TOW T OW; TUGBOAT T AH G B OW T; TURBINE T ER B AY N; TURN T ER N
TWENTY T W EH N T IY; TWO T UW; UNIT
VALVE V AE L V; VOLTAGE V OW L T IH JH; VOLTS V OW L T S; WAIT W EY T; WATER W AO T ER; WEIGH W EY; WEST W EH S T
WHAT W AH T; WHICH W IH CH; WORKSHOP W ER K SH AA P; YELLOW Y EH L OW
"""
