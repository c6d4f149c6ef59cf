# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What is measured. Every case does the same arithmetic with gradstep and, if it is installed, with PyTorch.

Both work on memory of their own with the same initial values, see the same gradients, and make the same number of
steps; afterwards the parameters are compared. PyTorch fuses multiplications and additions and gradstep does not, so
each step rounds differently, by up to an ulp of the largest value (1.2e-7 of it), and the difference walks randomly:
allowed are 1e-6 of the largest value, times the square root of the number of steps.
"""

import time
from collections.abc import Iterator, Sequence

import numpy as np
from timing import Case, Yardstick

import gradstep

try:
    import torch
except ImportError:
    torch = None

LARGE = 16 * 1024 * 1024
SMALL = [(64, 64)] * 400
MICRO_BATCHES = 8
LAYER = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
RATE = 0.02
PARAMETERS, GRADIENTS = 2, 3  # seeds


def context() -> gradstep.Context:
    return gradstep.Context(num_threads=1)


def random_arrays(shapes: Sequence[tuple[int, ...]], seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape, dtype=np.float32) for shape in shapes]


def as_torch(arrays: Sequence[np.ndarray]) -> list:
    return [torch.from_numpy(array) for array in arrays]


def compare(mine: Sequence[np.ndarray], theirs: Sequence, relative_tolerance: float) -> None:
    for a, b in zip(mine, (tensor.detach().numpy() for tensor in theirs), strict=True):
        difference, largest = float(np.max(np.abs(a - b))), float(np.max(np.abs(b)))
        if not difference <= relative_tolerance * largest:
            raise AssertionError(f"gradstep and PyTorch differ by {difference} in values of {largest}")


def compare_after_steps(mine: Sequence[np.ndarray], theirs: Sequence, steps: int, tolerance: float = 1e-6) -> None:
    compare(mine, theirs, tolerance * steps**0.5)


def compare_movements(mine: Sequence[np.ndarray], theirs: Sequence, steps: int, tolerance: float) -> None:
    """How far apart the parameters of step_case() have come, as a share of the way that they went."""
    for a, b, start in zip(mine, theirs, random_arrays([array.shape for array in mine], PARAMETERS), strict=True):
        way = float(np.linalg.norm(b.detach().numpy() - start))
        apart = float(np.linalg.norm(a - b.detach().numpy()))
        if not apart <= tolerance * way:
            raise AssertionError(f"gradstep and PyTorch are {apart} apart after a way of {way} in {steps} steps")


def add_yardstick() -> Yardstick:
    """a += b on 16M f32, the most that one core gets out of this memory while it computes."""
    a, b = random_arrays([(LARGE,)] * 2, 7)
    return Yardstick(lambda: np.add(a, b, out=a), 12 * LARGE)


def memory_cases() -> Iterator[Case]:
    """The machine's own limits; gradstep has no part in them."""
    source, target = random_arrays([(LARGE,)] * 2, 0)
    calls = {"numpy": lambda: np.copyto(target, source)}
    if torch:
        torch_source, torch_target = as_torch([source, target])
        calls["torch"] = lambda: torch_target.copy_(torch_source)
    yield Case("machine: copy, 16M f32", calls, lambda: None, 8 * LARGE)
    a, b = random_arrays([(LARGE,)] * 2, 0)
    calls = {"numpy": lambda: np.add(a, b, out=a)}
    if torch:
        torch_a, torch_b = as_torch([a, b])
        calls["torch"] = lambda: torch_a.add_(torch_b)
    yield Case("machine: a += b, 16M f32", calls, lambda: None, 12 * LARGE)


def accumulate_cases() -> Iterator[Case]:
    gradient = random_arrays([(LARGE,)], 1)[0]
    yield accumulate_case("accumulate 16M f32", gradient, 12 * LARGE)
    if torch:
        yield accumulate_case("accumulate 16M bf16 into f32", torch.from_numpy(gradient).bfloat16(), 10 * LARGE)


