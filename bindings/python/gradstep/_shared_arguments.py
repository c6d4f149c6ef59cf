# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments that rules share."""

ARGUMENTS = """
    parameters: arrays whose shapes and dtypes count; step() is given them anew.
    names: one str each; None = "param.0", "param.1", ...; saved state and stochastic rounding go by them.
    groups: one int >= 0 each; None = all in group 0; every group has its own hyper-parameters, see set_value().
    context: whose threads work; None = default_context().
"""
