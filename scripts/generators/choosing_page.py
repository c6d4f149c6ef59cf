# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""docs/choosing_a_rule.md and its two plots, from the descriptions in src/rules and a record of measurements."""

import json
import statistics
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from generators.places import ROOT
from generators.rules import Rule, read_rules, shown, wrapped
from generators.rules_page import STORAGE

RECORD = ROOT / "benchmarks" / "recorded" / "choosing_a_rule.json"
PAGE = ROOT / "docs" / "choosing_a_rule.md"
IMAGES = ROOT / "docs" / "images"
# What of each rule has to be found out for a model, beside a schedule. tests/python/test_choosing_page.py compares it
# with the list of rules.
TUNED = {
    "sgd": "`learning_rate`, over orders of magnitude; `momentum`",
    "rmsprop": "`learning_rate`; `epsilon` where gradients are small",
    "adagrad": "`learning_rate`: steps only become shorter",
    "adam": "`learning_rate`, `weight_decay`; `beta2` for large batches",
    "lion": "`learning_rate`, smaller than Adam's; `weight_decay`, larger by as much",
    "lamb": "`learning_rate`, which goes with the square root of the batch; `weight_decay`",
    "muon": "`learning_rate` by `step_scale`; a rule beside it for what is no matrix",
    "signum": "`learning_rate`, as small as Lion's; `momentum`",
    "nadam": "as adam",
    "radam": "as adam, without a warm-up",
    "adamax": "as adam; a larger `learning_rate`",
    "adadelta": "`rho`; a `learning_rate` near 1",
    "rprop": "little; for whole batches alone, as it goes by signs",
    "adabelief": "as adam; `epsilon` matters more",
    "yogi": "as adam, with a larger `learning_rate` and `epsilon`",
    "adan": "`learning_rate`, larger than Adam's; three betas",
    "ademamix": "as adam; `beta3` and `alpha` by the length of the run",
    "adopt": "as adam; `beta2` may stay",
    "laprop": "as adam; betas do not depend on each other",
    "dion": "`learning_rate`; `rank_fraction`, down to what still learns as fast; a rule beside it, as muon",
    "adafactor": "`learning_rate`, beside the length of p; `clip_threshold`",
    "asgd": "`learning_rate`; `averaging_start`, after which the average is what to evaluate",
    "lars": "`learning_rate`, near 1 and with a warm-up; `trust_coefficient`",
    "novograd": "`learning_rate`, larger than Adam's; `beta1`",
    "mars": "as adam; `gamma`",
    "sophia": "`learning_rate`, `gamma`; the host estimates the curvature every few steps",
    "schedule_free": "`learning_rate`, larger than Adam's, and no schedule but `warmup_steps`",
    "prodigy": "nothing at first: `learning_rate` 1, with a schedule; `d_factor` where steps are too small",
    "dadapt_adam": "nothing at first: `learning_rate` 1, with a schedule",
}
COLORS = (
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
)
HEAD = """\
# Choosing a rule

<!-- Written by scripts/generate from src/rules and benchmarks/recorded/choosing_a_rule.json. -->

This page has what each rule costs and what has to be tuned. It cannot say which one trains your model best.
[rules.md](rules.md) has the formula of each, [shampoo.md](shampoo.md) those that keep matrices.

- **There is a recipe** for your model, or one like it: take its rule and its numbers. A new rule costs new runs.
- **There is none**: `adamw` with a warm-up and a cosine is what most others are compared with.
- **Memory decides**: one state instead of two (`lion`, `signum`, `muon`, `sgd` with momentum), or `state_dtype` bf16
  or int8 of the rule that you have, whose numbers stay as they are.
- **Updates are expensive**, because batches are large or gradients take long: `muon` for matrices with `adam` for the
  rest ([rules by group](handles/optimizer.md#by-name)), or [Shampoo and SOAP](shampoo.md) in AdamW's place. What a step
  costs more must be less than what it saves. `dion` takes a part of low rank of what `muon` orthogonalizes.
- **Something goes wrong**: early steps (`radam`, or a longer warm-up), rare large gradients (clipping, `adopt`),
  batches of another size (`lamb`). A modifier of every rule (`cautious_update`, `adaptive_clip`, `average_decay`) is
  a smaller change than another rule.
"""