def accumulate_case(name: str, gradient, bytes_moved: int) -> Case:
    parameter = np.zeros(LARGE, dtype=np.float32)
    accumulator = gradstep.Accumulator([parameter], steps=None, mode="sum", context=context())
    calls = {"gradstep": lambda: accumulator.add([gradient])}
    theirs = None
    if torch:
        theirs = torch.zeros(LARGE)
        addend = gradient if isinstance(gradient, torch.Tensor) else torch.from_numpy(gradient)
        calls["torch"] = lambda: theirs.add_(addend)

    def check() -> None:
        if theirs is not None:
            accumulator.flush()
            compare(accumulator.gradients(), [theirs], 0)  # the same f32 additions in the same order

    return Case(name, calls, check, bytes_moved)


def sparse_cases() -> Iterator[Case]:
    """A whole sparse window of one rank (residual, selection, sum, residual again) beside PyTorch's selection alone."""
    gradient = random_arrays([(LARGE,)], 4)[0]
    reducer = gradstep.Reducer(
        gradstep.Communicator.self(), [gradient], mode="sparse_topk", sparsity=0.01, context=context()
    )
    calls = {"gradstep": lambda: reducer.reduce([gradient], in_place=False)}
    if torch:
        magnitudes = torch.from_numpy(gradient).abs()
        calls["torch.topk alone"] = lambda: torch.topk(magnitudes, LARGE // 100, sorted=False)

    def check() -> None:
        sent, waiting = reducer.gradients()[0], reducer.residual(0)
        assert np.count_nonzero(sent) == -(-LARGE // 100), "not a hundredth was sent"
        assert np.min(np.abs(sent[sent != 0])) >= np.max(np.abs(waiting)), "something larger was not sent"

    yield Case("sparse window, 1 % of 16M f32", calls, check, 0, 9)


def powersgd_case(name: str, rows: int, cols: int) -> Case:
    """A whole window of one rank. PyTorch: the same products in f32, and a QR decomposition."""
    rank = 4
    gradient = random_arrays([(rows, cols)], 9)[0]
    reducer = gradstep.Reducer(gradstep.Communicator.self(), [gradient], mode="powersgd", rank=rank, context=context())
    calls = {"gradstep": lambda: reducer.reduce([gradient], in_place=False)}
    if torch:
        theirs = torch.from_numpy(gradient)
        whole, residual, result = torch.empty_like(theirs), torch.zeros_like(theirs), torch.empty_like(theirs)
        factor = torch.from_numpy(random_arrays([(cols, rank)], 10)[0])

        def torch_window() -> None:
            nonlocal factor
            torch.add(theirs, residual, out=whole)
            basis, _ = torch.linalg.qr(whole @ factor)
            factor = whole.T @ basis
            torch.matmul(basis, factor.T, out=result)
            torch.sub(whole, result, out=residual)

        calls["torch, f32"] = torch_window

    def check() -> None:
        # The residual has all that was left out of every window: as much with both.
        if torch:
            mine, their_length = np.linalg.norm(reducer.residual(0)), float(torch.linalg.norm(residual))
            assert abs(mine - their_length) < 0.01 * their_length, f"residuals of lengths {mine} and {their_length}"

    # gradient and residual are added, the sum is read for each product, and parted into result and residual
    return Case(name, calls, check, 32 * rows * cols, 9)


def powersgd_cases() -> Iterator[Case]:
    yield powersgd_case("PowerSGD window, rank 4, 4096x4096", 4096, 4096)
    yield powersgd_case("PowerSGD window, rank 4, 50257x768", 50257, 768)


def step_case(
    name: str,
    shapes,
    make_mine,
    make_theirs,
    bytes_per_element: float,
    rounds: int,
    calls: int = 1,
    peer: str = "torch fused",
    tolerance: float = 1e-6,
    compare=compare_after_steps,
) -> Case:
    mine, gradients = random_arrays(shapes, PARAMETERS), random_arrays(shapes, GRADIENTS)
    optimizer = make_mine(mine)
    contenders = {"gradstep": lambda: optimizer.step(mine, gradients)}
    theirs = []
    if torch and make_theirs:
        theirs = [torch.nn.Parameter(tensor) for tensor in as_torch(random_arrays(shapes, PARAMETERS))]
        for parameter, gradient in zip(theirs, as_torch(gradients), strict=True):
            parameter.grad = gradient
        contenders[peer] = make_theirs(theirs).step
    elements = sum(array.size for array in mine)

    def check() -> None:
        if theirs:
            compare(mine, theirs, optimizer.step_count, tolerance)

    return Case(name, contenders, check, int(bytes_per_element * elements), rounds, calls)


def optimizer_cases() -> Iterator[Case]:
    def sgd(arrays):
        return gradstep.SGD(arrays, learning_rate=1e-3, momentum=0.9, first_step="copy", context=context())

    def torch_sgd(parameters):
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, fused=True)

    def adam(arrays, **options):
        return gradstep.Adam(arrays, learning_rate=1e-3, context=context(), **options)

    def torch_adam(parameters, **options):
        return torch.optim.Adam(parameters, lr=1e-3, fused=True, **options)

    def rmsprop(arrays):
        return gradstep.RMSProp(arrays, learning_rate=1e-3, rho=0.99, epsilon_placement="outside", context=context())

    def torch_rmsprop(parameters):  # has no fused form on the CPU
        return torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.99, foreach=True)

    def adagrad(arrays):
        return gradstep.AdaGrad(arrays, learning_rate=1e-3, epsilon_placement="outside", context=context())

    def torch_adagrad(parameters):
        return torch.optim.Adagrad(parameters, lr=1e-3, eps=1e-8, fused=True)

    def adafactor(arrays):
        epsilon = float(np.finfo(np.float32).eps)  # torch's
        return gradstep.Adafactor(arrays, learning_rate=1e-3, epsilon=epsilon, context=context())

    def torch_adafactor(parameters):  # has no fused form
        return torch.optim.Adafactor(parameters, lr=1e-3, foreach=True)

    yield step_case("SGD momentum, 16M f32", [(LARGE,)], sgd, torch_sgd, 20, 15)
    yield step_case("SGD momentum, 400 of 64x64", SMALL, sgd, torch_sgd, 20, 31, 3)
    yield step_case("RMSProp, 16M f32", [(LARGE,)], rmsprop, torch_rmsprop, 20, 9, peer="torch foreach")
    yield step_case("AdaGrad, 16M f32", [(LARGE,)], adagrad, torch_adagrad, 20, 15)
    yield step_case("Adam, 16M f32", [(LARGE,)], adam, torch_adam, 28, 15)
    yield step_case("Adam, 400 of 64x64", SMALL, adam, torch_adam, 28, 31, 3)
    yield step_case(
        "AMSGrad, 16M f32",
        [(LARGE,)],
        lambda arrays: adam(arrays, amsgrad=True),
        lambda parameters: torch_adam(parameters, amsgrad=True),
        36,
        15,
    )
    # g is read for the factors, the length of the direction and the step; p for its length and the step.
    matrices = [(1024, 1024)] * 16
    yield step_case("Adafactor, 16 of 1024x1024", matrices, adafactor, torch_adafactor, 24, 9, peer="torch foreach")
    if torch:
        yield channels_last_case("Adam, channels last, 512x512x3x3", (512, 512, 3, 3))
    yield step_case("Adam, 1 of 16, cost of a call", [(16,)], adam, torch_adam, 0, 31, 500)
    yield step_case("SGD momentum, 1 of 16, cost of a call", [(16,)], sgd, torch_sgd, 0, 31, 500)


