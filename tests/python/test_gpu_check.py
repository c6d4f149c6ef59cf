# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check without a GPU: programs in the place of what it runs say what they were asked for."""

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from emulated_cuda import FOLDER, control, needs_device

pytestmark = pytest.mark.night
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "gpu_check"
PROGRAMS = {
    "bin/nvidia-smi": 'case "$1" in *driver*) echo 580.1;; *) echo "NVIDIA H100, 81559 MiB";; esac',
    "bin/compute-sanitizer": "exit 0",
    "bin/python": '[ "$1" = -c ] || { echo "PyTorch 2.11, CUDA 13.0"; echo "| $(basename "$1") ${*:2} |"; }',
    "build/bin/bits_cuda": 'echo "3 cases, cuda"; echo "1 of them ran without a comparison, because"',
    "build/bin/bench_cuda_rules": 'echo "| $1 from C++ |"',
    "build/bin/example_cuda": "exit 0",
    "build/lib/libgradstep.so.0": "",
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
        "| recorded cases | 2 of 3 have the CPU's bits; 1 of them ran without a comparison; 0 differ or fail |",
        "| compute-sanitizer | memcheck: nothing found, racecheck: nothing found, synccheck: nothing found, "
        "initcheck: nothing found, memcheck of every 25th: nothing found |",
        "| examples | example_cuda: passed, example_cuda 2: there is one GPU, torch_graph.py: passed, "
        "cuda_nccl.py: passed, cuda_arrays.py: passed |",
        "| PyTorch | measured with 2.11, CUDA 13.0 |",
        *(f"| {part} from C++ |" for part in ("rules", "tensors", "windows")),
        *(f"| cuda_torch.py {section} |" for section in ("rules", "tensors", "window", "topk")),
        *(f"| cuda_shampoo.py {section} |" for section in ("transformer", "model", "products", "roots", "bases")),
        "| Shampoo, a transformer | times gradstep's | 3 | | not measured |",
    ):
        assert line in table.splitlines(), table


def test_sections_can_be_chosen(check):
    status, table, _ = check("--only", "topk,roots")
    assert status == 0
    assert "| cuda_torch.py topk |" in table and "| cuda_shampoo.py roots |" in table
    assert "| recorded cases | not looked at |" in table and "from C++ |\n" not in table


def test_an_unknown_section_is_refused(check):
    status, table, error = check("--only", "topk,nothing")
    assert (status, table) == (2, "") and "no section 'nothing'; there are parity native rules" in error


def test_what_is_absent_is_said_in_words(check):
    status, table, _ = check(python="echo; echo 'there is no PyTorch for this Python' >&2; exit 3")
    assert status == 0
    assert "| PyTorch | not measured with: there is no PyTorch for this Python |" in table
    assert "| windows from C++ |" in table
    assert "torch_graph.py, cuda_nccl.py and cuda_arrays.py: there is no PyTorch for this Python |" in table


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
        example_cuda="echo 'nothing to run on: a plugin of another build'; exit 77",
        **{"compute-sanitizer": "echo '========= Error: Device not supported'; exit 9"},
    )
    assert status == 0, error
    assert "| compute-sanitizer | the tool does not know this device |" in table
    assert "| examples | example_cuda: nothing to run on (a plugin of another build), " in table
    assert "| recorded cases | 2 of 3 have" in table and "; 1 need a library that cannot be opened |" in table
    assert "which cannot be opened: no" in error


def test_the_sanitizer_looks_at_recorded_cases_that_reach_each_kind_of_kernel(check, tmp_path):
    check("--only", "sanitizer", **{"compute-sanitizer": f'echo "$*" >>{tmp_path}/asked'})
    asked = [line.split() for line in (tmp_path / "asked").read_text().splitlines()]
    assert [words[1] for words in asked] == ["memcheck", "racecheck", "synccheck", "initcheck", "memcheck"]
    assert asked.pop()[-4:] == ["--every", "25", "--rounded-every", "25"]
    recorded = (ROOT / "tests" / "bits" / "recorded.txt").read_text().split()
    for words in asked:
        cases = [words[k + 1] for k, word in enumerate(words) if word == "--filter"]
        assert set(cases) <= set(recorded)
        of_libraries = any(case.startswith("shampoo/") for case in cases)
        assert of_libraries == ("kns=gradstep" in words), "cuBLAS's and cuSOLVER's kernels are not ours to look at"
        kinds = {case.split("/")[0] for case in cases}
        assert kinds >= {"rules", "guards", "accumulators", "storage", "reducers"}


