# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Names of the C API in words with capitals: enums, their enumerators, and structs, in C++, Rust and Java."""

# Words with more capitals than the first letter.
WORDS = {
    "adagrad": "AdaGrad",
    "adamw": "AdamW",
    "bfloat16": "BFloat16",
    "nway": "NWay",
    "powersgd": "PowerSgd",
    "radam": "RAdam",
    "rmsprop": "RmsProp",
    "topk": "TopK",
}


def capitalized(name: str) -> str:
    """sparse_topk or SPARSE_TOPK: SparseTopK."""
    return "".join(WORDS.get(word) or word.capitalize() for word in name.lower().split("_"))
