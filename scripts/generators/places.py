# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Where the generators read and write, and the formatter of what they write in C and C++."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include" / "c_api"


def formatted(text: str, output: Path) -> str:
    """C or C++ by clang-format, as a file at `output` would be."""
    command = ["clang-format-19", f"--assume-filename={output}", "--style=file"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True, cwd=ROOT).stdout