def test_a_second_gpu_is_used(check):
    smi = 'case "$1" in *driver*) echo 1; echo 1;; *) echo "A, 1 MiB"; echo "B, 1 MiB";; esac'
    status, table, error = check("--only", "examples", example_cuda='[ "$1" != 2 ]', **{"nvidia-smi": smi})
    assert status == 1 and "failed: example_cuda 2" in error
    assert "| device | A, 1 MiB |" in table and "example_cuda: passed, example_cuda 2: status 1" in table


def kinds_of_schedules(value):
    if isinstance(value, dict):
        own = {value["kind"]} if isinstance(value.get("kind"), str) else set()
        return own.union(*map(kinds_of_schedules, value.values()))
    return set().union(*map(kinds_of_schedules, value)) if isinstance(value, list) else set()


def test_only_schedules_that_call_pow_or_cos_may_differ(check):
    """docs/cuda.md, Bits: of the others every difference is a failure."""
    cases = json.loads((ROOT / "tests" / "bits" / "cases" / "schedules.json").read_text())["cases"]
    may_differ = {
        case["name"]: not kinds_of_schedules(case).isdisjoint({"exponential_decay", "polynomial", "cosine"})
        for case in cases
    }
    assert {True, False} == set(may_differ.values())
    for name, may in [*may_differ.items(), ("groups_and_more", False)]:
        status, table, _ = check(
            "--only", "parity", bits_cuda=f"echo 'FAILED schedules/{name}: expected 1, found 2'\necho '9 cases, cuda'"
        )
        assert (status == 0) == may, name
        said = "0 differ or fail; 1 differ whose schedules call pow or cos" if may else "1 differ or fail"
        assert f"| recorded cases | 8 of 9 have the CPU's bits; 0 of them ran without a comparison; {said} |" in table
    status, *_ = check("--only", "parity", bits_cuda="echo 'FAILED schedules/cosine: no memory'\necho '9 cases, cuda'")
    assert status == 1, "what fails is no difference"


BESIDE = "| best ms | median ms | GB/s | of the copy | times gradstep's |\n|---|---|---|---|---|---|"
RULES = """
| 100000000 f32{where} | best ms | median ms | GB/s | of the copy |{more}
|---|---|---|---|---|{rule}
| copy | 0.3 | 0.3 | 2700 | 1.00 |{none}
| SGD | 0.5 | 0.5 | 2300 | 0.89 |{none}
| AdamW | 1.1 | 1.1 | 2450 | 0.90 |{none}
"""


