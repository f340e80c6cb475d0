"""A plan as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from asr.files import as_plain
from asr.planning.plan import ModelPlan, Plan
from asr.planning.work import GROUPS
from asr.progress import duration

_LABELS = {"task": "task and grammars", "alignment": "alignment, checks", "missing words": "missing words"}
_WIDTH, _LABEL, _COLUMN = 100, 24, 19
_WORTHWHILE = 0.03  # share of the time that a change must save to be named; by feel


def plan_json(plan: Plan) -> Any:
    """Return a plan in a form that JSON can hold."""
    amounts = {split: amount._asdict() for split, amount in plan.amounts.items()}
    return {**as_plain(plan), "amounts": amounts}


def plan_table(plan: Plan) -> str:
    """Return a plan as tables and sentences of at most 100 columns."""
    columns = [*plan.models, *plan.others]
    a_block = (_WIDTH - _LABEL) // _COLUMN
    lines = [*_amounts(plan), ""]
    for first in range(0, len(columns), a_block):
        lines += [*_block(plan, columns[first : first + a_block]), ""]
    said = [f"{each.model}: {each.what}" for each in plan.models if each.what]
    said += [_dominates(each) for each in plan.models]
    if len(plan.models) > 1:
        said.append(f"all together, what they have in common once: {duration(plan.together_s)} of CPU time")
    said += [f"not in these numbers: {each.not_predicted}" for each in plan.models if each.not_predicted]
    lines += [line for text in said for line in wrap(text, _WIDTH, subsequent_indent="  ")]
    return "\n".join([*lines, *_advice(plan), "", *_steps(plan)])


def _steps(plan: Plan) -> Iterator[str]:
    """Yield the steps in order: done or to do, how long each takes, and from what."""
    yield "the steps, in order, with their CPU time:"
    width = max((len(step["name"]) for step in plan.steps), default=0)
    for step in plan.steps:
        state = "done" if step["done"] else "to do"
        made_from = [name for name in step["from"] if name not in ("task", "words")] or step["from"]
        source = f"  from {', '.join(made_from)}" if made_from else ""
        is_told = step["why"] and step["why"] != "not made yet" and not step["why"].startswith("made from")
        why = f" ({step['why']})" if is_told else ""
        text = f"{state:<5}  {step['name']:<{width}} {duration(step['cpu_s']):>12}{source}{why}"
        yield from wrap(text, _WIDTH, subsequent_indent=" " * (width + 22), break_on_hyphens=False)
    done = sum(step["cpu_s"] for step in plan.steps if step["done"])
    if done:
        yield f"of {duration(plan.together_s)} of CPU time {duration(done)} are done"


def _amounts(plan: Plan) -> Iterator[str]:
    """Yield how much there is to learn from."""
    head = f"{'hours':>9}{'utterances':>12}{'speakers':>10}{'words (different)':>24}"
    yield f"{'recipe ' + plan.recipe:<{_LABEL}}{head}"
    for split, amount in plan.amounts.items():
        words, speakers = (
            f"{amount.n_words:,} ({amount.n_different:,})",
            f"{amount.n_speakers:,}" if amount.n_speakers else "?",
        )
        yield (f"{split:<{_LABEL}}{amount.hours:>9.2f}{amount.n_utterances:>12,}{speakers:>10}{words:>24}")
    missing = f" and {plan.missing_words:,} that it lacks" if plan.missing_words else ""
    yield f"lexicon: {plan.lexicon:,} words{missing}, {plan.phones} phones, {plan.monophone_states} states"
    yield f"grammars: {', '.join(plan.grammars)}"


def _block(plan: Plan, columns: Sequence[ModelPlan]) -> Iterator[str]:
    """Yield the rows of some models."""
    rows: list[tuple[str, list[str]]] = [
        ("", [_name(m) for m in columns]),
        ("states", [f"{m.states:,}" for m in columns]),
        ("pairs, of all", [f"{m.pairs:,} of {m.all_pairs:,}" if m.pairs else "–" for m in columns]),
        ("frames a pair", [f"{m.frames_a_pair:,}" if m.pairs else "–" for m in columns]),
        ("CPU time", [duration(m.cpu_s) for m in columns]),
        *_of_groups(columns),
        *_wall(plan, columns),
        ("peak memory", [_megabytes(m.peak_mb) for m in columns]),
        ("experiment on disk", [_megabytes(m.disk_mb) for m in columns]),
        ("model", [_megabytes(m.model_mb) for m in columns]),
        ("decoding, × real time", [f"{m.decoding_x:.3f}" for m in columns]),
    ]
    for label, cells in rows:
        yield f"{label:<{_LABEL}}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)


def _of_groups(columns: Sequence[ModelPlan]) -> Iterator[tuple[str, list[str]]]:
    """Yield the CPU time of each group of stages that any model has."""
    for group in GROUPS:
        if any(m.groups[group] for m in columns):
            yield f"  {_LABELS.get(group, group)}", [_seconds(m.groups[group]) for m in columns]


def _wall(plan: Plan, columns: Sequence[ModelPlan]) -> Iterator[tuple[str, list[str]]]:
    """Yield the wall time with each number of workers."""
    for n in columns[0].wall_s:
        here = " (here)" if n == plan.workers else ""
        yield f"wall, {n} worker{'s' * (n > 1)}{here}", [duration(m.wall_s[n]) for m in columns]


def _name(model: ModelPlan) -> str:
    """Return what stands above a column; of a long name the end."""
    name = model.model if model.n_centers is None else f"{model.model}, {model.n_centers} centres"
    return name if len(name) < _COLUMN else "…" + name[2 - _COLUMN :]


def _seconds(seconds: float) -> str:
    return duration(seconds) if seconds else "–"


def _megabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes:.3g} MB"


def _dominates(model: ModelPlan) -> str:
    """Return what takes most of a model's time."""
    first, second = sorted(model.groups, key=lambda g: -model.groups[g])[:2]
    total = max(model.cpu_s, 1e-9)
    shares = [f"{_LABELS.get(g, g)} {100 * model.groups[g] / total:.0f} %" for g in (first, second)]
    return f"{model.model}: of {duration(model.cpu_s)} of CPU time {shares[0]}, {shares[1]}"


def _advice(plan: Plan) -> Iterator[str]:
    """Yield what to do if the costliest model costs too much, what saves most first."""
    model = max(plan.models, key=lambda m: m.cpu_s)
    saved = {f"--set {setting}": seconds for setting, seconds in model.savings.items()}
    for other in plan.others:
        if other.model == model.model and (other.n_centers or 0) < (model.n_centers or 0):
            saved[f"--set {other.centers_option}={other.n_centers}"] = model.cpu_s - other.cpu_s
    cheapest = min(plan.models, key=lambda m: m.cpu_s)
    saved[f"--model {cheapest.model}"] = plan.together_s - cheapest.cpu_s
    worthwhile = {how: s for how, s in saved.items() if s > _WORTHWHILE * plan.together_s}
    if worthwhile:
        yield "too much? Of the CPU time of all, these would save:"
    for how, seconds in sorted(worthwhile.items(), key=lambda item: -item[1]):
        yield f"  {how:<38} {duration(seconds)}"
