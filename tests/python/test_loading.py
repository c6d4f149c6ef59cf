# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What happens when the package finds another libgradstep than its own."""

import os
import shutil
import subprocess
import sys

import pytest

import gradstep
from gradstep._native import _serves

OTHER = "#include <stdint.h>\nuint32_t gradstep_abi_version(void) { return 5 << 16 | 7; }\n"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_library_of_another_interface_is_an_import_error_that_names_both(tmp_path):
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text(OTHER)
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    version = gradstep.build_info()["abi_version"]
    own = f"{version >> 16}.{version & 0xFFFF}"
    result = subprocess.run(
        [sys.executable, "-c", "import gradstep"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert f"has ABI version 5.7, and this package was built for {own}" in last


def test_until_1_0_versions_must_be_equal_and_later_only_the_library_may_be_newer():
    assert _serves(0x00001, 0x00001)
    assert not _serves(0x00002, 0x00001)
    assert not _serves(0x00001, 0x00002)
    assert _serves(0x10003, 0x10002)
    assert not _serves(0x10001, 0x10002)
    assert not _serves(0x20002, 0x10002)
