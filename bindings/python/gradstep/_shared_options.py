# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The options and arguments that rules share."""

from typing import TypedDict


class SharedOptions(TypedDict, total=False):
    """What every rule but Shampoo takes besides its own options."""

    maximize: bool
    master_weights: bool
    state_dtype: str
    stochastic_rounding: bool
    seed: int
    step_counting: str
    average_decay: float
    decay_mode: str
    peak_learning_rate: float
    trust_ratio: bool
    cautious_update: str
    cautious_decay: bool
    adaptive_clip: float
    adaptive_clip_epsilon: float
    adaptive_clip_units: str
    center_gradients: bool


ARGUMENTS = """
    parameters: arrays whose shapes and dtypes count; step() is given them anew.
    names: one str each; None = "param.0", "param.1", ...; saved state and stochastic rounding go by them.
    groups: one int >= 0 each; None = all in group 0; every group has its own hyper-parameters, see set_value().
    context: whose threads work; None = default_context().
"""
