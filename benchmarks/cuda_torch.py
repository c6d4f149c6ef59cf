# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_torch.py [--small] [SECTION...]

gradstep beside PyTorch on the first CUDA device, on tensors of PyTorch's:

  rules    accumulation, SGD and AdamW on 1e8 elements, beside a copy
  tensors  Adam on 400 tensors of 64x64
  window   eight micro-batches of a model of 124M parameters, the clipping of their norm, and AdamW, with another
           learning rate each time: call by call, and as a CUDA graph
  topk     the largest 1 % of 6.4e7 elements

All by default. --small takes sizes that a test on an emulated device bears. Prints the versions of PyTorch and of the
libraries, and tables of Markdown; graphs have tables of their own, behind those of calls. The exit status is 3 where
there is no PyTorch, no GPU or no gradstep, 1 where results differ or something has failed; the tables say which.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

from cuda_contest import Contender, Failures, difference, differences, measure, report, run_chosen

RATE = 2.0**-10
EPSILON = 1e-5
"""Of windows: Adam's steps are as long for long gradients, so this is what shows whether they were clipped."""
SMALL = {"rounds": 3, "calls": 2}


def copy_of(elements: int) -> Contender:
    """What the memory of the device gives at most."""
    import torch

    source = torch.randn(elements, device="cuda")
    target = torch.empty_like(source)
    return Contender(f"copy, PyTorch {torch.__version__}", lambda: target.copy_(source), 8.0 * elements)


def parameters_like(shapes: list[tuple[int, ...]]) -> list[Any]:
    import torch

    return [torch.nn.Parameter(torch.zeros(shape, device="cuda")) for shape in shapes]


def torch_step(rule: str, parameters: list[Any], gradients: list[Any], **options: Any) -> Callable[[], object]:
    import torch

    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return getattr(torch.optim, rule)(parameters, **{"lr": RATE, "fused": True, **options}).step


def differences_of_ends(contenders: list[Contender], ends: list[list[Any]], tolerance: float) -> Iterator[str]:
    return differences(contenders, [[parameter.data for parameter in end] for end in ends], tolerance)


def rules(small: bool) -> None:
    import torch

    import gradstep

    elements = 5000 if small else 100_000_000
    gradient = [torch.randn(elements, device="cuda")]
    copy = copy_of(elements)
    total = torch.zeros_like(gradient[0])
    accumulator = gradstep.Accumulator(gradient, mode="sum")
    add = Contender("accumulate", lambda: accumulator.add(gradient), 12.0 * elements)
    by_torch = Contender("PyTorch add_", lambda: total.add_(gradient[0]), add.moved, add)
    contenders = [copy, add, by_torch]
    ends = []
    for name, moved, rule, ours, torch_rule, theirs in (
        ("SGD", 12, gradstep.SGD, {}, "SGD", {}),
        ("SGD with momentum", 20, gradstep.SGD, {"momentum": 0.5}, "SGD", {"momentum": 0.5}),
        (
            "AdamW",
            28,
            gradstep.Adam,
            {"weight_decay": 0.01, "decoupled_weight_decay": True},
            "AdamW",
            {"weight_decay": 0.01},
        ),
    ):
        (mine,), (other,) = parameters_like([(elements,)]), parameters_like([(elements,)])
        optimizer = rule([mine.data], learning_rate=RATE, **ours)
        step = Contender(name, lambda o=optimizer, p=mine.data: o.step([p], gradient), moved * float(elements))
        by_peer = torch_step(torch_rule, [other], gradient, **theirs)
        peer = Contender(f"{name}: PyTorch fused", by_peer, step.moved, step)
        contenders += [step, peer]
        ends.append((step, peer, mine, other))
    measure(contenders, **(SMALL if small else {}))

    def compare() -> Iterator[str]:
        # Roundings of f32 add up over the steps; moments divide by numbers of either's rounding.
        for step, peer, mine, other in ends:
            yield from differences([step, peer], [[mine.data], [other.data]], 1e-3 if step.name == "AdamW" else 1e-4)
        if not add.failure and not by_torch.failure:
            accumulator.flush()
            yield difference("accumulate", [torch.from_dlpack(accumulator.gradients()[0])], [total], 0.0)

    report(f"{elements} f32", contenders, compare(), copy)


