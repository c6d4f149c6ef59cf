// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The program finds the library that its build has found, by an rpath.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    match std::env::var("DEP_GRADSTEP_RUST_LIBDIR") {
        Ok(folder) => println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}"),
        Err(_) => println!("cargo::warning=this package does not depend on gradstep, or opens it at run time"),
    }
}
