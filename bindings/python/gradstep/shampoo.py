# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Shampoo. Options are the fields of the C library's struct."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypedDict, Unpack

from gradstep import _native
from gradstep._arrays import Groups, Parameters, Schema, schema
from gradstep._keywords import Keyword, documented, enums_of
from gradstep._options import set_options
from gradstep._partition import blocks
from gradstep._shared_arguments import ARGUMENTS
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument, InvalidState, Unsupported
from gradstep.optimizer import Optimizer, above_zero
from gradstep.schedule import Number, Schedule


class ShampooOptions(TypedDict, total=False):
    learning_rate: Annotated[Number, Keyword("what the direction of a step is multiplied by", ">= 0")]
    block_size: Annotated[
        int,
        Keyword("elements: longer dimensions are cut at its multiples, neighbours are merged up to it", ">= 1"),
    ]
    beta1: Annotated[Number, Keyword("what a step leaves of the momentum", "in [0, 1)")]
    beta2: Annotated[
        Number, Keyword("what an update leaves of the statistics; 1 turns the mean into a sum", "in [0, 1]")
    ]
    diagonal_epsilon: Annotated[Number, Keyword("keeps the divisor of the grafting rule from 0", ">= 0")]
    matrix_epsilon: Annotated[
        Number, Keyword("the ridge under a root, as a part of the largest eigenvalue (but see ridge)", ">= 0")
    ]
    weight_decay: Annotated[Number, Keyword("this much of the parameter is added to the direction", ">= 0")]
    decoupled_weight_decay: Annotated[
        bool, Keyword("takes learning_rate * weight_decay of the parameter from it instead, past the momentum")
    ]
    start_preconditioning_step: Annotated[int, Keyword("steps by the grafting rule alone", ">= 0")]
    preconditioning_compute_steps: Annotated[int, Keyword("steps from new roots to new roots", ">= 1")]
    statistics_compute_steps: Annotated[int, Keyword("steps from one update of the statistics to the next", ">= 1")]
    best_effort_shape_interpretation: Annotated[bool, Keyword("merges small neighbouring dimensions")]
    graft_type: Annotated[str, Keyword("the rule whose length a step has", enum="GRAFT_TYPE_")]
    graft_beta1: Annotated[Number, Keyword('of graft_type "adam"', "in [0, 1)")]
    graft_beta2: Annotated[Number, Keyword('of graft_type "adam"', "in [0, 1)")]
    clip_by_scaled_gradient_norm: Annotated[
        Number, Keyword("limits the root mean square of the rmsprop graftings' direction; 0 = off", ">= 0")
    ]
    nesterov: Annotated[bool, Keyword("looks ahead by one momentum")]
    moving_average_for_momentum: Annotated[bool, Keyword("1 - beta1 of a direction goes into the momentum, not all")]
    exponent_override: Annotated[
        int, Keyword("p of the roots S ** (-1 / p); 0 = twice the number of dimensions", ">= 0")
    ]
    skip_preconditioning_dim_size_gt: Annotated[
        int, Keyword("elements: a parameter with a longer dimension steps by the grafting rule alone", ">= 1")
    ]
    precondition: Annotated[
        Number, Keyword("0 steps by the grafting rule alone; as a constant it keeps no matrices either", ">= 0")
    ]
    root_method: Annotated[str, Keyword("how roots are computed", enum="ROOT_METHOD_")]
    root_precision: Annotated[str, Keyword("in which roots are computed", enum="ROOT_PRECISION_")]
    product_precision: Annotated[
        str,
        Keyword(
            'of statistics and preconditioned gradients; "tf32": CUDA\'s tensor cores round operands to 10 bits',
            enum="PRODUCT_PRECISION_",
        ),
    ]
    root_padding: Annotated[
        str,
        Keyword(
            '"largest" computes them as if every block had the size of the largest, as Google\'s code does',
            enum="ROOT_PADDING_",
        ),
    ]
    root_retries: Annotated[int, Keyword("with ten times the ridge each, after a root that failed", "0 to 12")]
    root_lag: Annotated[
        int, Keyword("roots serve so many steps later, and are computed beside the steps in between", "0 to 1000")
    ]
    refresh: Annotated[
        str,
        Keyword('"fresh": roots serve in the step that computes them; "stale": from the next on', enum="REFRESH_"),
    ]
    inverse_failure_threshold: Annotated[Number, Keyword("a root whose error reaches it has failed", ">= 0")]
    quantize_momentum: Annotated[bool, Keyword("keeps the momenta in int8")]
    quantize_statistics: Annotated[bool, Keyword("keeps statistics and preconditioners in int16")]
    one_sided: Annotated[
        str,
        Keyword(
            'preconditions only the axes of the "input" (all but the last) or of the "output" (the last)',
            enum="ONE_SIDED_",
        ),
    ]
    eigenvalue_corrected: Annotated[
        bool,
        Keyword(
            "SOAP (Vyas et al. 2024): Adam in the eigenbasis of the statistics, by beta1, beta2 and diagonal_epsilon; "
            "graft_type and the momenta play no part"
        ),
    ]
    master_weights: Annotated[
        bool,
        Keyword("steps a float32 copy of every float16 and bfloat16 parameter, which is the copy's rounded value"),
    ]
    maximize: Annotated[bool, Keyword("steps up the gradient")]
    average_decay: Annotated[
        float, Keyword("average() is of the weights: what a step leaves of it; 0 = none", "in [0, 1)")
    ]
    average_start: Annotated[int, Keyword("the first step that is averaged, from 0", ">= 0")]
    average_every: Annotated[int, Keyword("every such step is averaged, from average_start on", ">= 0")]
    average_warmup: Annotated[
        bool, Keyword("average_decay is at most (1 + n) / (10 + n) while n steps are in the average")
    ]
    average_equal: Annotated[
        bool, Keyword("average() is the mean of the weights after all averaged steps (SWA), in place of average_decay")
    ]
    state_dtype: Annotated[
        str,
        Keyword(
            '"bf16" keeps momenta, grafting states and SOAP\'s moments in bfloat16; matrices stay as they are',
            enum="STATE_DTYPE_",
        ),
    ]
    stochastic_rounding: Annotated[bool, Keyword("rounds what is stored in 16 bits at random, exact on average")]
    seed: Annotated[int, Keyword("starts stochastic_rounding: equal seeds give equal bits")]
    statistics: Annotated[
        str,
        Keyword(
            'of gradients, or KL-Shampoo (Lin et al. 2025): of gradients preconditioned along the other axes, "kl" by '
            'their sum as in Meta\'s code, "kl_mean" by their mean',
            enum="SHAMPOO_STATISTICS_",
        ),
    ]
    ridge: Annotated[
        str,
        Keyword('"relative": matrix_epsilon times the largest eigenvalue; "absolute": itself', enum="RIDGE_"),
    ]