def tensors(small: bool) -> None:
    import torch

    import gradstep
    from gradstep import torch as adapters

    shapes: list[tuple[int, ...]] = [(8, 8)] * 7 if small else [(64, 64)] * 400
    gradients = [torch.randn(shape, device="cuda") for shape in shapes]
    moved = 28.0 * sum(gradient.numel() for gradient in gradients)
    title = f"{len(shapes)} tensors of {shapes[0][0]}x{shapes[0][1]}"
    failures, repetitions = Failures(), SMALL if small else {}
    ends: list[list[Any]] = []

    def ours() -> Callable[[], object]:
        own = [parameter.data for parameter in parameters_like(shapes)]
        ends.append(own)
        optimizer = gradstep.Adam(own, learning_rate=RATE)
        return lambda: optimizer.step(own, gradients)

    def adapter() -> Callable[[], object]:
        own = parameters_like(shapes)
        ends.append(own)
        for parameter, gradient in zip(own, gradients, strict=True):
            parameter.grad = gradient
        return adapters.Adam(own, lr=RATE).step

    def theirs(**options: Any) -> Callable[[], object]:
        own = parameters_like(shapes)
        ends.append(own)
        return torch_step("Adam", own, gradients, **options)

    first = Contender("gradstep.Adam", ours(), moved)
    eager = [
        first,
        Contender("gradstep.torch.Adam", adapter(), moved, first),
        Contender("PyTorch fused", theirs(), moved, first),
    ]
    rounds = measure(eager, **repetitions)
    with failures.caught("tensors"):
        report(title, eager, differences_of_ends(eager, ends, 1e-3))
    with failures.caught("tensors, graphs"):
        replayed = Contender("gradstep.Adam, a graph", ours(), moved, captured=True)
        peer = Contender("PyTorch fused, a graph", theirs(capturable=True), moved, replayed, captured=True)
        measure([replayed, peer], **{**repetitions, "rounds": rounds, "seconds": math.inf})
        found = differences_of_ends([first, replayed, peer], [ends[0], *ends[-2:]], 1e-3)
        report(f"{title}, graphs", [replayed, peer], found)
    failures.end()


def transformer(small: bool) -> list[tuple[int, ...]]:
    """Parameters of a decoder of twelve layers, 768 wide, with 50257 words: 124M."""
    wide, layers, words = (16, 1, 40) if small else (768, 12, 50257)
    layer = [(3 * wide, wide), (3 * wide,), (wide, wide), (wide,), (4 * wide, wide), (4 * wide,), (wide, 4 * wide)]
    layer += [(wide,)] * 5
    return [(words, wide), (64 if small else 1024, wide), *(layer * layers), (wide,), (wide,)]


