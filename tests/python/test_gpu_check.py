# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check without a GPU: programs in the place of what it runs say what they were asked for."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "gpu_check"
PROGRAMS = {
    "bin/nvidia-smi": 'case "$1" in *driver*) echo 580.1;; *) echo "NVIDIA H100, 81559 MiB";; esac',
    "bin/compute-sanitizer": "exit 0",
    "bin/python": 'echo "| $(basename "$1") ${*:2} |"',
    "build/bin/bits_cuda": 'echo "3 cases, cuda"',
    "build/bin/bench_cuda_rules": 'echo "| from C++ |"',
    "build/lib/libgradstep.so": "",
    "build/lib/libgradstep_cuda.so": "",
}


@pytest.fixture
def check(tmp_path):
    """Runs the script with some of the programs replaced; returns status, table and what it said on stderr."""

    def run(*arguments, **replaced):
        for name, body in PROGRAMS.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("#!/bin/bash\n" + replaced.get(file.name, body) + "\n")
            file.chmod(0o755)
        environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "GRADSTEP_PYTHON": f"{tmp_path}/bin/python"}
        results = tmp_path / "results.md"
        done = subprocess.run(
            [SCRIPT, *arguments, tmp_path / "build", results],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        return done.returncode, results.read_text() if results.exists() else "", done.stderr

    return run


def test_all_sections_make_one_table(check):
    status, table, _ = check()
    assert status == 0
    for line in (
        "| device | NVIDIA H100, 81559 MiB |",
        "| recorded cases | 3 of 3 have the CPU's bits; 0 differ or fail; 0 of schedules differ; "
        "0 need what is not there for CUDA |",
        "| compute-sanitizer | memcheck: nothing found, racecheck: nothing found, synccheck: nothing found |",
        "| PyTorch | measured with |",
        "| from C++ |",
        "| cuda_torch.py rules tensors window topk |",
        "| cuda_shampoo.py model products roots transformer |",
    ):
        assert line in table.splitlines(), table


def test_sections_can_be_chosen(check):
    status, table, _ = check("--only", "topk,roots")
    assert status == 0
    assert "| cuda_torch.py topk |" in table and "| cuda_shampoo.py roots |" in table
    assert "| recorded cases | not looked at |" in table and "from C++" not in table


def test_an_unknown_section_is_refused(check):
    status, table, error = check("--only", "topk,nothing")
    assert (status, table) == (2, "") and "no section 'nothing'; there are parity sanitizer native" in error


def test_what_is_absent_is_said_in_words(check):
    status, table, _ = check(python="echo 'there is no PyTorch for this Python' >&2; exit 3")
    assert status == 0
    assert "| PyTorch | not measured with: there is no PyTorch for this Python |" in table and "| from C++ |" in table


def test_pytorchs_libraries_come_last(check, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/before")
    _, table, error = check(
        python='case "$1" in -c) echo /wheels/a:/wheels/b;; *) echo "| $LD_LIBRARY_PATH |";; esac',
        bits_cuda='echo "FAILED $LD_LIBRARY_PATH"; echo "3 cases, cuda"',
    )
    for text in (table, error):
        assert "/build/lib:/before:/wheels/a:/wheels/b" in text


def test_what_a_machine_lacks_is_no_failure(check):
    status, table, error = check(
        bits_cuda="echo 'FAILED a: Shampoo on CUDA needs cuSOLVER, which cannot be opened: no'; echo '3 cases, cuda'",
        **{"compute-sanitizer": "echo '========= Error: Device not supported'; exit 9"},
    )
    assert status == 0, error
    assert "| compute-sanitizer | the tool does not know this device |" in table
    assert "| recorded cases | 2 of 3 have" in table and "; 1 need a library that cannot be opened |" in table
    assert "which cannot be opened: no" in error


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        ({"bits_cuda": "echo 'FAILED first: expected 1, found 2'; echo '3 cases, cuda'"}, "recorded cases"),
        ({"compute-sanitizer": "exit 9"}, "compute-sanitizer, racecheck"),
        ({"bench_cuda_rules": "exit 1"}, "bench_cuda_rules"),
        ({"python": "exit 1"}, "cuda_torch (status 1);cuda_shampoo (status 1)"),
        ({"bits_cuda": "echo '3 cases, cuda (emulated)'"}, "is built for the emulated device"),
        ({"nvidia-smi": "echo no driver; exit 9"}, "there is no GPU here: no driver"),
    ],
    ids=["bits", "sanitizer", "native", "beside PyTorch", "emulated", "no driver"],
)
def test_what_fails_fails_the_check(replaced, said, check):
    status, _, error = check(**replaced)
    assert status == 1 and said in error
