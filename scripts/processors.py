# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What kind of processor this machine has."""

import platform
from pathlib import Path

# /proc/cpuinfo does not name them: vendor, family, and a range of models.
KINDS = [
    ("AuthenticAMD", 23, range(0x30, 0x100), "AMD Zen 2"),
    ("AuthenticAMD", 25, [*range(0x00, 0x10), *range(0x20, 0x60)], "AMD Zen 3"),
    ("AuthenticAMD", 25, [*range(0x10, 0x20), *range(0x60, 0xB0)], "AMD Zen 4"),
    ("AuthenticAMD", 26, range(0x100), "AMD Zen 5"),
    ("GenuineIntel", 6, [0x55], "Intel Skylake or Cascade Lake"),
    ("GenuineIntel", 6, [0x6A, 0x6C], "Intel Ice Lake"),
    ("GenuineIntel", 6, [0x8F], "Intel Sapphire Rapids"),
    ("GenuineIntel", 6, [0xCF], "Intel Emerald Rapids"),
]


def kind() -> str:
    """Its kind where it is known, else its name as lscpu says it."""
    lines = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    values = {key.strip(): value.strip() for key, value in reversed(lines)}  # of the first processor
    for vendor, family, models, name in KINDS:
        if values.get("vendor_id") == vendor and int(values["cpu family"]) == family and int(values["model"]) in models:
            return name
    return values.get("model name", values.get("Model", platform.machine()))
