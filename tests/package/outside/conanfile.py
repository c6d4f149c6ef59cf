# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What `conan test` runs: the project beside this file, with the package that it is given."""

from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class Outside(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self) -> None:
        self.requires(self.tested_reference_str)

    def layout(self) -> None:
        cmake_layout(self)

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        folder = Path(self.cpp.build.bindir).resolve()
        self.run(str(folder / "outside"), env="conanrun")
        if self.dependencies[self.tested_reference_str].options.gloo:
            script = Path(self.recipe_folder).parent / "two_ranks"
            self.run(f"{script} {folder / 'two_ranks'} gloo", env="conanrun")