class TorchMuonInF32:
    """torch.optim.Muon, which rounds its matrices to bf16, with the same operations in f32."""

    def __init__(self, parameters: Sequence, rate: float) -> None:
        self._parameters, self._rate = parameters, rate
        self._momenta = [torch.zeros_like(parameter) for parameter in parameters]

    def step(self) -> None:
        with torch.no_grad():
            for parameter, momentum in zip(self._parameters, self._momenta, strict=True):
                momentum.lerp_(parameter.grad, 0.05)
                update = self._orthogonalized(parameter.grad.lerp(momentum, 0.95))
                rows, columns = parameter.shape
                parameter.add_(update, alpha=-self._rate * max(1, rows / columns) ** 0.5)

    @staticmethod
    def _orthogonalized(update):
        x = update.T if update.size(0) > update.size(1) else update
        x = x / x.norm().clamp(min=1e-7)
        for _ in range(5):
            gram = x @ x.T
            x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
        return x.T if update.size(0) > update.size(1) else x


MUON = (
    ("Muon in f32, a layer of GPT-2", "f32", "matrix"),
    ("Muon in f32, Gram iterations, a layer of GPT-2", "f32", "gram"),
    ("Muon in bf16, a layer of GPT-2", "bf16", "matrix"),
    ("Muon in bf16, Gram iterations, a layer of GPT-2", "bf16", "gram"),
)


