// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Tests and examples of this package find the library that gradstep-sys has found, and so may programs that depend on
//! this package: their build scripts read its folder as DEP_GRADSTEP_RUST_LIBDIR.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(folder) = std::env::var_os("DEP_GRADSTEP_LIBDIR").map(std::path::PathBuf::from) {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
        println!("cargo::metadata=libdir={}", folder.display());
    }
}
