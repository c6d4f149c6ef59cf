# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Lets a CUDA build of PyTorch load on a machine without CUDA's libraries.

For every shared library that torch's own libraries need and that is not there, one is compiled with the same soname and
with every symbol that torch expects of it, under the version that it expects. The functions return 1, which CUDA's
libraries use for failure: torch finds no device and computes on the CPU.
"""

import re
import subprocess
import sysconfig
import tempfile
from collections import defaultdict
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def symbols(library: Path, kind: str) -> set[tuple[str, str]]:
    """(name, version) of defined or undefined dynamic symbols; version "" where there is none."""
    found = set()
    for line in output("nm", "-D", kind, library).splitlines():
        name, _, version = line.split()[-1].partition("@")
        found.add((name, version.lstrip("@")))
    return found


def needs(library: Path) -> tuple[set[str], dict[str, str]]:
    """Sonames that a library needs, and which of them each symbol version belongs to."""
    text = output("objdump", "-p", library)
    owner_of_version = {}
    for block in re.finditer(r"required from (\S+):\n((?:\s+0x.*\n)+)", text):
        for line in block[2].splitlines():
            owner_of_version[line.split()[-1]] = block[1]
    return set(re.findall(r"NEEDED\s+(\S+)", text)), owner_of_version


def stub_source(names: set[str]) -> str:
    return "".join(f"int {name}(void) {{ return 1; }}\n" for name in sorted(names)) or "int stub_of_nothing;\n"


def build_stub(soname: str, folder: Path, versions: dict[str, set[str]], unversioned: set[str]) -> None:
    names = unversioned.union(*versions.values())
    with tempfile.TemporaryDirectory() as work:
        source, script = Path(work, "stub.c"), Path(work, "stub.map")
        source.write_text(stub_source(names))
        script.write_text(
            "".join(
                f"{version} {{ {'global: ' + ' '.join(name + ';' for name in sorted(of)) if of else ''} }};\n"
                for version, of in sorted(versions.items())
            )
        )
        command = ["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{soname}", source]
        if versions:
            command.append(f"-Wl,--version-script={script}")
        output(*command, "-o", folder / soname)


def main() -> None:
    torch_libraries = sorted((SITE / "torch" / "lib").glob("*.so*"))
    present = torch_libraries + sorted(SITE.glob("nvidia/**/lib/*.so*"))
    folder = next(SITE.glob("nvidia/cu*/lib"))  # torch looks here by its run path
    available = {library.name for library in present}
    available.update(re.findall(r"^\s+(\S+)", output("/sbin/ldconfig", "-p"), re.MULTILINE))

    missing: set[str] = set()
    versions: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    undefined: set[str] = set()
    for library in torch_libraries:
        sonames, owner_of_version = needs(library)
        missing |= {soname for soname in sonames if soname not in available and not soname.startswith("ld-linux")}
        for version, owner in owner_of_version.items():
            versions[owner][version] |= set()
        for name, version in symbols(library, "--undefined-only"):
            if version in owner_of_version:
                versions[owner_of_version[version]][version].add(name)
            elif not version:
                undefined.add(name)
    missing.discard("libcuda.so.1")  # the driver: torch opens it only when there is a device
    defined = set().union(*({name for name, _ in symbols(library, "--defined-only")} for library in present))
    # Which library an unversioned symbol belongs to does not matter to the loader: every stub has them all.
    unversioned = {name for name in undefined - defined if re.match(r"(cu|nccl|nv)[A-Za-z]", name)}
    for soname in sorted(missing):
        build_stub(soname, folder, versions.get(soname, {}), unversioned)
    print(f"{len(missing)} stub libraries in {folder}")


main()
