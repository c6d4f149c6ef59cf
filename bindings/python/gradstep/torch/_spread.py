# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that are spread over ranks: DTensors, as FSDP2 and tensor parallelism make them.

A rule that treats each element by itself steps the shard that a rank has. A rule that needs whole tensors has an owner
for each of them: the shards travel there, and back after the step. Ranks with equal shards each do the same.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from gradstep.errors import Aborted, InvalidArgument, Mismatch, Unsupported

DTensor: TypeAlias = Any
"""torch's, which takes long to import: a process that has none does without."""

Told = TypeVar("Told")

_ALIGNMENT = 8


def is_spread(tensor: object) -> bool:
    """Whether a tensor is a DTensor."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def local(tensor: Tensor) -> Tensor:
    """What this rank has of a DTensor; any other tensor as it is."""
    return tensor._local_tensor if is_spread(tensor) else tensor


class Spread:
    """Which part of a parameter each rank has.

    The ranks of `group` have the whole between them, each element once: the dimensions of the mesh along which the
    parameter is replicated are left out. A member is a rank's index in there.
    """

    def __init__(self, label: str, parameter: DTensor) -> None:
        self.label = label
        self.mesh, self.placements = parameter.device_mesh, parameter.placements
        self.shape, self.stride = parameter.shape, parameter.stride()
        if any(placement.is_partial() for placement in self.placements):
            raise Unsupported(f"{label}: is placed {self._words()}, expected shards and replicas")
        coordinate = self.mesh.get_coordinate()
        if coordinate is None:
            raise Unsupported(f"{label}: this rank is not in its mesh {self.mesh}")
        self._dims = [d for d, placement in enumerate(self.placements) if not placement.is_replicate()]
        index = tuple(slice(None) if d in self._dims else coordinate[d] for d in range(self.mesh.ndim))
        self.ranks: tuple[int, ...] = tuple(self.mesh.mesh[index].flatten().tolist())
        if list(self.ranks) != sorted(self.ranks):  # process groups have their ranks in this order
            raise Unsupported(f"{label}: its mesh has the ranks {list(self.ranks)}, expected them in ascending order")
        self.member = self.ranks.index(dist.get_rank())
        self._local_shape = local(parameter).shape

    def _words(self) -> str:
        return f"({', '.join(map(repr, self.placements))})"

    @property
    def group(self) -> dist.ProcessGroup:
        """Made by all of its ranks at the first use."""
        if len(self._dims) == 1:
            return self.mesh.get_group(self._dims[0])
        return _group_of(self.ranks)

    def check_parts(self, rule: str) -> None:
        """Refuses placements that put a whole together in a way that is not known."""
        found = self.part(torch.empty(self.shape, device="meta"), self.member).shape
        if found != self._local_shape:
            raise Unsupported(
                f"{self.label}: is placed {self._words()} with a shard of shape {tuple(self._local_shape)}, expected "
                f"{tuple(found)}: {rule} needs whole tensors, and cannot make them of these"
            )

    @property
    def is_replica(self) -> bool:
        """Whether every rank of the mesh has the whole."""
        return len(self.ranks) == 1

    def part(self, whole: Tensor, member: int) -> Tensor:
        """The view of a whole tensor that a member has."""
        cuts: list[tuple[int, int, int]] = []
        for d in reversed(self._dims):
            member, place = divmod(member, self.mesh.size(d))
            cuts.insert(0, (d, self.mesh.size(d), place))
        # FSDP2 cuts what tensor parallelism, to the right of it in the mesh, has cut before.
        for d, size, place in sorted(cuts, key=lambda cut: hasattr(self.placements[cut[0]], "split_factor")):
            axis = self.placements[d].dim
            extent = whole.shape[axis]
            chunk = -(-extent // size)
            begin = min(place * chunk, extent)
            whole = whole.narrow(axis, begin, min(chunk, extent - begin))
        return whole

    def shown(self, shard: Tensor) -> Tensor:
        """A DTensor, placed as the parameter is, of which this is the shard."""
        from torch.distributed.tensor import DTensor

        with torch.no_grad():
            return DTensor.from_local(
                shard, self.mesh, self.placements, run_check=False, shape=self.shape, stride=self.stride
            )

    def shard_of(self, value: Tensor) -> Tensor:
        """This rank's part of a tensor of the parameter's shape. Collective for one that is placed in another way."""
        with torch.no_grad():
            if is_spread(value):
                return self.local_of(f"state of {self.label}", value)
            part = self.part(value, self.member)
        if part.shape != self._local_shape:
            raise Mismatch(f"{self.label}: is placed {self._words()}: give its state as DTensors of this placement")
        return part

    def local_of(self, label: str, value: Tensor) -> Tensor:
        """What this rank has of a DTensor beside the parameter. Collective for one that is placed in another way."""
        if not is_spread(value):
            raise InvalidArgument(f"{label}: is a plain tensor, expected a DTensor as {self.label} is")
        spread: DTensor = value
        if spread.device_mesh != self.mesh:
            raise InvalidArgument(f"{label}: is on {spread.device_mesh}, {self.label} on {self.mesh}")
        if spread.placements != self.placements:
            with torch.no_grad():
                spread = spread.redistribute(placements=self.placements)
        return local(spread)

    def told(self, owner: int, make: Callable[[], Told]) -> Told:
        """What the owner makes, on all ranks of the group. Raises on all where it fails there. Collective."""
        box: list[Any] = [None]  # stays so if the owner fails
        failure: BaseException | None = None
        if owner == self.member:
            try:
                box = [(make(),)]
            except BaseException as error:  # raised when the others know
                failure = error
        dist.broadcast_object_list(box, self.ranks[owner], group=self.group)
        if failure is not None:
            raise failure
        if box[0] is None:
            raise Aborted(
                f"{self.label}: rank {self.ranks[owner]}, which has its state, failed: its own error says why"
            )
        found: Told = box[0][0]
        return found


_groups: dict[tuple[int, ...], tuple[dist.ProcessGroup | None, dist.ProcessGroup]] = {}
"""By ranks: a group, and the world in which it was made."""


def _group_of(ranks: tuple[int, ...]) -> dist.ProcessGroup:
    """The group of ranks along several dimensions of a mesh. Collective among them at the first call."""
    world = dist.group.WORLD
    if ranks == tuple(range(dist.get_world_size())):
        return world
    made_in, group = _groups.get(ranks, (None, world))
    if made_in is not world:
        group = dist.new_group(list(ranks), use_local_synchronization=True)
        _groups[ranks] = (world, group)
    return group


class Owners:
    """Who steps the tensors of a rule that needs them whole: each goes to the rank with the least so far."""

    def __init__(self) -> None:
        self._loads: dict[tuple[int, ...], list[int]] = {}

    def assign(self, spreads: Sequence[Spread | None]) -> list[int | None]:
        """An owner for each parameter, the largest first; None for those that are whole on every rank."""
        owners: list[int | None] = [None] * len(spreads)
        sizes = {i: spread.shape.numel() for i, spread in enumerate(spreads) if spread and not spread.is_replica}
        for i in sorted(sizes, key=lambda i: -sizes[i]):
            spread = spreads[i]
            assert spread is not None
            loads = self._loads.setdefault(spread.ranks, [0] * len(spread.ranks))
            owner = owners[i] = loads.index(min(loads))
            loads[owner] += sizes[i]
        return owners


class Travel:
    """The tensors of one step that go to their owners and back: of each its spread, its owner, and what is here."""

    def __init__(self, items: Sequence[tuple[Spread, int, Sequence[Tensor]]]) -> None:
        self._items = items
        self._groups: dict[tuple[int, ...], list[int]] = {}
        for i, (spread, _, _) in enumerate(items):
            self._groups.setdefault(spread.ranks, []).append(i)
        self.wholes = [
            [torch.empty(spread.shape if owner == spread.member else (0,) * len(spread.shape), dtype=shard.dtype,
                         device=shard.device) for shard in shards]
            for spread, owner, shards in items
        ]  # fmt: skip

    def gather(self) -> None:
        """Fills `wholes`, each at its owner; elsewhere they are empty. Collective."""
        for chosen in self._groups.values():
            spread = self._items[chosen[0]][0]
            outward: list[list[Tensor]] = [[] for _ in spread.ranks]
            inward: list[list[Tensor]] = [[] for _ in spread.ranks]
            for i in chosen:
                spread, owner, shards = self._items[i]
                outward[owner] += shards
                self._add_parts(inward, i, len(shards))
            _all_to_all(outward, inward, spread)

    def scatter(self, failed: bool) -> None:
        """Writes the first whole of each item back to its shards. Raises where another owner has failed. Collective."""
        for chosen in self._groups.values():
            spread = self._items[chosen[0]][0]
            device = self._items[chosen[0]][2][0].device
            flag = torch.tensor([failed], dtype=torch.uint8, device=device)
            flags = [torch.zeros_like(flag) for _ in spread.ranks]
            outward: list[list[Tensor]] = [[flag] for _ in spread.ranks]
            inward: list[list[Tensor]] = [[each] for each in flags]
            for i in chosen:
                spread, owner, shards = self._items[i]
                self._add_parts(outward, i, 1)
                inward[owner].append(shards[0])
            _all_to_all(outward, inward, spread)
            if not failed and any(map(bool, flags)):
                rank = spread.ranks[[bool(each) for each in flags].index(True)]
                raise Aborted(f"step: rank {rank} could not step the parameters that it owns: its own error says why")

    def _add_parts(self, by_member: Sequence[list[Tensor]], i: int, count: int) -> None:
        spread, owner, _ = self._items[i]
        if owner == spread.member:
            for member, parts in enumerate(by_member):
                parts += [spread.part(whole, member) for whole in self.wholes[i][:count]]


def _all_to_all(outward: Sequence[Sequence[Tensor]], inward: Sequence[Sequence[Tensor]], spread: Spread) -> None:
    """Sends tensors to each member of a group, and writes what they send into others. Collective."""
    device = next(chain(*outward, *inward)).device
    sides = []
    for side in (inward, outward):
        counts = [sum(map(_room, tensors)) for tensors in side]
        sides.append((counts, torch.empty(sum(counts), dtype=torch.uint8, device=device)))
    (in_counts, arrived), (out_counts, sent) = sides
    with torch.no_grad():
        for tensor, packed in _pieces(chain(*outward), sent):
            packed.copy_(tensor)
        dist.all_to_all_single(arrived, sent, in_counts, out_counts, group=spread.group)
        for tensor, packed in _pieces(chain(*inward), arrived):
            tensor.copy_(packed)


def _room(tensor: Tensor) -> int:
    size = tensor.numel() * tensor.element_size()
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _pieces(tensors: Iterator[Tensor], buffer: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Each tensor with its place in a buffer."""
    offset = 0
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        yield tensor, buffer[offset : offset + size].view(tensor.dtype).view(tensor.shape)
        offset += _room(tensor)


