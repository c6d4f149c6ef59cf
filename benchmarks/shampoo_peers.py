# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Shampoo by gradstep and by others, each as a function that makes one step of the same model.

All have momentum 0.9, beta2 0.999, a ridge of 1e-6, RMSProp grafting, and precondition from the first roots on.
install_shampoo_peers says where the others come from; one that is not installed raises ImportError here.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gradstep

Arrays = Sequence[NDArray[np.float32]]
Step = Callable[[Arrays], Any]
"""Takes the gradients, and returns when the parameters are stepped."""

RATE, BETA1, BETA2, RIDGE = 1e-3, 0.9, 0.999, 1e-6


def numpy_lapack() -> Path:
    """The OpenBLAS that NumPy brings with it."""
    found = sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*.so"))
    if not found:
        raise ImportError("NumPy was not installed with a BLAS of its own")
    return found[0]


def gradstep_options(block: int, every: int) -> dict[str, Any]:
    return {
        "learning_rate": RATE,
        "beta1": BETA1,
        "beta2": BETA2,
        "matrix_epsilon": RIDGE,
        "graft_type": "rmsprop",
        "block_size": block,
        "preconditioning_compute_steps": every,
        "start_preconditioning_step": 0,
    }


def gradstep_shampoo(
    parameters: Arrays, block: int, every: int, threads: int, lapack_library: Path | None = None, **options: Any
) -> Step:
    context = gradstep.Context(threads, lapack_library=lapack_library)
    optimizer = gradstep.Shampoo(parameters, context=context, **{**gradstep_options(block, every), **options})
    return functools.partial(optimizer.step, parameters)


class _PromotingLax:
    """jax.lax, with the while_loop of older versions: what it starts from takes the types of what its body returns."""

    def __getattr__(self, name: str) -> Any:
        from jax import lax

        return getattr(lax, name)

    @staticmethod
    def while_loop(condition: Callable, body: Callable, start: Any) -> Any:
        import jax

        carried = jax.eval_shape(body, start)
        promoted = jax.tree.map(lambda value, out: jax.numpy.asarray(value, out.dtype), tuple(start), tuple(carried))
        return jax.lax.while_loop(condition, body, promoted)


def google_jax(parameters: Arrays, block: int, every: int, threads: int) -> Step:
    """Google's distributed_shampoo.py as optax-shampoo packs it: batched coupled Newton in f64, under jit."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import optax

    # The package is of 2022. Names that JAX has moved since:
    for name in ("flatten", "map", "unflatten"):
        setattr(jax, f"tree_{name}", getattr(jax.tree, name))
    from optax_shampoo import distributed_shampoo as package

    package.lax = _PromotingLax()
    GraftingType, distributed_shampoo = package.GraftingType, package.distributed_shampoo

    transformation = distributed_shampoo(
        RATE,
        block,
        beta1=BETA1,
        beta2=BETA2,
        matrix_epsilon=RIDGE,
        graft_type=GraftingType.RMSPROP,
        preconditioning_compute_steps=every,
        start_preconditioning_step=0,
        merge_small_dims_block_size=block,
    )
    held = [jnp.asarray(parameter) for parameter in parameters]
    state = transformation.init(held)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(held: Any, state: Any, grads: Any) -> Any:
        updates, state = transformation.update(grads, state, held)
        return optax.apply_updates(held, updates), state

    def step(grads: Arrays) -> None:
        nonlocal held, state
        held, state = jax.block_until_ready(update(held, state, [jnp.asarray(grad) for grad in grads]))
        step.parameters = held

    return step


def of_torch(make: Callable[[Any], Any], parameters: Arrays, threads: int) -> Step:
    """A step of a torch optimizer; `make` gets the parameters."""
    import torch

    torch.set_num_threads(threads)
    held = [torch.nn.Parameter(torch.from_numpy(parameter.copy())) for parameter in parameters]
    optimizer = make(held)

    def step(grads: Arrays) -> None:
        for parameter, grad in zip(held, grads, strict=True):
            parameter.grad = torch.from_numpy(grad)
        optimizer.step()

    return step


def meta_optimizer(held: Any, block: int, every: int) -> Any:
    """Meta's Distributed Shampoo: eigendecompositions, in f32 where they succeed."""
    from distributed_shampoo import DistributedShampoo, RMSpropPreconditionerConfig

    return DistributedShampoo(
        held,
        lr=RATE,
        betas=(BETA1, BETA2),
        epsilon=RIDGE,
        max_preconditioner_dim=block,
        precondition_frequency=every,
        start_preconditioning_step=every,
        grafting_config=RMSpropPreconditionerConfig(beta2=BETA2),
    )


def meta(parameters: Arrays, block: int, every: int, threads: int) -> Step:
    return of_torch(functools.partial(meta_optimizer, block=block, every=every), parameters, threads)


def pytorch_optimizer(parameters: Arrays, block: int, every: int, threads: int) -> Step:
    """pytorch-optimizer's ScalableShampoo, a port of Google's to torch: coupled Newton in f32."""
    from pytorch_optimizer import ScalableShampoo
    from pytorch_optimizer.optimizer.utils.graft import LayerWiseGrafting

    def make(held: Any) -> Any:
        return ScalableShampoo(
            held,
            lr=RATE,
            betas=(BETA1, BETA2),
            matrix_eps=RIDGE,
            block_size=block,
            preconditioning_compute_steps=every,
            start_preconditioning_step=every,
            graft_type=LayerWiseGrafting.RMSPROP,
        )

    return of_torch(make, parameters, threads)


def gradstep_soap(parameters: Arrays, block: int, every: int, threads: int) -> Step:
    return gradstep_shampoo(
        parameters, block, every, threads, eigenvalue_corrected=True, best_effort_shape_interpretation=False
    )


def pytorch_optimizer_soap(parameters: Arrays, block: int, every: int, threads: int) -> Step:
    """pytorch-optimizer's SOAP; it does not cut matrices."""
    from pytorch_optimizer import SOAP

    return of_torch(
        lambda held: SOAP(held, lr=RATE, betas=(BETA1, BETA2), weight_decay=0.0, precondition_frequency=every),
        parameters,
        threads,
    )