def default_states(rule: Rule) -> list[dict[str, Any]]:
    """The states that it has by its defaults. What the host must give counts as given."""
    there = [0 if each["initial"] == 0 else 1 for each in rule["fields"]]
    chosen = [each["initial"] for each in rule["choices"]]
    for choices, are_there, states in rule["cases"]:
        # A rule of one variant lists no choices but the first ones.
        if are_there == there and all(a in (0, b) for a, b in zip(choices, chosen, strict=True)):
            found = states
            if choices == chosen:
                break
    return [state for place, state in enumerate(rule["states"]) if found >> place & 1]


# Rules whose states are those of whole tensors, in every state_dtype.
OF_WHOLE_TENSORS = {"adafactor": "factors", "dion": "4 + factors"}


def size_of(rule: Rule, dtype: str) -> str:
    """Bytes of state for an element, "factors" where rows and columns have it."""
    states = default_states(rule)
    if rule["name"] in OF_WHOLE_TENSORS:
        return OF_WHOLE_TENSORS[rule["name"]]
    return f"{sum(STORAGE['f32' if state['is_exact'] else dtype] for state in states):.3g}"


def all_rules(rules: list[Rule], costs: dict[str, dict[str, float]]) -> Iterator[str]:
    yield "| rule | f32 | bf16 | int8 | step | to be tuned |"
    yield "|---|---|---|---|---|---|"
    for rule in rules:
        name = rule["name"]
        sizes = " | ".join(size_of(rule, dtype) for dtype in ("f32", "bf16", "int8"))
        step = f"{costs[name]['best']:.3g}" if name in costs else "not measured"
        yield f"| [`{name}`](rules.md#{name}) | {sizes} | {step} | {TUNED.get(name, 'not written')} |"


