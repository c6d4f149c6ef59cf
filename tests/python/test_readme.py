# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of README.md that no generator writes are those of the files that decide them."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def toml(name: str) -> dict:
    return tomllib.loads((ROOT / name).read_text())


def of_cmake() -> str:
    return re.search(r"project\(gradstep VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        (r"Status\*\*: ([\d.]+), not released", of_cmake),
        (r"\| Python ([\d.]+) \|", lambda: toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")),
        (r"\| Rust ([\d.]+) \|", lambda: toml("bindings/rust/Cargo.toml")["workspace"]["package"]["rust-version"]),
        (r"\| Julia ([\d.]+) \|", lambda: toml("bindings/julia/Gradstep.jl/Project.toml")["compat"]["julia"]),
        (
            r"\| Java (\d+) \|",
            lambda: re.search(r"<maven\.compiler\.release>(\d+)<", (ROOT / "bindings/java/pom.xml").read_text())[1],
        ),
        (
            r"C\+\+(\d+) \|",
            lambda: re.search(r"cxx_std_(\d+)", (ROOT / "bindings/cpp/CMakeLists.txt").read_text())[1],
        ),
    ],
)
def test_a_version_is_the_one_that_is_needed(text, decided):
    assert re.search(text, README)[1] == decided()


def test_the_first_step_is_there_in_every_language_and_quoted():
    first = README.partition("## First step")[2].partition("\n## ")[0]
    fences = re.findall(r"<!-- quote \S+ [\w ]+ -->\n```(\w+)\n", first)
    assert fences == ["python", "c", "cpp", "rust", "java", "julia"]
    assert first.count("```") == 2 * len(fences)


def test_the_packages_are_those_that_the_script_makes():
    head = (ROOT / "scripts" / "package").read_text().partition("\nsource ")[0]
    pages = "".join([README, *(file.read_text() for file in (ROOT / "docs").glob("*.md"))])
    named = {word for words in re.findall(r"scripts/package ([a-z_ ]+)", pages) for word in words.split()}
    listed = re.findall(r"^#   (\w+) +\S", head, re.MULTILINE)
    functions = "".join(file.read_text() for file in (ROOT / "scripts" / "packages").glob("*.sh"))
    made = re.findall(r"^package_(\w+)\(\)", functions, re.MULTILINE)
    assert named <= set(made)
    assert sorted(listed) == sorted(made)
    assert set(made) <= set(re.findall(r"^check_(\w+)\(\)", functions, re.MULTILINE))


def test_every_example_has_a_readme_and_is_in_the_table():
    table = (ROOT / "examples" / "README.md").read_text()
    folders = {file.relative_to(ROOT / "examples") for file in (ROOT / "examples").glob("*/*") if file.is_dir()}
    assert [folder for folder in folders if not (ROOT / "examples" / folder / "README.md").is_file()] == []
    assert {str(folder) for folder in folders} == set(re.findall(r"\]\(([\w/]+)\)", table))


def test_the_record_of_benchmarks_has_the_cases_that_are_measured():
    machines = json.loads((ROOT / "benchmarks" / "recorded" / "cpu.json").read_text())["machines"]
    source = (ROOT / "benchmarks" / "cases.py").read_text()
    assert machines
    tables = (ROOT / "scripts" / "generators" / "benchmark_tables.py").read_text()
    rows = re.findall(r'^    "(.+?)": \(', tables, re.MULTILINE)
    assert [name for name in rows if f'"{name}"' not in source] == []
    for case in (case for machine in machines for case in machine["cases"]):
        assert f'"{case["name"]}"' in source
        ours = case["contenders"].get("gradstep")
        for peer, speed in case.get("speed_of_peer", {}).items():
            ratio = case["contenders"][peer]["best_ms"] / ours["best_ms"]
            assert speed["best"] == pytest.approx(ratio, rel=0.06), case["name"]  # of times with two or three digits
