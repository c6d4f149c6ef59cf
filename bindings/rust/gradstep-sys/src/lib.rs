// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! gradstep's C API, made by bindgen. What it means is in the comments of the headers, `include/c_api/gradstep`; the crate
//! `gradstep` is the safe layer above.
//!
//! Without the feature `dlopen` the functions are linked: with `libgradstep.so` in the folder `GRADSTEP_LIB_DIR`, else
//! with the one that pkg-config knows, else with one that CMake builds from the sources. With it they are looked up in a
//! library that `open` opens while the program runs.
//!
//! Before the first other call a program asks [`check_abi`] whether the library is the one that these bindings describe.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("gradstep's structs are those of 64-bit systems");

#[allow(missing_docs, non_camel_case_types, non_upper_case_globals, clippy::all, clippy::undocumented_unsafe_blocks)]
mod types {
    include!("types.rs");
}
pub use types::*;

#[cfg(not(feature = "dlopen"))]
#[allow(missing_docs, clippy::all)]
mod functions {
    use crate::types::*;
    include!("linked.rs");
}
#[cfg(feature = "dlopen")]
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::undocumented_unsafe_blocks)]
mod functions {
    use crate::loader::functions;
    use crate::types::*;
    include!("opened.rs");
}
pub use functions::*;

#[cfg(feature = "dlopen")]
mod loader;
#[cfg(feature = "dlopen")]
pub use loader::{OpenError, is_open, open};

use std::fmt;

/// The library has another ABI than these bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbiMismatch {
    /// The ABI of the library, `major << 16 | minor`.
    pub library: u32,
    /// The ABI of the headers that the bindings were made from, [`GRADSTEP_ABI_VERSION`].
    pub bindings: u32,
}

impl fmt::Display for AbiMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |version: u32| format!("{}.{}", version >> 16, version & 0xffff);
        write!(f, "libgradstep has ABI {}, gradstep-sys was made for {}", text(self.library), text(self.bindings))
    }
}

impl std::error::Error for AbiMismatch {}

/// Whether a program made for the ABI `bindings` may call a library of the ABI `library`: before 1.0 they must be equal,
/// from then on the major numbers, and the library's minor must not be smaller.
pub const fn abi_fits(library: u32, bindings: u32) -> bool {
    library == bindings
        || (library >> 16 != 0 && library >> 16 == bindings >> 16 && library & 0xffff >= bindings & 0xffff)
}

/// Compares the library's ABI with that of these bindings. Any thread.
///
/// # Errors
/// [`AbiMismatch`], if the functions of these bindings must not be called.
pub fn check_abi() -> Result<(), AbiMismatch> {
    // SAFETY: takes no argument, and is the one function whose type never changes.
    let library = unsafe { gradstep_abi_version() };
    if abi_fits(library, GRADSTEP_ABI_VERSION) {
        Ok(())
    } else {
        Err(AbiMismatch { library, bindings: GRADSTEP_ABI_VERSION })
    }
}
