# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The C API as SWIG shows it: structs and constants from ``core``, functions straight from the extension module.

SWIG wraps each function in a Python function that only passes its arguments on; taking them from the extension itself
saves a Python call each time.
"""

from gradstep._core import *  # noqa: F403  # type: ignore[import-not-found]
from gradstep.core import *  # noqa: F403
