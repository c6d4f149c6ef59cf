// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The bindings in src are what bindgen makes of the headers of today. With GRADSTEP_WRITE_BINDINGS set the test writes
//! them there:
//!
//! ```sh
//! GRADSTEP_WRITE_BINDINGS=1 cargo test -p gradstep-sys --features regenerate --test regenerate
//! ```
#![cfg(feature = "regenerate")]

use std::path::Path;

#[test]
fn bindings_are_those_of_the_headers() {
    for name in ["types.rs", "linked.rs", "opened.rs"] {
        let made = std::fs::read_to_string(Path::new(env!("OUT_DIR")).join(name)).expect("the build script wrote it");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
        if std::env::var_os("GRADSTEP_WRITE_BINDINGS").is_some() {
            std::fs::write(&path, &made).expect("src can be written to");
        }
        let checked_in = std::fs::read_to_string(&path).expect("it is part of the crate");
        let difference = made.lines().zip(checked_in.lines()).enumerate().find(|(_, (made, old))| made != old);
        assert_eq!(difference, None, "src/{name} is not what the headers say (line, (made, checked in))");
        assert_eq!(made.len(), checked_in.len(), "src/{name} has not as many lines as the headers say");
    }
}
