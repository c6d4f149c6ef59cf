# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: ctypes_step.py [LIBRARY]. Adam on an array of the standard library's, by ctypes alone.

No package of gradstep's and no NumPy: this is what a language does that can open a library and lay out a struct.
Minimises (x - 3)^2 + (y + 1)^2.
"""

import array
import ctypes
import sys
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)

ABI_VERSION = 0x00000001  # of the headers that the structs below are from
FLOAT, CPU = 2, 1


class Device(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class Dtype(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", Device),
        ("ndim", c_int32),
        ("dtype", Dtype),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Parameter(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("name", c_char_p),
        ("shape", POINTER(c_int64)),
        ("ndim", c_int32),
        ("group", c_int32),
        ("dtype", Dtype),
        ("device", Device),
        ("reserved", c_int32),
    ]


class AdamOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("bias_correction", c_int32),
        ("learning_rate", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("epsilon", c_double),
        ("weight_decay", c_double),
        ("decoupled_weight_decay", c_int32),
        ("maximize", c_int32),
        ("master_weights", c_int32),
        ("state_dtype", c_int32),
        ("stochastic_rounding", c_int32),
        ("amsgrad", c_int32),
        ("seed", c_int64),
    ]


def open_library(path: str) -> ctypes.CDLL:
    """The library, its functions declared; pointers to handles are c_void_p."""
    library = ctypes.CDLL(path)
    library.gradstep_abi_version.restype = c_uint32
    if library.gradstep_abi_version() != ABI_VERSION:
        raise SystemExit(f"{path} has another version of the interface than this program")
    library.gradstep_last_error.restype = c_char_p
    library.gradstep_version_string.restype = c_char_p
    library.gradstep_context_create.argtypes = [c_void_p, POINTER(c_void_p)]
    library.gradstep_context_destroy.argtypes = [c_void_p]
    library.gradstep_context_destroy.restype = None
    library.gradstep_adam_options_init.argtypes = [POINTER(AdamOptions), c_size_t]
    library.gradstep_optimizer_create_adam.argtypes = [
        c_void_p, POINTER(AdamOptions), POINTER(Parameter), c_size_t, POINTER(c_void_p)]  # fmt: skip
    library.gradstep_optimizer_step.argtypes = [c_void_p, POINTER(Tensor), POINTER(Tensor), c_size_t, c_void_p]
    library.gradstep_optimizer_destroy.argtypes = [c_void_p]
    library.gradstep_optimizer_destroy.restype = None
    return library


def main() -> None:
    library = open_library(sys.argv[1] if len(sys.argv) > 1 else "libgradstep.so.0")

    def check(status: int) -> None:
        if status != 0:
            raise RuntimeError(library.gradstep_last_error().decode())

    point, gradient = array.array("f", [0, 0]), array.array("f", [0, 0])
    shape = (c_int64 * 1)(2)
    f32, cpu = Dtype(FLOAT, 32, 1), Device(CPU, 0)
    parameter = Parameter(ctypes.sizeof(Parameter), 0, b"point", shape, 1, 0, f32, cpu)
    params = Tensor(point.buffer_info()[0], cpu, 1, f32, shape)
    grads = Tensor(gradient.buffer_info()[0], cpu, 1, f32, shape)

    context, adam, options = c_void_p(), c_void_p(), AdamOptions()
    check(library.gradstep_context_create(None, byref(context)))
    check(library.gradstep_adam_options_init(byref(options), ctypes.sizeof(options)))
    options.learning_rate = 0.05
    check(library.gradstep_optimizer_create_adam(context, byref(options), byref(parameter), 1, byref(adam)))
    for _ in range(500):
        gradient[0], gradient[1] = 2 * (point[0] - 3), 2 * (point[1] + 1)
        check(library.gradstep_optimizer_step(adam, byref(params), byref(grads), 1, None))
    library.gradstep_optimizer_destroy(adam)
    library.gradstep_context_destroy(context)
    print(f"gradstep {library.gradstep_version_string().decode()}: ({point[0]:.3f}, {point[1]:.3f})")
    if abs(point[0] - 3) > 0.01 or abs(point[1] + 1) > 0.01:
        raise SystemExit("expected (3, -1)")


if __name__ == "__main__":
    main()
