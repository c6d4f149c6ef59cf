# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""optax.contrib.muon: one optimizer with a rule for matrices, and another for all else."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import gradstep
from gradstep._named_optimizer import GroupedOptimizer
from gradstep.errors import InvalidArgument, Unsupported
from gradstep.optax._rules import ScalarOrSchedule, adam_fields, alias, first_moment
from gradstep.optax._states import Tree
from gradstep.optax._transformation import Described, Mask, Moment, Transformation, in_optax_form, plain, spread_over

DimensionNumbers: TypeAlias = Tree | Callable[[Tree], Tree]
"""optax.contrib.MuonDimensionNumbers, or a tree of them and of None, whose leaves may stand for subtrees, or a function
that makes such a tree of the parameters."""

_ADAM, _MATRICES, _MATRICES_WITHOUT_DECAY = range(3)
"""The groups."""

_SIMPLE = (3.4445, -4.7750, 2.0315)
_DION = (
    (4.0848, -6.8946, 2.9270),
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)


class _Matrices(NamedTuple):
    """How a tensor is a batch of matrices of rows x columns."""

    axes: tuple[int, ...]
    """Places of the batch's axes, the rows', the columns'."""
    shape: tuple[int, ...]
    """Sizes of the axes, in that order."""
    batch: int
    rows: int
    columns: int

    def take(self, tensor: NDArray[Any]) -> list[NDArray[Any]]:
        """The matrices: views where their numbers lie in order."""
        return list(np.ascontiguousarray(tensor.transpose(self.axes)).reshape(self.batch, self.rows, self.columns))

    def put(self, matrices: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The tensor."""
        together = np.concatenate([matrix.reshape(-1) for matrix in matrices]) if matrices else np.empty(0, np.float32)
        return np.ascontiguousarray(together.reshape(self.shape).transpose(np.argsort(self.axes)))


_Forms: TypeAlias = Sequence[_Matrices | None]
"""None: as it is, by Adam."""


def _matrices(name: str, shape: tuple[int, ...], numbers: Any) -> _Matrices:
    """By MuonDimensionNumbers."""
    if len(shape) < 2:
        raise InvalidArgument(f"muon_weight_dimension_numbers: {name} has {len(shape)} axes, muon needs 2 or more")

    def places(argument: str) -> tuple[int, ...]:
        given = getattr(numbers, argument)
        listed = (given,) if isinstance(given, int) else tuple(given)
        for axis in listed:
            if not -len(shape) <= axis < len(shape):
                raise InvalidArgument(
                    f"muon_weight_dimension_numbers: {argument} of {name} is {given}, expected axes of {len(shape)}"
                )
        return tuple(axis % len(shape) for axis in listed)

    rows, columns = places("reduction_axis"), places("output_axis")
    if len({*rows, *columns}) < len(rows) + len(columns):
        raise InvalidArgument(
            f"muon_weight_dimension_numbers: reduction_axis {rows} and output_axis {columns} of {name} have an axis "
            "twice"
        )
    batch = tuple(axis for axis in range(len(shape)) if axis not in (*rows, *columns))
    axes = (*batch, *rows, *columns)
    sizes = [math.prod(shape[axis] for axis in part) for part in (batch, rows, columns)]
    return _Matrices(axes, tuple(shape[axis] for axis in axes), *sizes)


def _is_numbers(value: Any) -> bool:
    return hasattr(value, "reduction_axis") and hasattr(value, "output_axis")


class _Muon(Transformation):
    """A transformation with a rule for each group, whose leaves may be several parameters of gradstep's."""

    def __init__(
        self,
        rules: Sequence[tuple[str, dict[str, Any]]],
        shared: Mapping[str, Any],
        dimension_numbers: DimensionNumbers | None,
        decay_mask: Mask | None,
        moment: Moment | None,
        context: gradstep.Context | None,
    ) -> None:
        self._rules = [(rule, {**plain(options), **plain(shared)}) for rule, options in rules]
        self._dimension_numbers = dimension_numbers
        self._decay_mask = decay_mask
        super().__init__(GroupedOptimizer, dict(shared), moment=moment, context=context)

    def _given(self) -> Iterable[tuple[int, dict[str, Any]]]:
        return enumerate(options for _, options in self._rules)

    def _first_options(self) -> dict[str, Any]:
        return {
            "rules": [(rule, {**options, **self._first_values(i)}) for i, (rule, options) in enumerate(self._rules)]
        }

    def _reader_of_parameters(self) -> str | None:
        decays = any(options.get("weight_decay", 0.0) != 0 for _, options in self._rules)
        return "weight_decay" if decays else super()._reader_of_parameters()

    def _groups_of(self, optimizer: gradstep.Optimizer, name: str, number: int) -> list[int]:
        return [number]

    def _forms(self, tree: Tree) -> _Forms:
        """How each leaf is stepped."""
        leaves = jax.tree_util.tree_leaves_with_path(tree)
        names = [jax.tree_util.keystr(path) for path, _ in leaves]
        shapes = [tuple(jnp.shape(leaf)) for _, leaf in leaves]
        given = self._dimension_numbers
        if given is None:
            plain_matrix = _Axes(0, 1)
            numbers = [plain_matrix if len(shape) == 2 else None for shape in shapes]
        else:
            chosen = given(tree) if callable(given) else given
            numbers = spread_over(chosen, tree, lambda value: value is None or _is_numbers(value))
            for name, value in zip(names, numbers, strict=True):
                if value is not None and not _is_numbers(value):
                    raise InvalidArgument(
                        f"muon_weight_dimension_numbers: is {value!r} for {name}, expected None or MuonDimensionNumbers"
                    )
        return [
            None if each is None else _matrices(name, shape, each)
            for name, shape, each in zip(names, shapes, numbers, strict=True)
        ]

    def _groups(self, params: Tree) -> list[int]:
        decays = [True] * len(jax.tree_util.tree_leaves(params))
        if self._decay_mask is not None:
            mask = self._decay_mask(params) if callable(self._decay_mask) else self._decay_mask
            decays = [bool(yes) for yes in spread_over(mask, params)]
        return [
            _ADAM if form is None else _MATRICES if yes else _MATRICES_WITHOUT_DECAY
            for form, yes in zip(self._forms(params), decays, strict=True)
        ]

    def _describe(
        self, names: Sequence[str], shapes: Sequence[Described], groups: Sequence[int] | None, forms: _Forms
    ) -> tuple[Sequence[str], Sequence[Described], Sequence[int] | None]:
        assert groups is not None
        found: list[tuple[str, Described, int]] = []
        for name, (shape, dtype), group, form in zip(names, shapes, groups, forms, strict=True):
            if form is None:
                found.append((name, (shape, dtype), group))
                continue
            labels = [name] if form.batch == 1 else [f"{name}[{i}]" for i in range(form.batch)]
            found += [(label, ((form.rows, form.columns), dtype), group) for label in labels]
        return [name for name, _, _ in found], [each for _, each, _ in found], [group for _, _, group in found]

    def _take(self, arrays: list[NDArray[Any]], forms: _Forms) -> list[NDArray[Any]]:
        taken: list[NDArray[Any]] = []
        for array, form in zip(arrays, forms, strict=True):
            taken += [array] if form is None else form.take(array)
        return taken

    def _put(self, deltas: Sequence[NDArray[Any]], forms: _Forms) -> Sequence[NDArray[Any]]:
        rest = iter(deltas)
        return [next(rest) if form is None else form.put(list(islice(rest, form.batch))) for form in forms]


class _Axes(NamedTuple):
    """MuonDimensionNumbers of an optax that may have none."""

    reduction_axis: int
    output_axis: int


def _iterations(ns_coeffs: Any, ns_steps: Any) -> dict[str, Any]:
    """Options of gradstep's rule for Newton-Schulz coefficients: a triple, some of them, or a name."""
    presets: Mapping[str, Any] = {"standard": _SIMPLE, "dion": _DION}
    if isinstance(ns_coeffs, str):
        if ns_coeffs not in presets:
            raise InvalidArgument(f"ns_coeffs: is {ns_coeffs!r}, expected numbers or one of {', '.join(presets)}")
        ns_coeffs = presets[ns_coeffs]
    found = np.asarray(ns_coeffs, np.float64)
    if found.ndim not in (1, 2) or found.shape[-1] != 3 or found.size == 0:
        raise InvalidArgument(f"ns_coeffs: has shape {found.shape}, expected (3,) or (n, 3)")
    steps = int(ns_steps)
    if found.ndim == 2:
        if len(found) > steps:
            raise InvalidArgument(f"ns_steps: is {steps}, ns_coeffs has {len(found)} triples, expected at most as many")
        steps = len(found)
        if np.array_equal(found, _DION[:steps]):
            return {"coefficients": "quintic", "iterations": steps}
        if not (found == found[0]).all():
            raise Unsupported(
                "ns_coeffs: has different triples, gradstep's rule takes 'dion' or one triple for all steps; "
                "use optax.contrib.muon"
            )
        found = found[0]
    a, b, c = found.tolist()
    return {
        "coefficients": "own",
        "coefficient_a": a,
        "coefficient_b": b,
        "coefficient_c": c,
        "iterations": steps,
    }


@alias
def muon(
    learning_rate: ScalarOrSchedule,
    ns_coeffs: Any = _SIMPLE,
    ns_steps: int = 5,
    beta: ScalarOrSchedule = 0.95,
    eps: float = 1e-8,
    weight_decay: ScalarOrSchedule = 0.0,
    weight_decay_mask: Mask | None = None,
    mu_dtype: Any | None = None,
    *,
    nesterov: bool = True,
    adaptive: bool = False,
    preconditioning: str = "frobenius",
    adam_b1: ScalarOrSchedule = 0.9,
    adam_b2: ScalarOrSchedule = 0.999,
    adam_eps_root: ScalarOrSchedule = 0.0,
    adam_weight_decay: ScalarOrSchedule = 0.0,
    adam_learning_rate: ScalarOrSchedule | None = None,
    muon_weight_dimension_numbers: DimensionNumbers | None = None,
    consistent_rms: float | None = None,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.muon, but for adaptive and other preconditioning. Further options: those that all rules share.

    What is no matrix steps by AdamW, with nesterov by NAdamW, in the same gradstep optimizer: one state, one file.

    ns_coeffs: a triple, as many triples as there are steps, if they are equal or "dion"'s, "standard" or "dion".
    adam_eps_root: 0 without nesterov.
    muon_weight_dimension_numbers: optax.contrib.MuonDimensionNumbers or a tree of them (None: by AdamW), or a function
        that makes one of the parameters. Axes that they do not name make a batch of matrices, each of them a parameter
        of the gradstep optimizer.
    """
    if adaptive:
        raise Unsupported("adaptive: gradstep's Muon does not scale by the dual norm; use optax.contrib.muon")
    if preconditioning != "frobenius":
        raise Unsupported(
            f"preconditioning: is {preconditioning!r}, gradstep's Muon divides by the Frobenius norm; leave it out, "
            "or use optax.contrib.muon"
        )
    if not nesterov and not (isinstance(adam_eps_root, (int, float)) and adam_eps_root == 0):
        raise Unsupported(
            f"adam_eps_root: is {adam_eps_root}; gradstep's Adam adds eps to the root and nothing under it; leave it "
            "0, or take nesterov=True"
        )
    rate = learning_rate if adam_learning_rate is None else adam_learning_rate
    adam = {**adam_fields(rate, adam_b1, adam_b2, eps), "weight_decay": adam_weight_decay, "decay_mode": "decoupled"}
    if nesterov:
        adam |= {"epsilon_root": adam_eps_root, "form": "optax"}
    scale: dict[str, Any] = {"step_scale": "kernel"}
    if consistent_rms is not None:
        scale = {"step_scale": "largest", "scale_factor": consistent_rms}
    matrices = {
        "learning_rate": learning_rate,
        "momentum": beta,
        "weight_decay": weight_decay,
        "momentum_form": "corrected",
        "nesterov": nesterov,
        "epsilon": eps,
        **scale,
        **_iterations(ns_coeffs, ns_steps),
    }
    rules = [
        ("nadam" if nesterov else "adam", adam),
        ("muon", matrices),
        ("muon", {**matrices, "weight_decay": 0.0}),
    ]
    moment = first_moment(mu_dtype)
    made = _Muon(rules, options, muon_weight_dimension_numbers, weight_decay_mask, moment, context)
    return in_optax_form(made)
