# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: call_cost.py [--rounds N] [--results FILE]

What one call costs from each language: one step on one tensor of 16 elements. Runs the programs of call_cost_programs
that are built, in turns, and prints the best time of each, as many times C's in the same run, and the bytes that a call
takes from the language's memory.
"""

import argparse
import json
import os
import subprocess
from pathlib import Path

from timing import processor

ROOT = Path(__file__).resolve().parent.parent
STEPS = ("sgd_step", "adam_step")


def programs() -> dict[str, str]:
    """The shell command of each language."""
    lines = (ROOT / "benchmarks" / "call_cost_programs").read_text().splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


def environment() -> dict[str, str]:
    """Where the bindings find the library of the release build."""
    library, target = str(ROOT / "build" / "release" / "lib"), str(ROOT / "build" / "rust")
    paths = {
        "GRADSTEP_LIB": library,
        "GRADSTEP_LIB_DIR": library,
        "LD_LIBRARY_PATH": library,
        "CARGO_TARGET_DIR": target,
    }
    return {**os.environ, **paths}


def measure(command: str) -> dict | None:
    """What a program prints last; nothing where it or its toolchain is missing."""
    run = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)
    if run.returncode in (77, 126, 127):
        return None
    if run.returncode != 0:
        raise SystemExit(f"{command}: failed with status {run.returncode}")
    return json.loads(run.stdout.splitlines()[-1])


def best_of(found: dict, measured: dict) -> None:
    for step, timing in measured.items():
        if step not in found or timing["best_ns"] < found[step]["best_ns"]:
            found[step] = timing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    commands = programs()
    results: dict[str, dict] = {name: {} for name in commands}
    for _ in range(arguments.rounds):
        for name, command in list(commands.items()):
            if (measured := measure(command)) is None:
                print(f"{name}: not built here: {command}")
                del commands[name], results[name]
            else:
                best_of(results[name], measured)
    print(f"{'':<10}{'SGD, ns':>10}{'/ C':>7}{'Adam, ns':>10}{'/ C':>7}{'bytes':>8}")
    for name, found in results.items():
        row = f"{name:<10}"
        for step in STEPS:
            row += f"{found[step]['best_ns']:>10.0f}{found[step]['best_ns'] / results['c'][step]['best_ns']:>7.2f}"
        print(f"{row}{found['adam_step'].get('bytes', 0):>8.0f}")
    if arguments.results:
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        record = {"processor": processor(), "rounds": arguments.rounds, "languages": results}
        arguments.results.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
