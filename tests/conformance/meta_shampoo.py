# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Meta's KL-Shampoo around gradstep's statistics and roots.

Meta preconditions an average of the gradients; gradstep averages preconditioned gradients. So its steps are none of
gradstep's, but its statistics and roots are. What is around them is here: the average, Adam's grafting, weight decay.
"""

import numpy as np

import gradstep


class MetaShampoo:
    """Steps as an optimizer of gradstep's does. Options have Meta's names, and its defaults."""

    def __init__(
        self,
        parameters: list[np.ndarray],
        *,
        learning_rate: float,
        grafts: bool,
        betas: tuple[float, float],
        epsilon: float,
        beta3: float | None = None,
        weight_decay: float = 0.0,
        precondition_frequency: int = 1,
        start_preconditioning_step: int = -1,
        use_bias_correction: bool = True,
    ) -> None:
        self.rate = learning_rate
        self.grafts = grafts
        self.beta1, self.beta2 = betas
        self.beta3 = self.beta1 if beta3 is None else beta3
        self.decay = weight_decay
        self.every = precondition_frequency
        self.first = self.every if start_preconditioning_step == -1 else start_preconditioning_step
        self.corrects = use_bias_correction
        self.steps = 0
        self.averages = [np.zeros_like(p) for p in parameters]
        self.squares = [np.zeros_like(p) for p in parameters]
        self.unused = [np.zeros_like(p) for p in parameters]
        self.roots = gradstep.Shampoo(
            self.unused,
            learning_rate=0.0,
            statistics="kl",
            ridge="absolute",
            matrix_epsilon=epsilon,
            best_effort_shape_interpretation=False,
            graft_type="none",
        )
        for i, p in enumerate(parameters):
            for axis, extent in enumerate(p.shape):
                self.roots.set_state(i, f"statistics.0.{axis}", np.zeros((extent, extent), p.dtype))

    def set_value(self, name: str, value: float) -> None:
        assert name == "learning_rate"
        self.rate = value

    def step(self, parameters: list[np.ndarray], gradients: list[np.ndarray]) -> None:
        self.steps += 1
        self.update_roots(gradients)
        for i, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
            p -= self.rate * (self.direction(i, g) + self.decay * p)

    def update_roots(self, gradients: list[np.ndarray]) -> None:
        """An average of t steps that is divided by 1 - beta2 ** t is one whose beta2 depends on t."""
        t = self.steps
        kept = 1 - (1 - self.beta2) / (1 - self.beta2**t) if self.corrects else self.beta2
        is_due = t == self.first or (t > self.first and t % self.every == 0)
        self.roots.set_value("beta2", kept)
        self.roots.set_value("inverse_failure_threshold", 0.1 if is_due else 0.0)  # 0: every root is refused
        self.roots.step(self.unused, gradients)

    def direction(self, i: int, g: np.ndarray) -> np.ndarray:
        average = self.beta3 * self.averages[i] + (1 - self.beta3) * g
        self.averages[i] = self.beta1 * self.averages[i] + (1 - self.beta1) * g
        self.squares[i] = self.beta2 * self.squares[i] + (1 - self.beta2) * g * g
        if self.corrects:
            average = average / (1 - self.beta3 * self.beta1 ** (self.steps - 1))
        # AdamPreconditionerConfig has an epsilon of its own, and corrects its squares in any case.
        adam = average / (np.sqrt(self.squares[i] / (1 - self.beta2**self.steps)) + 1e-8)
        if self.grafts and self.steps < self.first:
            return adam
        direction = average
        for axis in range(g.ndim):
            root = self.roots.get_state(i, f"preconditioners.0.{axis}")
            direction = np.moveaxis(np.tensordot(root, direction, ([1], [axis])), 0, axis)
        if not self.grafts:
            return direction
        return direction * (np.linalg.norm(adam) / (np.linalg.norm(direction) + 1e-16))
