# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A network on a CUDA device whose whole update is one CUDA graph: four micro-batches forward and backward, their mean
clipped by its norm, AdamW.

The graph is captured as PyTorch's notes on CUDA graphs say: a few updates on a side stream, then one inside
torch.cuda.graph, with gradients made anew there. Every later update writes its data and its learning rate into tensors
that stay, and replays the graph. A second run makes the same updates call by call, and must end with the same bits.

The exit status is 77 where PyTorch finds no CUDA device.
"""

import math

import torch

import gradstep
import gradstep.torch

UPDATES = 100
MICRO_BATCHES = 4
BATCH = 32
LEARNING_RATE = 0.02
WARM_UP = 3


def make_model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    return model.to("cuda")


def make_batches() -> torch.Tensor:
    """Points of the plane, on the device."""
    torch.manual_seed(1)
    return (torch.rand(UPDATES, MICRO_BATCHES, BATCH, 2) * 2 - 1).to("cuda")


def learning_rate(update: int) -> float:
    return LEARNING_RATE * (1 + math.cos(math.pi * update / UPDATES)) / 2


class Training:
    """A model, its optimizer, and the tensors that an update reads and writes."""

    def __init__(self) -> None:
        self.model = make_model()
        # docs:begin optimizer
        self.rate = torch.zeros((), device="cuda")  # read by each step when it runs
        self.optimizer = gradstep.torch.AdamW(self.model.parameters(), lr=self.rate, capturable=True)
        # docs:end optimizer
        self.points = torch.zeros(MICRO_BATCHES, BATCH, 2, device="cuda")
        self.loss = torch.zeros((), device="cuda")

    # docs:begin update
    def update(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.loss.zero_()
        for points in self.points:
            targets = points.prod(dim=1, keepdim=True)
            loss = torch.nn.functional.mse_loss(self.model(points), targets) / MICRO_BATCHES
            loss.backward()
            self.loss.add_(loss.detach())
        self.optimizer.step(max_norm=1.0)
        # docs:end update

    def run(self, with_graph: bool) -> float:
        """Returns the loss of the last update."""
        graph = None
        for update, points in enumerate(make_batches()):
            self.points.copy_(points)
            self.rate.fill_(learning_rate(update))
            if graph is not None:
                graph.replay()
            elif not with_graph or update < WARM_UP:
                self.update_beside()
            else:
                graph = self.capture()
                graph.replay()
        return self.loss.item()

    # docs:begin capture
    def update_beside(self) -> None:
        """An update on a side stream, as PyTorch wants it before a capture."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.update()
        torch.cuda.current_stream().wait_stream(side)

    def capture(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.update()
        return graph
        # docs:end capture


def main() -> None:
    if not torch.cuda.is_available():
        print(f"nothing to run on: PyTorch finds no CUDA device; gradstep: {gradstep.backend_status('cuda')}")
        raise SystemExit(77)
    replayed, eager = Training(), Training()
    print(f"last loss {replayed.run(with_graph=True):.5f} by a CUDA graph")
    print(f"last loss {eager.run(with_graph=False):.5f} call by call")
    pairs = zip(replayed.model.parameters(), eager.model.parameters(), strict=True)
    if not all(torch.equal(p.detach().cpu(), q.detach().cpu()) for p, q in pairs):
        raise SystemExit("the replayed run differs from the other one")
    print("the same bits")


if __name__ == "__main__":
    main()