def written(options: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` {shown(value)}" for name, value in options.items()) or "defaults"


def reached(run: dict[str, Any], goal: float) -> tuple[str, str]:
    """The updates and the seconds after which a loss is no larger than the goal."""
    for updates, loss, seconds in zip(run["updates"], run["losses"], run["seconds"], strict=True):
        if loss <= goal:
            return str(updates), f"{seconds:.2f}"
    return "never", "never"


def trained(runs: dict[str, dict[str, Any]]) -> Iterator[str]:
    goal = runs["adam"]["losses"][-1]
    yield f"| rule | options | rate | loss | updates to {goal:.2f} | seconds to it |"
    yield "|---|---|---|---|---|---|"
    for name, run in sorted(runs.items(), key=lambda each: each[1]["losses"][-1]):
        updates, seconds = reached(run, goal)
        cells = (f"`{name}`", written(run["options"]), shown(run["rate"]), f"{run['losses'][-1]:.3f}", updates, seconds)
        yield f"| {' | '.join(cells)} |"


def eight_bit(found: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    yield "| rule | f32 | int8 | int8 - f32, mean | of each seed |"
    yield "|---|---|---|---|---|"
    for name, runs in found.items():
        pairs = list(zip(runs["native"], runs["int8"], strict=True))
        means = [statistics.mean(losses) for losses in (runs["native"], runs["int8"])]
        each = ", ".join(f"{b - a:+.3f}" for a, b in pairs)
        yield f"| `{name}` | {means[0]:.3f} | {means[1]:.3f} | {means[1] - means[0]:+.3f} | {each} |"


def ticks(low: float, high: float) -> list[float]:
    """Some four to eight round numbers."""
    step = next(s * 10**e for e in range(-3, 6) for s in (1, 2, 5) if (high - low) / (s * 10**e) <= 8)
    first = int(low / step) + (low > 0)
    return [round(step * i, 6) for i in range(first, int(high / step) + 1)]


def plot(title: str, along: str, unit: str, runs: dict[str, dict[str, Any]], right: int = 140) -> str:
    """Loss by updates or seconds, a line for each rule, named in the order of their last losses; names take `right`."""
    width, height, left, top, bottom = 720, 400, 50, 34, 46
    names = sorted(runs, key=lambda name: runs[name]["losses"][-1])
    largest = max(run[along][-1] for run in runs.values())
    losses = [loss for run in runs.values() for loss in run["losses"][1:]]
    low, high = min(losses) - 0.05, min(max(losses), 4.0)

    def at(x: float, loss: float) -> str:
        across = left + (width - left - right) * x / largest
        down = top + (height - top - bottom) * (high - min(loss, high)) / (high - low)
        return f"{across:.1f} {down:.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="{left}" y="20" fill="#24292f">{escape(title)}</text>',
    ]
    for loss in ticks(low, high):
        _, down = at(0, loss).split()
        lines.append(f'<path d="M{left} {down}H{width - right}" stroke="#d0d7de"/>')
        lines.append(f'<text x="{left - 6}" y="{float(down) + 4:.1f}" fill="#57606a" text-anchor="end">{loss:g}</text>')
    for x in ticks(0, largest):
        across, _ = at(x, low).split()
        lines.append(f'<text x="{across}" y="{height - bottom + 18}" fill="#57606a" text-anchor="middle">{x:g}</text>')
    lines.append(f'<text x="{width - right}" y="{height - 10}" fill="#57606a" text-anchor="end">{escape(unit)}</text>')
    for number, name in enumerate(names):
        run, color = runs[name], COLORS[list(runs).index(name) % len(COLORS)]
        points = "L".join(at(x, loss) for x, loss in zip(run[along], run["losses"], strict=True))
        lines.append(f'<path d="M{points}" stroke="{color}" stroke-width="1.8" fill="none"/>')
        y = top + 12 + 20 * number
        lines.append(f'<path d="M{width - right + 14} {y - 4}h18" stroke="{color}" stroke-width="3"/>')
        lines.append(f'<text x="{width - right + 38}" y="{y}" fill="#24292f">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def paragraph(text: str) -> str:
    return "\n".join(wrapped(" ".join(text.split()), 120))


def page(rules: list[Rule], record: dict[str, Any]) -> Iterator[str]:
    model, runs = record["model"], record["runs"]
    machine = f"""one thread of an {record["processor"]} with {record["processors"]} processors, shared with other work
        (a load of {record["load"]:g} on average)"""
    seeds = len(next(iter(record["eight_bit"].values()))["int8"])
    yield HEAD
    yield "## What each costs"
    yield ""
    yield paragraph(f"""Bytes of state for one element of a parameter by the rule's defaults, by
        `state_dtype`. **step**: how many times longer a step takes than `a += b` of as many bytes as it reads
        and writes, with state in f32. Best rounds, by the processor's time, on {machine}. Small differences are
        the machine's. `muon` multiplies matrices, and costs more the larger they are.""")
    yield ""
    yield from all_rules(rules, record["costs"])
    yield ""
    yield "## Ten of them on a small transformer"
    yield ""
    yield paragraph(f"""The transformer of [examples/python/transformer](../examples/python/transformer) with a width
        of {model["width"]} ({model["parameters"]} parameters), {model["updates"]} updates of {model["batch"]}
        x {model["length"]} characters, a linear warm-up, then a cosine; gradients are clipped to a norm of 1.
        Each rule has one seed, and of learning rates a factor of three apart the one whose neighbours are
        worse. `muon` steps the matrices of the layers, `adam` what is beside them. Loss is that of held-out
        text; seconds are the processor's, gradients included, on {machine}. So short a run of so small a
        model says how the rules start, and no more.""")
    yield ""
    yield "![Loss against updates, a line for each rule](images/rules_by_updates.svg)"
    yield ""
    yield "![Loss against seconds, a line for each rule](images/rules_by_seconds.svg)"
    yield ""
    yield from trained(runs)
    yield ""
    yield "## 8-bit state"
    yield ""
    yield paragraph(f"""The last losses of such runs with state in f32 and by `state_dtype="int8"`, means of
        {seeds} seeds. A seed has the same first weights and batches in both. With `muon` the
        momentum alone is coded, and not the state of the rule beside it.""")
    yield ""
    yield from eight_bit(record["eight_bit"])
    yield ""
    yield paragraph("""Renewed by `benchmarks/choosing_a_rule.py`, which needs PyTorch, and
        `scripts/generate`; with `--missing` it measures the steps of rules that are new.""")


def generated() -> dict[Path, str]:
    rules, record = read_rules(), json.loads(RECORD.read_text())
    runs = record["runs"]
    return {
        PAGE: "\n".join(page(rules, record)) + "\n",
        IMAGES / "rules_by_updates.svg": plot("Loss on held-out text by updates", "updates", "updates", runs),
        IMAGES / "rules_by_seconds.svg": plot(
            "Loss on held-out text by seconds of the processor", "seconds", "seconds", runs
        ),
    }