def test_aims_are_compared_with_what_was_measured(check):
    beside = RULES.format(where="", more=" times gradstep's |", rule="---|", none="  |")
    beside += "| AdamW: PyTorch fused | 1.2 | 1.2 | 2300 | 0.86 | 0.99 |\n"
    beside += f"\n| 400 tensors of 64x64 {BESIDE}\n"
    beside += "| gradstep.torch.Adam | 0.1 | 0.1 | 9 |  | 5.00 |\n| PyTorch fused | 0.1 | 0.1 | 9 |  | 2.00 |\n"
    beside += f"\n| 8 micro-batches of 124.4M f32, graphs {BESIDE}\n| PyTorch: all, a graph | 9 | 9 | 9 |  | 1.30 |\n"
    beside += f"\n| 1% of 64000000 f32, results differ {BESIDE}\n| torch.topk of magnitudes | 9 | 9 | 9 |  | 9.00 |\n"
    title = "transformer, 2 of 16 layers, 122M parameters, blocks of 512, roots every {} step(s)"
    shampoo = ""
    for every, times in ((1, 3.5), (10, 2.99)):
        shampoo += (
            f"\n| {title.format(every)} | rounds | best ms a step | median ms | without roots | times gradstep's |\n"
        )
        shampoo += f"|---|---|---|---|---|---|\n| Meta's Distributed Shampoo | 3 | 9.00 | 9.00 |  | {times} |\n"
    native = RULES.format(where=", from C++", more="", rule="", none="")
    status, table, _ = check(
        bench_cuda_rules=f"[ $1 = rules ] && cat <<'END'\n{native}END\nexit 0",
        python='case "$*" in '
        f"*cuda_torch*rules) cat <<'END'\n{beside}END\n;; *transformer*) cat <<'END'\n{shampoo}END\n;; esac",
    )
    assert status == 0, "an aim that is missed is no failure"
    aims = table[table.index("| aims |") :].split("\n\n")[0].splitlines()[2:]
    assert aims == [
        "| 100000000 f32, from C++: SGD | of the copy | 0.9 | 0.89 | missed |",
        "| 100000000 f32, from C++: AdamW | of the copy | 0.9 | 0.90 | met |",
        "| 100000000 f32: SGD | of the copy | 0.9 | 0.89 | missed |",
        "| 100000000 f32: AdamW | of the copy | 0.9 | 0.90 | met |",
        "| 100000000 f32: AdamW: PyTorch fused | times gradstep's | 1 | 0.99 | missed |",
        "| 400 tensors of 64x64: PyTorch fused | times gradstep's | 2 | 2.00 | met |",
        "| 8 micro-batches of 124.4M f32, graphs: PyTorch: all, a graph | times gradstep's | 1.3 | 1.30 | met |",
        "| the largest 1 % | times gradstep's | 5 | | not measured |",
        f"| {title.format(1)}: Meta's Distributed Shampoo | times gradstep's | 3 | 3.5 | met |",
        f"| {title.format(10)}: Meta's Distributed Shampoo | times gradstep's | 3 | 2.99 | missed |",
    ]


def limits_of_sections():
    words = SCRIPT.read_text().split("limits=(")[1].split(")")[0].split()
    return {name.strip("[]"): int(number) for name, number in (word.split("=") for word in words)}


def test_calls_that_the_head_names_are_within_the_time():
    text = SCRIPT.read_text()
    calls = [
        line.split("--only ")[1].split()[0].split(",")
        for line in text.splitlines()
        if line.startswith("#   scripts/gpu_check")
    ]
    limits = limits_of_sections()
    assert len(calls) == 3
    for call in calls:
        assert sum(limits[section] for section in call) <= 480
    all_sections = text.split("sections=(")[1].split(")")[0].split()
    assert [section for call in calls for section in call] == all_sections == list(limits)
    parts = [int(words.split()[-1]) for words in ('logged "$name" 30', 'sanitize "$check" 60', '25th" 100')]
    assert all(f" {part} " in text for part in parts)
    assert 5 * parts[0] <= limits["examples"] and 4 * parts[1] + parts[2] <= limits["sanitizer"]


