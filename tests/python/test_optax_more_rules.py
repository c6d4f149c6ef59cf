# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The aliases of gradstep.optax beside those of optax and optax.contrib."""

import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")

from optax_training import STEPS, TOLERANCE, largest_error, stacked_gradients, train, tree  # noqa: E402

from gradstep import optax as adapters  # noqa: E402  (imports jax)

MASK = {"layer": True, "rows": [False, True]}
COSINE = optax.cosine_decay_schedule(0.02, STEPS)
CASES = [
    ("sign_sgd", {"learning_rate": COSINE}),
    ("signum", {"learning_rate": 0.02, "beta": 0.8}),
    ("lion", {"learning_rate": 0.02}),
    ("lion", {"learning_rate": COSINE, "b1": 0.8, "b2": 0.95, "weight_decay": 0.1, "mask": MASK}),
    ("lamb", {"learning_rate": 0.02}),
    ("lamb", {"learning_rate": COSINE, "b1": 0.8, "eps_root": 1e-6, "weight_decay": 0.1, "mask": MASK}),
    ("nadam", {"learning_rate": 0.02, "b1": 0.8, "eps_root": 1e-6}),
    ("nadamw", {"learning_rate": COSINE, "weight_decay": 0.1, "mask": MASK}),
    ("radam", {"learning_rate": 0.02, "b2": 0.9}),
    ("radam", {"learning_rate": 0.02, "b2": 0.8, "threshold": 4.5, "nesterov": True}),
    ("adamax", {"learning_rate": 0.02, "b2": 0.9}),
    ("adamaxw", {"learning_rate": COSINE, "weight_decay": 0.1, "mask": MASK}),
    ("adabelief", {"learning_rate": 0.02, "eps": 1e-6, "eps_root": 1e-8}),
    ("adabelief", {"learning_rate": 0.02, "eps": 1e-6, "eps_root": 1e-8, "nesterov": True}),
    ("yogi", {"learning_rate": 0.02}),
    ("adan", {"learning_rate": 0.02, "b3": 0.9, "weight_decay": 0.1, "mask": MASK}),
    ("adadelta", {"learning_rate": 0.5, "rho": 0.8}),
    ("ademamix", {"learning_rate": 0.02, "b3": 0.99, "alpha": 2.0, "weight_decay": 0.1, "mask": MASK}),
    ("adopt", {"learning_rate": 0.02, "b2": 0.9, "eps": 1e-3}),
    ("adopt", {"learning_rate": 0.02, "b2": 0.9, "eps": 1e-2, "nesterov": True, "use_clipping": False}),
]


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda value: "-".join(value) if isinstance(value, dict) else value
)
def test_updates_are_those_of_optax(name, options, how, random):
    params = tree(random)
    grads = stacked_gradients(random, params)
    peer = getattr(optax, name, None) or getattr(optax.contrib, name)
    expected, _ = train(peer(**options), params, grads, "jit")
    transformation = getattr(adapters, name)(**options)
    got, state = train(transformation, params, grads, how)
    assert largest_error(got, expected) <= TOLERANCE
    assert adapters.optimizer_of(state).step_count == STEPS


def test_every_alias_is_tried():
    tried = {name for name, _ in CASES}
    others = {"adagrad", "adam", "adamw", "muon", "optimizer_of", "release", "rmsprop", "sgd", "shampoo"}
    others |= {"shampoo_from_adamw"}  # in files of their own
    assert tried == {name for name in adapters.__all__ if name.islower()} - others
