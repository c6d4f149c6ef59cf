// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! A timeline of what this process does, as Trace Event JSON for chrome://tracing and Perfetto.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, c_string, check};
use crate::sys;

/// From here on this process writes what it does into a new file at `path`; None: as ranges of NVTX alone.
///
/// # Errors
/// [`Error::InvalidState`]: a trace is on. [`Error::Io`]: the file. [`Error::BackendUnavailable`]: without a path, and
/// no library with NVTX's ranges is loaded.
pub fn start(path: Option<&Path>) -> Result<()> {
    crate::library::ready()?;
    let path = path.map(|path| c_string("path", path.as_os_str().as_bytes())).transpose()?;
    // SAFETY: a text that ends with a NUL, or NULL.
    check(unsafe { sys::gradstep_trace_start(path.as_ref().map_or(null(), |path| path.as_ptr())) })
}

/// Completes the file. Nothing where no trace is on.
///
/// # Errors
/// [`Error::Io`]: the file.
pub fn stop() -> Result<()> {
    crate::library::ready()?;
    // SAFETY: takes nothing.
    check(unsafe { sys::gradstep_trace_stop() })
}
