// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The error for a file that is no library of gradstep has its path and the loader's words. One library serves a
//! process, and none is opened here.
#![cfg(feature = "dlopen")]

use gradstep::Error;

fn refused(path: &str) -> String {
    // SAFETY: there is no such file, or the C library's own, which is loaded anyway.
    match unsafe { gradstep::load(path) } {
        Err(Error::BackendUnavailable(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_library_that_is_not_there_is_told_by_its_path_and_the_loaders_words() {
    for path in ["/no/such/folder/libgradstep.so.0", "libno_such_library.so.0"] {
        assert_eq!(refused(path), format!("{path}: cannot open shared object file: No such file or directory"));
    }
    let text = refused("a\0b");
    assert!(text.starts_with("a\0b: "), "{text}");
}

#[test]
fn a_library_without_gradsteps_functions_is_told_by_its_path_and_the_missing_one() {
    let text = refused("libm.so.6");
    assert!(text.contains("libm.so.6") && text.contains("undefined symbol: gradstep_abi_version"), "{text}");
}
