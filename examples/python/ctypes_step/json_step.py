# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: json_step.py API_JSON [LIBRARY]. As ctypes_step.py, with what gradstep_api.json says.

Nothing of the interface is written down here: this is what a generator of bindings does, in any language.
Minimises (x - 3)^2 + (y + 1)^2.
"""

import array
import ctypes
import json
import re
import sys
from pathlib import Path

NUMBERS = {
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


class Api:
    """The structs as classes, by name, and the functions of the open library."""

    def __init__(self, description: dict, path: str) -> None:
        self.description = description
        self.structs: dict[str, type] = {}
        self.library = ctypes.CDLL(path)
        self.library.gradstep_abi_version.restype = ctypes.c_uint32
        if self.library.gradstep_abi_version() != description["constants"]["GRADSTEP_ABI_VERSION"]:
            raise SystemExit(f"{path} has another version of the interface than the description")
        for name, function in description["functions"].items():
            found = getattr(self.library, name)
            found.restype = None if function["returns"] == "void" else self.type_of(function["returns"])
            found.argtypes = [self.type_of(each["type"]) for each in function["arguments"]]

    # docs:begin types
    def type_of(self, text: str) -> type:
        """What a type of C is here: all pointers but texts, and functions, are addresses."""
        if text == "const char*":
            return ctypes.c_char_p
        if "*" in text:
            return ctypes.c_void_p
        if match := re.fullmatch(r"(.*)\[(\d+)\]", text):
            return self.type_of(match[1]) * int(match[2])
        text = text.removeprefix("const ")
        if text in self.description["structs"]:
            return self.struct(text)
        return NUMBERS[self.description["types"].get(text, text)]

    def struct(self, name: str) -> type:
        if name not in self.structs:
            layout = self.description["structs"][name]
            fields = [(field["name"], self.type_of(field["type"])) for field in layout["fields"]]
            made = type(name, (ctypes.Structure,), {"_fields_": fields})
            assert ctypes.sizeof(made) == layout["size"], name
            for field in layout["fields"]:
                assert getattr(made, field["name"]).offset == field["offset"], (name, field)
            self.structs[name] = made
        return self.structs[name]

    # docs:end types


def main() -> None:
    description = json.loads(Path(sys.argv[1]).read_text())
    api = Api(description, sys.argv[2] if len(sys.argv) > 2 else description["library"])
    for name in description["structs"]:
        api.struct(name)
    c, enums = api.library, description["enums"]

    def check(status: int) -> None:
        if status != 0:
            raise RuntimeError(c.gradstep_last_error().decode())

    point, gradient = array.array("f", [0, 0]), array.array("f", [0, 0])
    shape = (ctypes.c_int64 * 1)(2)
    f32 = api.struct("gradstep_dtype")(enums["gradstep_type_code"]["GRADSTEP_TYPE_FLOAT"], 32, 1)
    cpu = api.struct("gradstep_device")(enums["gradstep_device_type"]["GRADSTEP_DEVICE_CPU"], 0)
    at = ctypes.addressof(shape)
    parameter = api.struct("gradstep_parameter")(name=b"point", shape=at, ndim=1, dtype=f32, device=cpu)
    parameter.struct_size = ctypes.sizeof(parameter)
    params, grads = (
        api.struct("gradstep_tensor")(each.buffer_info()[0], cpu, 1, f32, at) for each in (point, gradient)
    )
    context, adam, options = ctypes.c_void_p(), ctypes.c_void_p(), api.struct("gradstep_adam_options")()
    check(c.gradstep_context_create(None, ctypes.addressof(context)))
    check(c.gradstep_adam_options_init(ctypes.addressof(options), ctypes.sizeof(options)))
    options.learning_rate = 0.05
    check(
        c.gradstep_optimizer_create_adam(
            context, ctypes.addressof(options), ctypes.addressof(parameter), 1, ctypes.addressof(adam)
        )
    )
    for _ in range(500):
        gradient[0], gradient[1] = 2 * (point[0] - 3), 2 * (point[1] + 1)
        check(c.gradstep_optimizer_step(adam, ctypes.addressof(params), ctypes.addressof(grads), 1, None))
    c.gradstep_optimizer_destroy(adam)
    c.gradstep_context_destroy(context)
    print(f"gradstep {c.gradstep_version_string().decode()}: ({point[0]:.3f}, {point[1]:.3f})")
    if abs(point[0] - 3) > 0.01 or abs(point[1] + 1) > 0.01:
        raise SystemExit("expected (3, -1)")


if __name__ == "__main__":
    main()
