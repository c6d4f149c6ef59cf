# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The C API as SWIG shows it: structs and constants from ``core``, functions straight from the extension module.

SWIG wraps each function in a Python function that only passes its arguments on. The extension's own functions save a
Python call each time; and they work until the interpreter has ended, when ``core`` has lost its globals and handles may
still be destroyed. So the second line takes the place of what the first one brought.
"""

from gradstep.core import *  # noqa: F403

# isort: split
from gradstep._core import *  # noqa: F403  # type: ignore[import-not-found]

# isort: split
from gradstep._core import ABI_VERSION, abi_version


def _serves(library: int, program: int) -> bool:
    """Whether a library with one ABI version has what a program was compiled for with another: see docs/abi.md."""
    major, library_major = program >> 16, library >> 16
    return library == program or (major > 0 and library_major == major and library > program)


def _text(version: int) -> str:
    return f"{version >> 16}.{version & 0xFFFF}"


if not _serves(abi_version(), ABI_VERSION):  # before any other function of the library is called
    raise ImportError(
        f"the libgradstep that was loaded has ABI version {_text(abi_version())}, and this package was built for "
        f"{_text(ABI_VERSION)}: another installation of gradstep comes first (LD_LIBRARY_PATH, LD_PRELOAD, or a "
        "program that has loaded its own)"
    )
