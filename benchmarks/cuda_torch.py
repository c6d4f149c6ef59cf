# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_torch.py [ELEMENTS]

PyTorch's fused optimizers on the first CUDA device, timed as cuda_rules.cpp times gradstep: rows of the same table.
Exits with status 3 where there is no PyTorch that can use the device.
"""

import sys
from collections.abc import Callable

ROUNDS = 15
CALLS = 10


def main() -> int:
    try:
        import torch
    except ImportError:
        return 3
    if not torch.cuda.is_available():
        return 3
    elements = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
    gradient = torch.ones(elements, device="cuda")
    copied = torch.empty_like(gradient)
    total = torch.zeros_like(gradient)

    def stepper(optimizer_class: type[torch.optim.Optimizer], **options: float) -> Callable[[], object]:
        parameter = torch.nn.Parameter(torch.zeros_like(gradient))
        parameter.grad = gradient
        return optimizer_class([parameter], lr=2**-20, fused=True, **options).step

    subjects = [
        (f"copy from device to device, PyTorch {torch.__version__}", 8, lambda: copied.copy_(gradient)),
        ("accumulate: PyTorch add_", 12, lambda: total.add_(gradient)),
        ("SGD with momentum: PyTorch fused", 20, stepper(torch.optim.SGD, momentum=0.5)),
        ("AdamW: PyTorch fused", 28, stepper(torch.optim.AdamW, weight_decay=0.01)),
    ]
    milliseconds: list[list[float]] = [[] for _ in subjects]
    for round_ in range(-1, ROUNDS):  # the first prepares and is not counted
        for times, (_, _, call) in zip(milliseconds, subjects, strict=True):
            begin = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(CALLS):
                call()
            end.record()
            end.synchronize()
            if round_ >= 0:
                times.append(begin.elapsed_time(end) / CALLS)
    speeds = [
        bytes_ * elements / min(times) / 1e6 for times, (_, bytes_, _) in zip(milliseconds, subjects, strict=True)
    ]
    for speed, times, (name, bytes_, _) in zip(speeds, milliseconds, subjects, strict=True):
        median = sorted(times)[len(times) // 2]
        print(f"| {name} | {bytes_} | {min(times):.3f} | {median:.3f} | {speed:.0f} | {speed / speeds[0]:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
