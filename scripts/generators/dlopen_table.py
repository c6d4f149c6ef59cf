# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""examples/c/dlopen/gradstep_table.h, from the public headers: one header, to be copied, for programs that open the
library at run time. It has every type, and a table with a pointer for every function.
"""

import re

from c_headers import Function, plain_text, read

from generators.places import INCLUDE, ROOT, formatted

OUTPUT = ROOT / "examples" / "c" / "dlopen" / "gradstep_table.h"
TEXT = """\
/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * gradstep_table.h: gradstep for a program that opens the library itself and is not linked with it; POSIX. It needs no
 * header of gradstep's, whose comments are the reference. Written by scripts/generate.
 */
#ifndef GRADSTEP_TABLE_H
#define GRADSTEP_TABLE_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define GRADSTEP_ABI_VERSION @VERSION@

@TYPES@
/* The functions, without their "gradstep_". */
typedef struct gradstep_table {
@POINTERS@
} gradstep_table;

/*
 * Opens the library at `path` (as dlopen does: "libgradstep.so.0" is looked for), compares its ABI with this header's,
 * and fills the table. Returns 1, or 0 with the reason in `error`, of `capacity` bytes. The library stays open.
 */
static inline int gradstep_table_open(gradstep_table* table, const char* path, char* error, size_t capacity) {
  static const struct {
    const char* name;
    size_t offset;
  } functions[] = {
@ENTRIES@
  };
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(error, capacity, "%s", dlerror());
    return 0;
  }
  for (size_t k = 0; k < sizeof functions / sizeof *functions; ++k) {
    void* found = dlsym(library, functions[k].name);
    if (found == NULL) {
      snprintf(error, capacity, "%s has no %s", path, functions[k].name);
      return 0;
    }
    memcpy((char*)table + functions[k].offset, &found, sizeof found);
    if (k == 0 && table->abi_version() != GRADSTEP_ABI_VERSION) {
      snprintf(error, capacity, "%s has version %x of the interface, this program was compiled for %x", path,
               (unsigned)table->abi_version(), (unsigned)GRADSTEP_ABI_VERSION);
      return 0;
    }
  }
  return 1;
}

#endif
"""


def generated() -> str:
    functions = [found for found in read(INCLUDE) if isinstance(found, Function)]
    functions.sort(key=lambda found: found.name != "gradstep_abi_version")
    names = [found.name.removeprefix("gradstep_") for found in functions]
    types = re.sub(r"^(?:const )?\w+\*? gradstep_\w+\([^;]*;\n", "", plain_text(INCLUDE), flags=re.MULTILINE)
    version = re.search(r"#define GRADSTEP_ABI_VERSION (\w+)", (INCLUDE / "gradstep" / "base.h").read_text())
    assert version
    text = TEXT.replace("@VERSION@", version[1]).replace("@TYPES@", types)
    text = text.replace(
        "@POINTERS@",
        "\n".join(
            f"{found.returns} (*{name})({found.arguments});" for found, name in zip(functions, names, strict=True)
        ),
    )
    text = text.replace("@ENTRIES@", ",\n".join(f'{{"gradstep_{n}", offsetof(gradstep_table, {n})}}' for n in names))
    return formatted(text, OUTPUT)