def muon_cases() -> Iterator[Case]:
    """The matrices of one of GPT-2 small's layers, on one thread each."""
    peers = {
        "f32": (lambda parameters: TorchMuonInF32(parameters, RATE), "torch in f32", 1e-4),
        "bf16": (lambda parameters: torch.optim.Muon(parameters, lr=RATE, weight_decay=0), "torch.optim", 0.05),
    }
    for name, precision, iterate in MUON:
        peer, peer_name, tolerance = peers[precision]
        options = {"learning_rate": RATE, "normalizer": "max", "product_precision": precision, "iterate": iterate}
        case = step_case(
            name,
            LAYER,
            lambda arrays, options=options: gradstep.Muon(arrays, context=context(), **options),
            peer,
            0,
            5,
            peer=peer_name,
            tolerance=tolerance,
            compare=compare_movements,
        )
        case.clock = time.thread_time  # arithmetic, out of the caches
        yield case


def precision_cases() -> Iterator[Case]:
    yield narrow_state_case("Adam, bf16 state, 16M f32", 20, state_dtype="bf16")
    yield narrow_state_case("Adam, 8-bit state, 16M f32", 16 + 4 * 4 / 256, state_dtype="int8")
    if torch:
        yield master_weights_case("AdamW, bf16 with masters, 16M", torch.bfloat16)
        yield master_weights_case("AdamW, f16 with masters, 16M", torch.float16)


def narrow_state_case(name: str, bytes_per_element: float, **options) -> Case:
    """The peer is PyTorch's Adam with its state in f32, which this one stands in for: no results to compare."""
    case = step_case(
        name,
        [(LARGE,)],
        lambda arrays: gradstep.Adam(arrays, learning_rate=1e-3, context=context(), **options),
        lambda parameters: torch.optim.Adam(parameters, lr=1e-3, fused=True),
        bytes_per_element,
        9,
    )
    case.check = lambda: None
    return case


def master_weights_case(name: str, dtype) -> Case:
    """Parameters and gradients in 16 bits, an f32 copy that is stepped. PyTorch: copies around its fused AdamW."""
    values, gradient = random_arrays([(LARGE,)] * 2, 8)
    narrow, narrow_gradient = torch.from_numpy(values).to(dtype), torch.from_numpy(gradient).to(dtype)
    optimizer = gradstep.Adam(
        [narrow],
        learning_rate=1e-3,
        weight_decay=0.01,
        decoupled_weight_decay=True,
        master_weights=True,
        context=context(),
    )
    theirs = torch.from_numpy(values).to(dtype)
    master = torch.nn.Parameter(theirs.float())
    master.grad = torch.zeros(LARGE)
    adamw = torch.optim.AdamW([master], lr=1e-3, weight_decay=0.01, fused=True)

    def torch_step() -> None:
        master.grad.copy_(narrow_gradient)
        adamw.step()
        theirs.copy_(master.detach())

    def check() -> None:
        # A last bit (of bf16, at most) where the two masters lie on either side of a boundary.
        compare([narrow.float().numpy()], [theirs.float()], 2**-7)

    contenders = {"gradstep": lambda: optimizer.step([narrow], [narrow_gradient]), "torch fused": torch_step}
    # gradient 2; parameter 2 + 2; master and moments 8 each
    return Case(name, contenders, check, 30 * LARGE, 9)


