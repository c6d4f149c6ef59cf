# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Conan's recipe: the library, the headers of C and C++, and the Gloo plugin (docs/packages.md)."""

import re
from pathlib import Path
from typing import ClassVar

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Gradstep(ConanFile):
    name = "gradstep"
    license = "Apache-2.0"
    description = "Gradient accumulation, synchronisation and optimizers behind a C ABI"
    topics = ("optimizer", "distributed", "machine-learning")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options: ClassVar = {"gloo": [True, False]}
    # fmt's headers are compiled in, as are those of the others.
    default_options: ClassVar = {"gloo": True, "fmt/*:header_only": True}
    exports_sources = (
        "CMakeLists.txt",
        "LICENSE",
        "bindings/CMakeLists.txt",
        "bindings/cpp/*",
        "cmake/*",
        "include/*",
        "src/*",
    )

    def set_version(self) -> None:
        project = load(self, Path(self.recipe_folder) / "CMakeLists.txt")
        self.version = re.search(r"project\(gradstep VERSION ([0-9.]+)", project)[1]

    def validate(self) -> None:
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"gradstep is for Linux, not for {self.settings.os}")
        check_min_cppstd(self, 20)

    def requirements(self) -> None:
        for header_library in ("fmt/[>=9 <12]", "nlohmann_json/[>=3.10 <4]", "xxhash/[>=0.8 <1]"):
            self.requires(header_library, visible=False)

    def layout(self) -> None:
        cmake_layout(self)

    def generate(self) -> None:
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            {
                "GRADSTEP_BATCHES": "ON",
                "GRADSTEP_DEPENDENCIES": "SYSTEM",
                # From Gloo's pinned archive, which CMake downloads unless the mirror has it.
                "GRADSTEP_GLOO": "FETCH",
                "GRADSTEP_BUILD_GLOO": bool(self.options.gloo),
                "GRADSTEP_BUILD_MPI": False,
                "GRADSTEP_BUILD_TESTS": "OFF",
                "GRADSTEP_BUILD_EXAMPLES": False,
                "GRADSTEP_BUILD_BENCHMARKS": False,
                "GRADSTEP_WARNINGS_AS_ERRORS": False,
            }
        )
        if mirror := self.conf.get("user.gradstep:dependencies_mirror"):
            toolchain.cache_variables["GRADSTEP_DEPENDENCIES_MIRROR"] = mirror
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        CMake(self).install()

    def package_info(self) -> None:
        self.cpp_info.components["gradstep"].libs = ["gradstep"]
        self.cpp_info.components["gradstep"].set_property("cmake_target_name", "gradstep::gradstep")
        self.cpp_info.components["gradstep"].set_property("pkg_config_name", "gradstep")
        self.cpp_info.components["cpp"].requires = ["gradstep"]
        self.cpp_info.components["cpp"].set_property("cmake_target_name", "gradstep::cpp")
