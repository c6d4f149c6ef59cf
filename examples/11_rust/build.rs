// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The program finds the library that gradstep-sys has found.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Ok(folder) = std::env::var("DEP_GRADSTEP_LIBDIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