def channels_last_case(name: str, shape: tuple[int, ...]) -> Case:
    """Images' weights as PyTorch has them in channels_last: in another order in memory than in their shape."""

    def arrays(seed: int) -> list:
        return [torch.from_numpy(random_arrays([shape], seed)[0]).contiguous(memory_format=torch.channels_last)]

    mine, gradients, theirs = arrays(2), arrays(3), [torch.nn.Parameter(tensor) for tensor in arrays(2)]
    theirs[0].grad = gradients[0].clone(memory_format=torch.preserve_format)
    optimizer = gradstep.Adam(mine, learning_rate=1e-3, context=context())
    fused = torch.optim.Adam(theirs, lr=1e-3, fused=True)

    def check() -> None:
        compare_after_steps([tensor.numpy() for tensor in mine], theirs, optimizer.step_count)

    contenders = {"gradstep": lambda: optimizer.step(mine, gradients), "torch fused": fused.step}
    return Case(name, contenders, check, 28 * mine[0].numel(), 15)


def window_case(name: str, shapes, rounds: int) -> Case:
    """Eight micro-batches, global-norm clipping, AdamW, start over."""
    mine = random_arrays(shapes, 4)
    micro_batches = [random_arrays(shapes, 5), random_arrays(shapes, 6)]
    shared = context()
    accumulator = gradstep.Accumulator(mine, steps=MICRO_BATCHES, mode="sum", context=shared)
    adamw = gradstep.Adam(mine, learning_rate=1e-3, weight_decay=0.01, decoupled_weight_decay=True, context=shared)

    def window() -> None:
        for k in range(MICRO_BATCHES):
            accumulator.add(micro_batches[k % 2])
        norm = np.array([accumulator.norm])  # known already: no pass over the gradients for it
        adamw.step(mine, accumulator.gradients(), max_norm=1.0, grad_norm=norm)

    contenders = {"gradstep": window}
    theirs = []
    if torch:
        theirs = [torch.nn.Parameter(tensor) for tensor in as_torch(random_arrays(shapes, 4))]
        addends = [as_torch(arrays) for arrays in micro_batches]
        for parameter in theirs:
            parameter.grad = torch.zeros_like(parameter)
        optimizer = torch.optim.AdamW(theirs, lr=1e-3, weight_decay=0.01, fused=True)

        def torch_window() -> None:
            for parameter in theirs:
                parameter.grad.zero_()
            for k in range(MICRO_BATCHES):
                for parameter, addend in zip(theirs, addends[k % 2], strict=True):
                    parameter.grad.add_(addend)
            torch.nn.utils.clip_grad_norm_(theirs, 1.0)
            optimizer.step()

        contenders["torch fused"] = torch_window

    def check() -> None:
        if theirs:
            compare_after_steps(mine, theirs, adamw.step_count)

    elements = sum(array.size for array in mine)
    # one assignment, seven additions, one step
    return Case(name, contenders, check, (8 + 7 * 12 + 28) * elements, rounds)


def window_cases() -> Iterator[Case]:
    yield window_case("window of 8, clip, AdamW, 16M f32", [(LARGE,)], 9)
    yield window_case("window of 8, clip, AdamW, 400 of 64x64", SMALL, 21)


def all_cases() -> Iterator[Case]:
    """Made one after another, so that only one case's arrays are in memory."""
    yield from memory_cases()
    yardstick = add_yardstick()
    families = (
        accumulate_cases,
        optimizer_cases,
        muon_cases,
        precision_cases,
        sparse_cases,
        powersgd_cases,
        window_cases,
    )
    for family in families:
        for case in family():
            if case.bytes_moved:
                case.yardstick = yardstick
            yield case
