# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers with units, as a command line takes them and a table shows them."""

import argparse
import re
from collections.abc import Sequence

_COUNTS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BANDWIDTHS = {
    **{prefix + unit: scale for prefix, scale in _PREFIXES.items() for unit in ("B/s", "B")},
    **{prefix + unit: scale / 8 for prefix, scale in _PREFIXES.items() for unit in ("bit/s", "bit", "bps")},
    **{f"{prefix}iB{end}": 1024.0**power for power, prefix in enumerate("KMGT", 1) for end in ("/s", "")},
    "": 1.0,
}
_TIMES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def _quantity(text: str, units: dict[str, float], expected: str) -> float:
    match = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\s\d]*)\s*", text)
    if match is None or match[2] not in units:
        raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
    return float(match[1]) * units[match[2]]


def parse_bandwidth(text: str) -> float:
    """Bytes a second of "1Gbit/s", "125MB/s", "125e6"."""
    return _quantity(text, _BANDWIDTHS, "bytes a second, or a number with a unit such as 1Gbit/s or 125MB/s")


def parse_time(text: str) -> float:
    """Seconds of "5ms", "50us", "0.005"."""
    return _quantity(text, _TIMES, "seconds, or a number with a unit such as 5ms or 50us")


def parse_count(text: str) -> int:
    """A whole number: "1000000", "1e6", "1M", "7B"."""
    value = _quantity(text, _COUNTS, "a whole number, as 1000000, 1e6, 1M or 7B")
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}")
    return int(value)


def parse_number(text: str) -> float:
    """A number: "0.01"."""
    return _quantity(text, {"": 1.0}, "a number")


def _scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    scale, name = next(((scale, name) for scale, name in units if abs(value) >= scale), units[-1])
    return f"{value / scale:.3g} {name}" if abs(value) < 999.5 * scale else f"{value / scale:.0f} {name}"


def format_time(seconds: float) -> str:
    return _scaled(seconds, [(1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")]) if seconds else "0 s"


def format_bytes(count: float) -> str:
    return _scaled(count, [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")]) if count else "0 B"


def format_bandwidth(bandwidth: float) -> str:
    return _scaled(bandwidth * 8, [(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")])
