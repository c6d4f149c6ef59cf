# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments that rules share."""

ARGUMENTS = """
    parameters: arrays whose shapes and dtypes count; step() is given them anew. Dicts, lists and tuples of arrays, and
        of each other, are a tree: its keys are the names, as "layers.0.weight", and step() goes by them.
    names: one str each; None = "param.0", "param.1", ...; saved state and stochastic rounding go by them.
    groups: one int >= 0 each, or a dict of them by name; None = all in group 0; every group has its own
        hyper-parameters, see set_value().
    context: whose threads work; None = default_context().
"""
