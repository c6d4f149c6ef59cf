# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A timeline of what this process does, and the timelines of several ranks as one.

usage: python -m gradstep.trace FILE... -o MERGED

Each FILE is one rank's, as start() or the environment variable GRADSTEP_TRACE writes it: Trace Event JSON, which
chrome://tracing and https://ui.perfetto.dev show. In MERGED every rank is a process, and all times are those of the
first file's clock: files of one machine share a clock. Between machines a collective that both have made ends at the
same time, as nearly as a message travels; the offset is the median over all of them.
"""

import argparse
import json
import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gradstep import _native
from gradstep.errors import InvalidArgument

Event = dict[str, Any]

_COLLECTIVES = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "barrier", "exchange", "all_to_all"}


def start(path: "str | os.PathLike[str] | None") -> None:
    """Writes what this process does from here on into a new file at `path`; None = as ranges of NVTX alone."""
    _native.trace_start(None if path is None else os.fspath(path))


def stop() -> None:
    """Completes the file. Nothing if no trace is on."""
    _native.trace_stop()


def read(path: "str | os.PathLike[str]") -> list[Event]:
    """The events of one file, also of one that its process could not complete."""
    text = Path(path).read_text()
    try:
        events: list[Event] = json.loads(text)
    except json.JSONDecodeError:
        whole = text[: text.rfind("\n")] if not text.endswith("}") else text
        try:
            events = json.loads(whole.rstrip().rstrip(",") + "]")
        except json.JSONDecodeError as error:
            raise InvalidArgument(f"{os.fspath(path)}: is no trace: {error}") from error
    return events


def merge(traces: Sequence[Iterable[Event]]) -> list[Event]:
    """The events of several ranks, each a process of the result, by the first one's clock, in the order of time."""
    ranks = [list(trace) for trace in traces]
    numbers = [_rank(events, position) for position, events in enumerate(ranks)]
    if len(set(numbers)) < len(numbers):
        raise InvalidArgument(f"traces: are of ranks {numbers}, expected different ones")
    merged: list[Event] = []
    for number, events, offset in zip(numbers, ranks, _offsets(ranks), strict=True):
        for event in events:
            moved = {**event, "pid": number}
            if "ts" in event:
                moved["ts"] = round(event["ts"] + offset, 3)
            merged.append(moved)
    return sorted(merged, key=lambda event: event.get("ts", float("-inf")))


def _metadata(events: list[Event], name: str) -> dict[str, Any]:
    """The last that was said."""
    said = [event["args"] for event in events if event["ph"] == "M" and event["name"] == name]
    return said[-1] if said else {}


def _rank(events: list[Event], position: int) -> int:
    return int(_metadata(events, "rank").get("rank", position))


def _offsets(ranks: list[list[Event]]) -> list[float]:
    """What to add to each rank's times. Raises InvalidArgument where nothing joins two clocks."""
    clocks = [_metadata(events, "clock").get("name") or position for position, events in enumerate(ranks)]
    ends = [_ends(events) for events in ranks]
    offsets = []
    for position, clock in enumerate(clocks):
        if clock == clocks[0]:
            offsets.append(0.0)
            continue
        of_clock = [k for k, other in enumerate(clocks) if other == clock]
        of_first = [k for k, other in enumerate(clocks) if other == clocks[0]]
        differences = [
            ends[first][call] - ends[own][call]
            for first in of_first
            for own in of_clock
            for call in ends[first].keys() & ends[own].keys()
        ]
        if not differences:
            raise InvalidArgument(
                f"traces[{position}]: has another clock than traces[0], and no collective in common with it"
            )
        offsets.append(statistics.median(differences))
    return offsets


def _ends(events: list[Event]) -> dict[tuple[Any, ...], float]:
    """When each collective ended that other ranks have made, too."""
    calls = (event for event in events if event.get("cat") == "comm" and event["name"] in _COLLECTIVES)
    return {
        (event["name"], event["args"]["comm"], event["args"]["call"]): event["ts"] + event["dur"] for event in calls
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m gradstep.trace", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="one rank's timeline")
    parser.add_argument("-o", "--output", required=True, metavar="MERGED", help="the merged timeline")
    asked = parser.parse_args(arguments)
    events = merge([read(path) for path in asked.files])
    lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    Path(asked.output).write_text(f"[{lines}\n]\n")


if __name__ == "__main__":
    main()
