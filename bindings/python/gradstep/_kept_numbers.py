# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by scripts/generate from src/rules.

NUMBERS = frozenset(
    {
        "average_count",
        "d",
        "d_max",
        "d_numerator",
        "d_steps",
        "eta",
        "largest_rate",
        "squared_norm",
        "step",
        "weight_sum",
    }
)
"""The states that are one number for each parameter."""