_ENUMS = enums_of(ShampooOptions)


@documented(ShampooOptions, _native.shampoo_options, arguments=ARGUMENTS)
class Shampoo(Optimizer):
    """Distributed Shampoo (Gupta, Koren and Singer 2018; Anil et al. 2020). float64 parameters are computed in float64.

    State beside the tensors of the parameter's shape: "statistics.{block}.{axis}", "preconditioners.{block}.{axis}".
    metrics() has error, eigenvalue, iterations, retries, failures and age of every root.

    unpreconditioned: groups that step by the grafting rule alone, and keep no matrices.
    """

    ADAMW_OPTIONS: ClassVar[Mapping[str, Any]] = {
        "graft_type": "adam",
        "decoupled_weight_decay": True,
        "moving_average_for_momentum": True,
        "nesterov": False,
    }
    """The flags that from_adamw chooses."""

    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        unpreconditioned: Iterable[int] = (),
        **options: Unpack[ShampooOptions],
    ) -> None:
        unpreconditioned = set(unpreconditioned)
        precondition = options.get("precondition", 1.0)
        if unpreconditioned:
            options = {**options, "precondition": 0.0}  # so that no matrices are made for them
        super().__init__(parameters, names=names, groups=groups, context=context, **options)
        for group in sorted(set(range(self.group_count)) - unpreconditioned) if unpreconditioned else ():
            self.set_value("precondition", precondition, group)

    def _make(
        self, described: Schema, context: Context | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Schedule]]:
        self._options = struct = _native.shampoo_options()
        schedules = set_options(struct, type(self).__name__, options, _ENUMS)
        return _native.optimizer_create_shampoo(context_pointer(context), struct, described), schedules

    @classmethod
    def state_bytes(
        cls,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        unpreconditioned: Iterable[int] = (),
        **options: Any,
    ) -> int:
        left_out = set(unpreconditioned)
        described = schema(parameters, names, groups)
        if not left_out:
            return cls._bytes(described, options)
        arrays, _, given, *_ = described
        group_of = [0] * len(arrays) if given is None else given
        if len(group_of) != len(arrays):
            raise InvalidArgument(f"groups: {len(group_of)} entries, expected {len(arrays)}")
        total = 0
        for plain in (False, True):
            chosen = [array for array, group in zip(arrays, group_of, strict=True) if (group in left_out) == plain]
            total += cls._bytes(schema(chosen), options | {"precondition": 0.0} if plain else options)
        return total

    @classmethod
    def _bytes(cls, described: Schema, options: dict[str, Any]) -> int:
        struct = _native.shampoo_options()
        for name, schedule in set_options(struct, cls.__name__, options, _ENUMS).items():
            setattr(struct, name, above_zero(getattr(struct, name), schedule))
        return _native.shampoo_state_bytes(struct, described)

    @classmethod
    def from_adamw(
        cls,
        parameters: Parameters,
        *,
        learning_rate: Number,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        weight_decay: Number = 0.0,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        adamw_groups: Iterable[int] = (),
        **options: Any,
    ) -> Self:
        """Shampoo in the place of a tuned AdamW: the same learning rate, betas, epsilon and decoupled decay.

        A step of Adam is as long as the mean over time, by beta1, of the directions g / (sqrt(v) + epsilon). Here every
        preconditioned direction gets the length of that direction of its step, and the same mean is taken of them:
        graft_type="adam" with graft_beta1=0 and graft_beta2=beta2, moving_average_for_momentum with beta1, no Nesterov
        term. So beta1 averages once. With it in graft_beta1 too, the length would already be that of a mean, and
        averaging over beta1 again would make steps several times too short; in graft_beta1 alone the length
        would be right, but the direction that of a single gradient.
        What differs from Adam: the mean starts from 0 without a correction, so the first 1 / (1 - beta1) steps are
        shorter.

        adamw_groups: groups that stay with AdamW itself (embeddings and output layers, often; parameters without
            dimensions or with one above skip_preconditioning_dim_size_gt gain by it too): beta1 is in graft_beta1.
        options: those of Shampoo. With precondition=0 all groups are AdamW's. With eigenvalue_corrected the rule is
            Adam in other coordinates, by beta1, beta2 and epsilon themselves; adamw_groups then differ from AdamW in
            that their first gradient makes no step.
        """
        chosen: dict[str, Any] = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "diagonal_epsilon": epsilon,
            "weight_decay": weight_decay,
            "graft_beta1": 0.0,
            "graft_beta2": beta2,
            **cls.ADAMW_OPTIONS,
            **options,
        }
        plain = set(adamw_groups)
        made = cls(parameters, names=names, groups=groups, context=context, unpreconditioned=plain, **chosen)
        if chosen.get("precondition", 1.0) == 0:
            plain = set(range(made.group_count))
        for group in plain if not chosen.get("eigenvalue_corrected") else ():
            made.set_value("beta1", 0.0, group)
            made.set_value("graft_beta1", beta1, group)
        return made

    def state_names_of(self, i: int | str) -> list[str]:
        """The state tensors of parameter i, with a name for every block and axis that has matrices."""
        i = self._index_of(i)
        extents = self._blocks(i)
        names = []
        for pattern in self.state_names:
            if "{" not in pattern:
                names += [pattern] if self._has_state(i, pattern) else []
                continue
            # An axis has matrices in all blocks or in none.
            axes = range(len(extents[0]) if extents else 0)
            having = [axis for axis in axes if self._has_state(i, pattern.format(block=0, axis=axis))]
            names += [pattern.format(block=block, axis=axis) for block in range(len(extents)) for axis in having]
        return names

    def _has_state(self, i: int, name: str) -> bool:
        try:
            _native.optimizer_state(self._pointer, i, name)
        except InvalidState:
            return False
        except Unsupported:  # there, but in another form
            pass
        return True

    def _blocks(self, i: int) -> list[tuple[int, ...]]:
        """The extents of the blocks of parameter i, as if it were preconditioned."""
        shape, _ = self._description(i)
        if not shape or 0 in shape:
            return []
        return blocks(shape, self._options.block_size, bool(self._options.best_effort_shape_interpretation))

    def _state_shape(self, i: int, name: str) -> tuple[int, ...]:
        _, *place = name.split(".")
        extents = self._blocks(i)
        if len(place) == 2 and all(number.isdecimal() for number in place):
            block, axis = map(int, place)
            if block < len(extents) and axis < len(extents[block]):
                return extents[block][axis], extents[block][axis]
        return super()._state_shape(i, name)
