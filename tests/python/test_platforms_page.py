# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What docs/platforms.md says of other systems is what the build and the packages say."""

import re
import tomllib
from pathlib import Path

import gradstep

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "platforms.md").read_text()
WHEELS = (ROOT / "scripts" / "packages" / "cross_wheels.sh").read_text()


def test_the_macos_that_is_needed_is_that_of_the_toolchain():
    compilers = re.findall(r"-macos\.(\d+)\.(\d+)\)", (ROOT / "cmake" / "macos.cmake").read_text())
    ((major, minor),) = set(compilers)
    assert re.findall(r"for macOS (\d+)", PAGE) == [major]
    assert re.findall(r"`macosx_(\w+?)_(?:arm64|x86_64)`", PAGE) == 2 * [f"{major}_{minor}"]


def test_python_headers_come_from_the_artifact_that_is_named():
    (named,) = re.findall(r"Maven artifact `([\w.:]+)`", PAGE)
    assert f"\ncpython={named}:" in WHEELS


def test_the_package_is_for_the_systems_of_the_table():
    (systems,) = re.findall(r"^\| \| (Linux.*) \|$", PAGE, re.MULTILINE)
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    named = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("Operating System")]
    assert sorted(name.lower() for name in named) == sorted(systems.lower().split(" | "))


def test_other_systems_lack_every_engine_that_connects_processes():
    ((engines, answers),) = re.findall(r"^\| engines (.*?); stores.*? \| (.*) \|$", PAGE, re.MULTILINE)
    within_a_process = {"self", "local", "host"}
    expected = {"auto", *gradstep.build_info()["engines"]} - within_a_process
    assert set(re.findall(r"`(\w+)`", engines)) == expected
    assert answers == "yes | `UNSUPPORTED` | `UNSUPPORTED`"
