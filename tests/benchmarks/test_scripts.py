"""The benchmark scripts still fit the code they measure: each imports all it uses and explains itself."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = (
    "an4_decoding",
    "an4_folds",
    "an4_training",
    "bill_of_materials",
    "calibration",
    "compact_kernel",
    "compare_checkouts",
    "defaults",
    "discriminants",
    "discriminants_choice",
    "disturbances",
    "emission",
    "faults",
    "fsdd",
    "fuzz",
    "growth",
    "house",
    "keywords",
    "large_vocabulary",
    "load",
    "long_recordings",
    "outlook",
    "pair_training",
    "plan",
    "pronouncing",
    "report_page",
    "pool_choice",
    "rivals",
    "rm1_overlap",
    "rm1_sized",
    "sclite",
    "sparsity_figure",
    "state_calibration",
    "stopping",
    "suspicious",
    "table_4_2",
    "training_memory",
    "tuning",
)
FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_shows_its_help(name):
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", "--help"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "--out" in done.stdout
