# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What this build of gradstep is and can do."""

import json
import os
from collections.abc import Callable
from typing import Any

from gradstep import _native


def _sized(function: Callable[..., tuple[int, Any]], *arguments: Any) -> Any:
    """Calls a C function that writes text or bytes: once for the size, once for the content."""
    size, _ = function(*arguments, 0)
    return function(*arguments, size)[1]


def version() -> str:
    """The version of the loaded library."""
    return str(_native.version_string())


def build_info() -> dict[str, Any]:
    """Compiler, instruction sets, backends and communicator engines of the loaded library."""
    info: dict[str, Any] = json.loads(_sized(_native.build_info))
    return info


def backend_available(name: str) -> bool:
    """Whether a backend or engine ("cpu", "shm", "gloo", ...) works here."""
    return bool(_native.backend_available(name))


def backend_status(name: str) -> str:
    """Why a backend or engine is or is not available: "ok" or the loader's words."""
    return str(_sized(_native.backend_status, name))


def load_backend(path: "str | os.PathLike[str]") -> None:
    """Opens the plugin at `path`."""
    _native.backend_load(os.fspath(path))


def unique_id(engine: str, network_interface: str | None = None) -> bytes:
    """A rendezvous id for `engine` ("shm", "gloo"), to be carried to all ranks.

    This process then serves a small key-value store on `network_interface` until all ranks have met.
    """
    return bytes(_sized(_native.comm_unique_id_ex, engine, network_interface))
