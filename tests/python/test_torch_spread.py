# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch optimizers of parameters that FSDP2 and tensor parallelism have spread over processes."""

import multiprocessing
import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.distributed.fsdp", reason="needs FSDP2", exc_type=ImportError)

import spread_ranks  # noqa: E402  (imports torch)
from processes import run_processes  # noqa: E402

from gradstep import torch as adapters  # noqa: E402

IMPORTED_ONCE = [
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.tensor.parallel",
]


def run(world_size, names, *arguments):
    """What has failed on each rank, by name."""
    multiprocessing.set_forkserver_preload(IMPORTED_ONCE)
    return run_processes(world_size, spread_ranks.run_all, names, *map(str, arguments), timeout=500, start="forkserver")


def check(failures):
    for rank, failed in enumerate(failures):
        assert failed is not None, f"rank {rank} died"
        assert not failed, f"rank {rank}: " + "\n".join(f"{name}: {text}" for name, text in failed.items())


def test_the_page_says_of_every_rule_what_is_compared_here():
    page = (Path(__file__).resolve().parents[2] / "docs" / "how_to" / "fsdp2.md").read_text()
    rows = [re.findall(r"\w+", cells) for cells in re.findall(r"^\| (\w+(?:, \w+)+) \| ", page, re.MULTILINE)]
    assert rows[0] == [*spread_ranks.ELEMENTWISE] and rows[1] == [*spread_ranks.WHOLE]
    rules = {name for name in adapters.__all__ if isinstance(getattr(adapters, name), type)} - {"CommHook", "Optimizer"}
    assert rules == {*rows[0], *rows[1]}


@pytest.mark.parametrize("world_size", [2, 4])
def test_spread_parameters(world_size, tmp_path):
    check(run(world_size, [body.__name__ for body in spread_ranks.ON_ANY], tmp_path))


def test_a_checkpoint_of_four_ranks_resumes_on_two_and_on_one(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    check(run(4, ["save_checkpoint"], tmp_path, checkpoint))
    for world_size in (2, 1):
        check(run(world_size, ["load_checkpoint"], tmp_path, checkpoint))
