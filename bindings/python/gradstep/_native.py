# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The C API as SWIG shows it: structs and constants from ``core``, functions straight from the extension module.

SWIG wraps each function in a Python function that only passes its arguments on. Those of the extension itself save a
Python call each time; and they work until the interpreter has ended, when ``core`` has lost its globals and handles
may still be destroyed. So the second line takes the place of what the first one brought.
"""

from gradstep.core import *  # noqa: F403

# isort: split
from gradstep._core import *  # noqa: F403  # type: ignore[import-not-found]
