# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The descriptions of the rules in src/rules, which print_rules.cpp prints."""

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from generators.places import ROOT

Rule = dict[str, Any]


@functools.cache
def read_rules() -> list[Rule]:
    """In the order of the list. The C++ compiler is CXX or c++."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "print_rules"
        source = Path(__file__).parent / "print_rules.cpp"
        compiler = os.environ.get("CXX", "c++")
        subprocess.run([compiler, "-std=c++20", f"-I{ROOT / 'src'}", source, "-o", program], check=True)
        rules: list[Rule] = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    return rules
