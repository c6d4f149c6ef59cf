// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Finds libgradstep: in the folder that GRADSTEP_LIB_DIR names, else by pkg-config, else by building it with CMake from
//! the sources that the crate brings, or from the clone that it is a part of. Dependents read its folder as DEP_GRADSTEP_LIBDIR.

#[cfg(feature = "regenerate")]
mod regenerate;

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=GRADSTEP_LIB_DIR");
    #[cfg(feature = "regenerate")]
    regenerate::run(&sources().expect("regenerate: no clone of gradstep around the crate"));
    if env::var_os("DOCS_RS").is_some() || env::var_os("CARGO_FEATURE_DLOPEN").is_some() {
        return;
    }
    let folder = match env::var_os("GRADSTEP_LIB_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => match installed() {
            Some(folder) => folder,
            None => build(),
        },
    };
    let folder = folder.display();
    println!("cargo::rustc-link-search=native={folder}");
    println!("cargo::rustc-link-lib=dylib=gradstep");
    println!("cargo::metadata=libdir={folder}");
    // Reaches this package's own tests; those of dependents need a build script of their own, or LD_LIBRARY_PATH.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
}

/// The folder of an installed libgradstep of this release.
fn installed() -> Option<PathBuf> {
    let library = pkg_config::Config::new()
        .cargo_metadata(false)
        .exactly_version(env!("CARGO_PKG_VERSION"))
        .probe("gradstep")
        .ok()?;
    // pkg-config leaves the linker's own folders out.
    Some(library.link_paths.first().cloned().unwrap_or_else(|| {
        PathBuf::from(pkg_config::get_variable("gradstep", "libdir").expect("gradstep.pc has a libdir"))
    }))
}

/// The sources that scripts/package puts into the crate, else the clone that it is a part of.
fn sources() -> Option<PathBuf> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let has_headers = |root: &PathBuf| root.join("include/c_api/gradstep/gradstep.h").is_file();
    [package.join("source"), package.join("../../..")].into_iter().find(has_headers)
}

/// Builds libgradstep, and those of its plugins whose libraries are there, into OUT_DIR/lib.
fn build() -> PathBuf {
    let Some(source) = sources() else {
        panic!("no libgradstep: set GRADSTEP_LIB_DIR to its folder, or install it where pkg-config finds gradstep.pc");
    };
    for part in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo::rerun-if-changed={}", source.join(part).display());
    }
    let mut config = cmake::Config::new(&source);
    // rustc may be asked for a debug build; the optimizers need none.
    config.profile("Release").define("CMAKE_INSTALL_LIBDIR", "lib").define("GRADSTEP_WARNINGS_AS_ERRORS", "OFF");
    config.define("GRADSTEP_BATCHES", "ON"); // made once: half the time
    for part in ["TESTS", "EXAMPLES", "BENCHMARKS"] {
        config.define(format!("GRADSTEP_BUILD_{part}"), "OFF");
    }
    config.build().join("lib")
}
