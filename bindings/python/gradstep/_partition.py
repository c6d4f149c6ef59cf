# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""How Shampoo divides a parameter, for the names and shapes of its matrices (docs/shampoo.md, "Shape")."""

import itertools
from collections.abc import Sequence


def merge_small_dimensions(shape: Sequence[int], limit: int) -> list[int]:
    """Neighbouring dimensions, from the left, while their product is at most `limit`."""
    merged = []
    product = 1
    for dimension in shape:
        if product * dimension <= limit:
            product *= dimension
            continue
        if product > 1:
            merged.append(product)
        product = dimension
    if product > 1:
        merged.append(product)
    return merged or [1] * bool(shape)


def blocks(shape: Sequence[int], block_size: int, merge: bool) -> list[tuple[int, ...]]:
    """The extents of each block, the last axis fastest."""
    dimensions = merge_small_dimensions(shape, block_size) if merge else shape
    starts = [range(0, dimension, block_size) for dimension in dimensions]
    return [
        tuple(min(block_size, dimension - begin) for dimension, begin in zip(dimensions, block, strict=True))
        for block in itertools.product(*starts)
    ]
