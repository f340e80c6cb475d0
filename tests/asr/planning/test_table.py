"""Plans as tables, against rows written by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from asr.corpora.amounts import Amount
from asr.planning.plan import ModelPlan, Plan
from asr.planning.table import plan_json, plan_table
from asr.planning.work import GROUPS, Group


def seconds_of(**named: float) -> dict[Group, float]:
    """Return the seconds of all groups, 0 of those that are not named."""
    return {group: named.get(group, 0.0) for group in GROUPS}


GMM = ModelPlan(
    *("gmm", None, 18, 0, 0, 0, {"task": 1.0, "gmm-none-1": 9.0}, seconds_of(task=1.0, GMM=9.0)),
    *(10.0, {1: 10.0, 2: 6.0, 3: 5.0}, 300.0, 12.0, 0.5, 0.013, {"retrain_with_dev=false": 4.0}),
)
POOLS = ModelPlan(
    *("pools", 100, 1200, 719400, 5000, 2500, {"task": 1.0, "hybrid-pools": 99.0}),
    *(seconds_of(task=1.0, discriminants=99.0), 100.0, {1: 100.0, 2: 60.0, 3: 50.0}),
    *(1500.0, 2000.0, 25.25, 0.25, {"retrain_with_dev=false": 40.0, "grammars=bigram": 3.0}),
    "pools.n_centers",
    what="pairs of states share up to 100 centres a state",
)
FEWER = replace(POOLS, n_centers=50, cpu_s=60.0)
MORE = replace(POOLS, n_centers=200, cpu_s=200.0)
AMOUNTS = {"train": Amount(1.5, 6, 12345, 400, 1030), "dev": Amount(0.25, 1, 90, 40, 9)}
PLAN = Plan(
    *("folder", "best", AMOUNTS, 400, 0, 5, 18, ("loop", "bigram"), 3),
    *((GMM, POOLS), (FEWER, MORE), 109.0, {"features": 1e-4}),
    (
        {"name": "task", "from": [], "done": True, "why": "", "cpu_s": 1.0},
        {"name": "gmm-1", "from": ["task"], "done": False, "why": "code changed", "cpu_s": 9.0},
        {"name": "pools", "from": ["task", "gmm-1"], "done": False, "why": "made from gmm-1", "cpu_s": 99.0},
    ),
)


def row(plan: Plan, label: str) -> list[str]:
    """Return the cells of the first row with a label."""
    line = next(line for line in plan_table(plan).splitlines() if line.startswith(label))
    cells = line[24:]
    return [cells[start : start + 19].strip() for start in range(0, len(cells), 19)]


def test_amounts() -> None:
    lines = plan_table(PLAN).splitlines()
    assert lines[0].split() == ["recipe", "folder", "hours", "utterances", "speakers", "words", "(different)"]
    for line, (split, *cells) in zip(
        lines[1:3],
        [("train", "1.50", "1,030", "6", "12,345", "(400)"), ("dev", "0.25", "9", "1", "90", "(40)")],
        strict=True,
    ):
        assert line.split() == [split, *cells]
    assert lines[3:5] == ["lexicon: 400 words, 5 phones, 18 states", "grammars: loop, bigram"]
    missing = plan_table(replace(PLAN, missing_words=1234)).splitlines()[3]
    assert missing == "lexicon: 400 words and 1,234 that it lacks, 5 phones, 18 states"


@pytest.mark.parametrize(
    ("label", "cells"),
    [
        ("states", ["18", "1,200", "1,200", "1,200"]),
        ("pairs, of all", ["–", *["5,000 of 719,400"] * 3]),
        ("frames a pair", ["–", *["2,500"] * 3]),
        ("CPU time", ["10 s", "1 min 40 s", "1 min 0 s", "3 min 20 s"]),
        ("  task and grammars", ["1.0 s"] * 4),
        ("  GMM", ["9.0 s", "–", "–", "–"]),
        ("  discriminants", ["–", *["1 min 39 s"] * 3]),
        ("wall, 1 worker  ", ["10 s", *["1 min 40 s"] * 3]),
        ("wall, 3 workers (here)", ["5.0 s", *["50 s"] * 3]),
        ("peak memory", ["300 MB", *["1.5 GB"] * 3]),
        ("experiment on disk", ["12 MB", *["2.0 GB"] * 3]),
        ("model", ["0.5 MB", *["25.2 MB"] * 3]),
        ("decoding, × real time", ["0.013", *["0.250"] * 3]),
    ],
)
def test_rows(label: str, cells: list[str]) -> None:
    assert row(PLAN, label) == cells


def test_groups_of_no_model_have_no_row() -> None:
    labels = [line[:24].rstrip() for line in plan_table(PLAN).splitlines()]
    shown = [label for label in labels if re.fullmatch(r"  \w[\w ]*", label)]
    assert shown == ["  task and grammars", "  GMM", "  discriminants"]


def test_four_columns_a_block() -> None:
    lines = plan_table(replace(PLAN, others=(FEWER, MORE, replace(POOLS, n_centers=300)))).splitlines()
    heads = [line[24:] for line in lines if line.startswith(" " * 24)]
    assert [[head[at : at + 19].strip() for at in range(0, len(head), 19)] for head in heads] == [
        ["gmm", "pools, 100 centres", "pools, 50 centres", "pools, 200 centres"],
        ["pools, 300 centres"],
    ]


def test_what_dominates_and_what_saves() -> None:
    lines = plan_table(PLAN).splitlines()
    start = lines.index("gmm: of 10 s of CPU time GMM 90 %, task and grammars 10 %")
    # 3 s of the grammars are less than 3 % of 109 s; more centres save nothing
    assert lines[start:] == [
        "gmm: of 10 s of CPU time GMM 90 %, task and grammars 10 %",
        "pools: of 1 min 40 s of CPU time discriminants 99 %, task and grammars 1 %",
        "all together, what they have in common once: 1 min 49 s of CPU time",
        "too much? Of the CPU time of all, these would save:",
        f"  {'--model gmm':<38} 1 min 39 s",
        f"  {'--set retrain_with_dev=false':<38} 40 s",
        f"  {'--set pools.n_centers=50':<38} 40 s",
        "",
        "the steps, in order, with their CPU time:",
        f"done   task  {'1.0 s':>12}",
        f"to do  gmm-1 {'9.0 s':>12}  from task (code changed)",
        f"to do  pools {'1 min 39 s':>12}  from gmm-1",
        "of 1 min 49 s of CPU time 1.0 s are done",
    ]


def test_nothing_to_save() -> None:
    alone = replace(PLAN, models=(replace(GMM, savings={}),), others=(), together_s=10.0)
    text = "gmm: of 10 s of CPU time GMM 90 %, task and grammars 10 %\n\nthe steps, in order"
    assert text in plan_table(alone)


def test_a_long_name_and_what_nobody_knows() -> None:
    name = "sklearn:linear_model.LogisticRegression"
    long = replace(GMM, model=name, not_predicted=f"training and scores of {name}, " + "x " * 40)
    lines = plan_table(replace(PLAN, models=(long,), others=())).splitlines()
    assert max(map(len, lines)) <= 100
    assert any(line.endswith(" …ogisticRegression") for line in lines)
    (said,) = [n for n, line in enumerate(lines) if line.startswith("not in these numbers: training and")]
    assert lines[said + 1].startswith("  x x")


def test_json() -> None:
    record = json.loads(json.dumps(plan_json(PLAN)))
    assert record["amounts"]["dev"] == AMOUNTS["dev"]._asdict()
    assert (record["recipe"], record["grammars"], record["together_s"]) == ("folder", ["loop", "bigram"], 109)
    assert [other["n_centers"] for other in record["others"]] == [50, 200]
    assert record["models"][0]["wall_s"] == {"1": 10.0, "2": 6.0, "3": 5.0}
    assert record["models"][1]["groups"]["discriminants"] == 99.0
