# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of the public headers with one change, for the tests of the gates."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def changed_headers(include: str, file: str, old: str, new: str) -> Iterator[Path]:
    """A copy of the folder in which the first `old` of gradstep/`file` is `new`."""
    with tempfile.TemporaryDirectory() as folder:
        changed = Path(shutil.copytree(include, Path(folder, "include")))
        header = changed / "gradstep" / file
        text = header.read_text()
        if old not in text:
            raise SystemExit(f"{file} has no {old!r} any more: choose another text here")
        header.write_text(text.replace(old, new, 1))
        yield changed
