"""Synthetic commands of an island research station, read by forty espeak-ng voices with noise added.

Words, patterns and pronunciations are our own. No person is heard: figures measured here are synthetic and
say nothing about real speech. The grammar is all word pairs that the patterns can produce.
"""

from __future__ import annotations

from pathlib import Path

from acoustic.emissions.aligned_frames import HybridConfig
from asr.config import ExperimentConfig
from asr.recipe import Recipe
from recipes.demo_corpus import CommandTask, write_demo_corpus

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
    "tend ALL crop when?",
    "tend THE crop NEAR THE colour device",
    "switch device digit when?",
)
CLASSES = {
    "move": "SEND BRING STEER TOW",
    "vessel": "FERRY BARGE TUGBOAT ROVER GLIDER SUBMARINE KAYAK",
    "place": "PIER LAGOON LIGHTHOUSE WORKSHOP GREENHOUSE HARBOR BOATHOUSE OBSERVATORY",
    "direction": "NORTH SOUTH EAST WEST",
    "switch": "OPEN LOCK START STOP CHECK RESET",
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
ALL AO L; AND AE N D; AND AH N D; ARE AA R; AT AE T; BARGE B AA R JH; BEANS B IY N Z; BLUE B L UW
BOATHOUSE B OW T HH AW S; BRING B R IH NG; CHECK CH EH K; COUNT K AW N T; DEGREES D IH G R IY Z
DEPTH D EH P TH; EAST IY S T; EIGHT EY T; FERRY F EH R IY; FIFTY F IH F T IY; FIVE F AY V; FOR F AO R
FORTY F AO R T IY; FOUR F AO R; GLIDER G L AY D ER; GREEN G R IY N; GREENHOUSE G R IY N HH AW S
HARVEST HH AA R V AH S T; HEATER HH IY T ER; HOW HH AW; HUMIDITY HH Y UW M IH D IH T IY; IN IH N; IS IH Z
HARBOR HH AA R B ER; KAYAK K AY AE K; LAGOON L AH G UW N; LAMP L AE M P; LETTUCES L EH T AH S IH Z
LIGHTHOUSE L AY T HH AW S; LOAD L OW D; LOCK L AA K; MANY M EH N IY; MELONS M EH L AH N Z
METERS M IY T ER Z; MINUTES M IH N AH T S; NEAR N IH R; NINE N AY N; NORTH N AO R TH; NOW N AW
OBSERVATORY AH B Z ER V AH T AO R IY; OF AH V; ONE W AH N; ONTO AA N T UW; OPEN OW P AH N
ORANGE AO R IH N JH; ORCHIDS AO R K IH D Z; OXYGEN AA K S IH JH AH N; PEPPERS P EH P ER Z
PERCENT P ER S EH N T; PIER P IH R; PLANT P L AE N T; PLOT P L AA T; PREDICT P R IH D IH K T
PRESSURE P R EH SH ER; PUMP P AH M P; PURPLE P ER P AH L; RED R EH D; REPORT R IH P AO R T
RESET R IH S EH T; ROVER R OW V ER; SALINITY S EY L IH N IH T IY; SEND S EH N D; SET S EH T
SEVEN S EH V AH N; SHOW SH OW; SHUTTER SH AH T ER; SILVER S IH L V ER; SIX S IH K S; SIXTY S IH K S T IY
SOUTH S AW TH; SPRINKLER S P R IH NG K L ER; START S T AA R T; STEER S T IH R; STOP S T AA P
SUBMARINE S AH B M ER IY N; TANK T AE NG K; TEMPERATURE T EH M P R AH CH ER; THE DH AH; THE DH IY
THEN DH EH N; THIRTY TH ER T IY; THREE TH R IY; TO T UW; TO T AH; TOMATOES T AH M EY T OW Z
TOMATOES T AH M AA T OW Z; TOMORROW T AH M AA R OW; TONIGHT T AH N AY T; TOW T OW; TUGBOAT T AH G B OW T
TURBINE T ER B AY N; TURN T ER N; TWENTY T W EH N T IY; TWO T UW; VALVE V AE L V; VOLTAGE V OW L T IH JH
VOLTS V OW L T S; WAIT W EY T; WATER W AO T ER; WEIGH W EY; WEST W EH S T; WHAT W AH T; WHICH W IH CH
WORKSHOP W ER K SH AA P; YELLOW Y EH L OW
"""

NEW_SENTENCE = "SET THE SALINITY TO THIRTY FIVE PERCENT TONIGHT"

TASK = CommandTask(PATTERNS, CLASSES, PRONUNCIATIONS, NEW_SENTENCE)


def prepare(corpus_dir: Path | None, output_dir: Path) -> None:
    """Write ``train``, ``dev``, ``test``, the lexicon, the word pairs and ``new.wav`` with ``new.txt``.

    Nothing is read; `corpus_dir` is an argument because every recipe has it.
    """
    write_demo_corpus(TASK, output_dir)


# No warped copies: half the time, since users wait for the demo.
RECIPE = Recipe(
    prepare,
    ExperimentConfig(grammars=("loop", "word-pair"), hybrid=HybridConfig(warps=())),
    needs_corpus=False,
    is_synthetic=True,
)