@pytest.mark.parametrize(("chosen", "least"), [("roots", 440), ("products,roots", 350), ("roots,sanitizer", 90)])
def test_a_section_gets_what_those_after_it_leave(chosen, least, check, tmp_path):
    """The first one's time, which timeout gets."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "timeout").write_text(f'#!/bin/sh\necho "$2" >>{tmp_path}/told\n')
    (tmp_path / "bin" / "timeout").chmod(0o755)
    check("--only", chosen)
    first = int((tmp_path / "told").read_text().split()[0])
    rest = sum(limits_of_sections()[section] for section in chosen.split(",")[1:])
    assert least <= first and (first <= 480 - rest or first == limits_of_sections()[chosen.split(",")[0]])


def test_the_time_can_be_chosen(check, monkeypatch):
    monkeypatch.setenv("GRADSTEP_GPU_SECONDS", "4")  # of which the script has used little before
    status, table, error = check("--only", "parity,topk", bits_cuda="echo 'rules: 44 have ended, 1 failures'; sleep 60")
    assert status == 1 and "cuda_torch, topk (the time was over)" in error
    assert "| recorded cases | did not end (the time was over); before, rules: 44 with 1 failures |" in table


def test_what_ends_the_script_leaves_the_sections_before(check, tmp_path):
    """And the log, of all that programs said."""
    status, table, _ = check(
        "--only",
        "parity,native,rules",
        bits_cuda="echo 'FAILED first: expected 1, found 2'; echo '3 cases, cuda'",
        bench_cuda_rules='[ "$1" != tensors ] || { echo "an illegal access" >&2; exit 1; }; echo "| $1 from C++ |"',
        python='[ "$1" = -c ] && exit; echo "a traceback" >&2; kill -9 $(ps -o ppid= -p $PPID)',
    )
    assert status == -9
    assert "| recorded cases | 2 of 3 have" in table
    assert "| rules from C++ |" in table and "| windows from C++ |" in table and "| tensors from C++ |" not in table
    log = (tmp_path / "results.log").read_text()
    for text in ("== bits\nFAILED first", "== bench_cuda_rules tensors\nan illegal access", "a traceback"):
        assert text in log


@pytest.fixture
def the_emulated_device(monkeypatch):
    pytest.importorskip("torch")
    from emulated_torch_cuda import present_with_fused_rules

    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    control().set_seed(1)
    with present_with_fused_rules(monkeypatch):
        yield


@needs_device
def test_steps_on_arrays_of_other_packages_have_the_bits_of_numpys(the_emulated_device, monkeypatch, capfd):
    import cuda_arrays

    # The packages themselves have no emulated device: who takes their places puts everything into PyTorch's.
    torch = sys.modules["torch"]
    cupy = types.SimpleNamespace(asarray=cuda_arrays.to_torch, asnumpy=cuda_arrays.of_torch)
    jax = types.SimpleNamespace(devices=lambda kind: ["one"], device_put=lambda x, device: cuda_arrays.to_torch(x))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "jax", jax)
    assert cuda_arrays.main() == 0
    assert capfd.readouterr().out == "".join(f"{name}: the same bits\n" for name in ("torch", "cupy", "jax"))
    monkeypatch.setitem(sys.modules, "jax", None)
    cupy.asnumpy = lambda x: cuda_arrays.of_torch(x) + 1
    assert cuda_arrays.main() == 1
    out = capfd.readouterr().out
    assert "torch: the same bits\ncupy: bits are others\njax: not here (" in out
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert cuda_arrays.main() == cuda_arrays.NOTHING_TO_RUN_ON


@needs_device
def test_one_rank_with_nccl_has_the_bits_of_one_without(monkeypatch, capfd):
    pytest.importorskip("torch")
    from emulated_torch_cuda import present_with_fused_rules

    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import cuda_nccl

    control().set_seed(1)
    with present_with_fused_rules(monkeypatch):
        assert cuda_nccl.main() == 0
        assert f"{len(cuda_nccl.MODES)} modes: the same bits" in capfd.readouterr().out
        own = cuda_nccl.windows
        monkeypatch.setattr(
            cuda_nccl, "windows", lambda comm, *rest: [x + (comm.engine == "nccl") for x in own(comm, *rest)]
        )
        with pytest.raises(SystemExit, match="dense: by NCCL bits are others"):
            cuda_nccl.main()
        monkeypatch.setattr(sys.modules["torch"].cuda, "is_available", lambda: False)
        assert cuda_nccl.main() == cuda_nccl.NOTHING_TO_RUN_ON


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        ({"bits_cuda": "echo 'FAILED first: expected 1, found 2'; echo '3 cases, cuda'"}, "recorded cases"),
        ({"compute-sanitizer": "exit 9"}, "compute-sanitizer, racecheck"),
        ({"bench_cuda_rules": '[ "$1" != windows ]'}, "failed: bench_cuda_rules, windows (status 1)"),
        (
            {"python": "exit 1"},
            "cuda_torch, rules (status 1);cuda_torch, tensors (status 1);",
        ),
        ({"example_cuda": "exit 1"}, "failed: example_cuda"),
        ({"python": '[[ "$*" != *torch_graph* ]]'}, "failed: torch_graph.py"),
        ({"bits_cuda": "echo '3 cases, cuda (emulated)'"}, "is built for the emulated device"),
        ({"nvidia-smi": "echo no driver; exit 9"}, "there is no GPU here: no driver"),
    ],
    ids=["bits", "sanitizer", "native", "beside PyTorch", "example", "example in Python", "emulated", "no driver"],
)
def test_what_fails_fails_the_check(replaced, said, check):
    status, _, error = check(**replaced)
    assert status == 1 and said in error
