// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! This crate calls every function of the C API, but for those that a language with structs and enums has no use for.

use std::path::Path;

/// Beginnings of names, and why.
const NOT_NEEDED: [&str; 17] = [
    "gradstep_tensor_list_",    // a slice of Tensor is C's array
    "gradstep_parameter_list_", // Schema makes C's array
    "gradstep_status_name(",    // Error::name
    "gradstep_abi_version(",    // gradstep_sys::check_abi, and the loader
    // Rules are made by their names, but for Shampoo.
    "gradstep_sgd_",
    "gradstep_rmsprop_",
    "gradstep_adagrad_",
    "gradstep_adam_",
    "gradstep_optimizer_create_sgd(",
    "gradstep_optimizer_create_rmsprop(",
    "gradstep_optimizer_create_adagrad(",
    "gradstep_optimizer_create_adam(",
    // Functions that end in _ex do the same.
    "gradstep_comm_create_local(",
    "gradstep_comm_create_host(",
    "gradstep_comm_wrap_mpi(",
    "gradstep_comm_unique_id(",
    "gradstep_optimizer_update(",
];

#[test]
fn every_function_of_c_is_called() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(bindings) = std::fs::read_to_string(package.join("../gradstep-sys/src/linked.rs")) else {
        return eprintln!("SKIPPED: outside a clone the bindings are not beside this package");
    };
    let files = std::fs::read_dir(package.join("src")).unwrap().map(|file| file.unwrap().path());
    let source: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let functions = bindings.split("pub fn ").skip(1).map(|rest| &rest[..=rest.find('(').unwrap()]);
    let is_called = |name: &str| {
        let name = name.trim_end_matches('(');
        source
            .match_indices(name)
            .any(|(at, _)| !source[at + name.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_'))
    };
    let missing: Vec<_> = functions
        .filter(|name| !NOT_NEEDED.iter().any(|known| name.starts_with(known)))
        .filter(|name| !is_called(name))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