def norm(gradients: Sequence[tuple[Spread | None, Tensor]]) -> Tensor:
    """The norm over all gradients, each element counted once: f64[1], equal bits on all ranks. Collective."""
    with torch.no_grad():
        device = gradients[0][1].device
        own: dict[tuple[int, ...], list[Tensor]] = {}
        spread_over: dict[tuple[int, ...], Spread] = {}
        for spread, gradient in gradients:
            ranks = spread.ranks if spread is not None and not spread.is_replica else ()
            if ranks:
                assert spread is not None
                spread_over[ranks] = spread
            found = torch.linalg.vector_norm(gradient, dtype=torch.float64)
            own.setdefault(ranks, []).append(found.to(device, non_blocking=True))
        norms = []
        for ranks, found_here in own.items():
            here = torch.linalg.vector_norm(torch.stack(found_here)).reshape(1)
            if ranks:
                of_all = torch.empty(len(ranks), dtype=torch.float64, device=device)
                dist.all_gather_into_tensor(of_all, here, group=spread_over[ranks].group)
                here = torch.linalg.vector_norm(of_all).reshape(1)
            norms.append(here)
        return torch.linalg.vector_norm(torch.cat(norms)).reshape(1)


def agree(spreads: Sequence[Spread], found_inf: bool, factor: float) -> bool:
    """Whether any rank of the parameters' meshes has found an infinity. Collective.

    factor: what gradients will be multiplied by, on all ranks alike.
    """
    meshes = list({id(spread.mesh): spread.mesh for spread in spreads}.values())
    # The largest of each, and of the opposite: both tell whether ranks differ.
    most = torch.tensor([found_inf, factor, -factor], dtype=torch.float64, device=meshes[0].device_type)
    for mesh in meshes:
        for d in range(mesh.ndim):
            dist.all_reduce(most, dist.ReduceOp.MAX, group=mesh.get_group(d))
    found, highest, lowest = most.tolist()
    if highest != -lowest:
        raise Mismatch(
            f"grad_scale: is {factor:g} on this rank and {-lowest:g} to {highest:g} on all, expected one number; it is "
            "divided by the scale of a GradScaler, which must back off on all ranks where one has found an infinity"
        )
    return found != 0
