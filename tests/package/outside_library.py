# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: outside_library.py LIBRARY INSTRUCTION_SET

Opens a packaged library and its Gloo plugin by Python 3.9 alone, for systems that are older than the package needs. The
library must have chosen the instruction set that is named.
"""

import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])


def text(function: str, *arguments: bytes) -> str:
    buffer, length = ctypes.create_string_buffer(4096), ctypes.c_size_t()
    status = library[function](*arguments, buffer, ctypes.c_size_t(len(buffer)), ctypes.byref(length))
    assert status == 0, (function, status)
    return buffer.value.decode()


info = json.loads(text("gradstep_build_info"))
assert info["instruction_set"] == sys.argv[2], info
assert text("gradstep_backend_status", b"gloo") == "ok", text("gradstep_backend_status", b"gloo")
context = ctypes.c_void_p()
assert library.gradstep_context_create(None, ctypes.byref(context)) == 0
library.gradstep_context_destroy(context)
print("opened:", info["instruction_set"], info["compiler"])