def window(small: bool) -> None:
    import torch

    import gradstep

    shapes, micro_batches = transformer(small), 8
    batches = [[torch.randn(shape, device="cuda") for shape in shapes] for _ in range(2)]
    elements = sum(gradient.numel() for gradient in batches[0])
    # The first gradient is not added to anything; the last addition can measure the norm; AdamW.
    moved = (8.0 + 12 * (micro_batches - 1) + 28) * elements
    title = f"{micro_batches} micro-batches of {elements / 1e6:.1f}M f32"
    failures, repetitions = Failures(), SMALL if small else {"calls": 3}
    ends: list[list[Any]] = []

    def rates() -> Callable[[], float]:
        numbers = itertools.count()
        return lambda: RATE * (1 + next(numbers) % 5)

    def ours(captured: bool) -> Contender:
        own = [parameter.data for parameter in parameters_like(shapes)]
        ends.append(own)
        optimizer = gradstep.Adam(
            own, learning_rate=RATE, epsilon=EPSILON, weight_decay=0.01, decoupled_weight_decay=True
        )
        updater = gradstep.Updater(optimizer, gradstep.Accumulator(own, steps=micro_batches, mode="sum"), max_norm=1.0)
        rate, next_rate = torch.zeros(1, dtype=torch.float64, device="cuda"), rates()
        if captured:
            optimizer.set_tensor("learning_rate", rate)

        def body() -> None:
            for k in range(micro_batches):
                updater.push(own, batches[k % 2])

        def before() -> None:
            if captured:
                rate.fill_(next_rate())
            else:
                optimizer.set_value("learning_rate", next_rate())

        return Contender("gradstep" + ", a graph" * captured, body, moved, None, captured, before)

    def theirs(captured: bool, beside: Contender) -> Contender:
        own = parameters_like(shapes)
        ends.append(own)
        sums = [torch.zeros_like(parameter) for parameter in own]
        rate, next_rate = torch.zeros((), device="cuda"), rates()
        options = {"lr": rate, "capturable": True} if captured else {}
        step = torch_step("AdamW", own, sums, eps=EPSILON, weight_decay=0.01, **options)
        groups = step.__self__.param_groups  # type: ignore[attr-defined]

        def body() -> None:
            torch._foreach_zero_(sums)
            for k in range(micro_batches):
                torch._foreach_add_(sums, batches[k % 2])
            torch.nn.utils.clip_grad_norm_(own, 1.0, foreach=True)
            step()

        def before() -> None:
            if captured:
                rate.fill_(next_rate())
            else:
                groups[0]["lr"] = next_rate()

        name = "PyTorch: _foreach_zero_, _foreach_add_, clip_grad_norm_, fused" + ", a graph" * captured
        return Contender(name, body, moved, beside, captured, before)

    copy = copy_of(elements)
    eager = [first := ours(False), theirs(False, first)]
    rounds = measure([copy, *eager], **repetitions)
    with failures.caught("window"):
        report(title, [copy, *eager], differences_of_ends(eager, ends, 2e-3), copy)
    with failures.caught("window, graphs"):
        captured = [replayed := ours(True), theirs(True, replayed)]
        copy.milliseconds.clear()
        measure([copy, *captured], **{**repetitions, "rounds": rounds, "seconds": math.inf})
        found = differences_of_ends([first, *captured], [ends[0], *ends[-2:]], 2e-3)
        report(f"{title}, graphs", [copy, *captured], found, copy)
    failures.end()


def topk(small: bool) -> None:
    import torch

    import gradstep

    elements, fraction = (5000 if small else 64_000_000), 0.01
    gradient = torch.randn(elements, device="cuda")
    chosen = -(-elements // 100)
    reducers = [
        gradstep.Reducer(
            gradstep.Communicator.self(), [gradient], mode="sparse_topk", sparsity=fraction, residual=residual
        )
        for residual in (False, True)
    ]
    found: list[Any] = []

    def select() -> None:
        _, indices = torch.topk(gradient.abs(), chosen, sorted=False)
        found[:] = [indices, gradient[indices]]

    # A reducer also writes the dense result; with a residual, that is read and written, too.
    ours, with_residual = (
        Contender(name, lambda r=reducer: r.reduce([gradient], in_place=False), moved * elements)
        for name, reducer, moved in zip(("gradstep", "gradstep, with a residual"), reducers, (8.0, 16.0), strict=True)
    )
    copy = copy_of(elements)
    peer = Contender("torch.topk of magnitudes", select, 4.0 * elements, ours)
    contenders = [copy, ours, with_residual, peer]
    measure(contenders, **(SMALL if small else {"calls": 3}))

    def compare() -> Iterator[str]:
        if ours.failure or peer.failure:
            return
        indices, values = found
        kept = torch.from_dlpack(reducers[0].gradients()[0])
        # Either may take others among elements as large as the smallest that is chosen.
        smallest = values.abs().min()
        surely = gradient.abs() > smallest
        theirs = torch.zeros_like(gradient).index_put_((indices,), values)
        if int((kept != 0).sum()) != chosen or not torch.equal(kept * surely, theirs * surely):
            yield f"topk: {int((kept != 0).sum())} elements of {chosen}, or others than torch.topk's"
        if float(kept[kept != 0].abs().min()) != float(smallest):
            yield "topk: the smallest chosen element is another one than torch.topk's"

    report(f"{fraction:.0%} of {elements} f32", contenders, compare(), copy)


SECTIONS = {"rules": rules, "tensors": tensors, "window": window, "topk": topk}


def main(arguments: list[str] | None = None) -> int:
    return run_chosen(__doc__, SECTIONS, arguments)


if __name__ == "__main__":
    sys.exit(main())
