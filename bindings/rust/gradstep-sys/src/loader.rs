// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The library that is opened at run time: one for the process, which never closes it.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};

use crate::{AbiMismatch, GRADSTEP_ABI_VERSION, abi_fits, functions::Functions};

static OPENED: OnceLock<(OsString, Functions)> = OnceLock::new();

/// Why [`open`] gave no library.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such library, or it lacks a function; the loader's words.
    Loader(libloading::Error),
    /// It has another ABI.
    Abi(AbiMismatch),
    /// Another library is open already: this is its path.
    OtherLibrary(OsString),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The words of libloading are "dlopen failed"; those of the loader are its source.
            Self::Loader(error) => match error.source() {
                Some(words) => write!(f, "{words}"),
                None => write!(f, "{error}"),
            },
            Self::Abi(error) => error.fmt(f),
            Self::OtherLibrary(path) => write!(f, "{} is open already", Path::new(path).display()),
        }
    }
}

impl Error for OpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Loader(error) => Some(error),
            Self::Abi(error) => Some(error),
            Self::OtherLibrary(_) => None,
        }
    }
}

/// Opens the library at `path`, a path or a name that the loader searches for, and checks its ABI before anything else is
/// looked up. Opening the same one again does nothing. Any thread.
///
/// # Safety
/// Opening a library runs its initialisers, and its functions are trusted to be what the headers declare: it must be
/// gradstep.
///
/// # Errors
/// [`OpenError`]; no library is open then, unless one was before.
pub unsafe fn open(path: impl AsRef<OsStr>) -> Result<(), OpenError> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = path.as_ref();
    if let Some((opened, _)) = OPENED.get() {
        return if opened == path { Ok(()) } else { Err(OpenError::OtherLibrary(opened.clone())) };
    }
    // SAFETY: the caller says that it is gradstep, whose initialisers do nothing that other threads could see.
    let library = unsafe { libloading::Library::new(path) }.map_err(OpenError::Loader)?;
    // SAFETY: this function has this type in every version.
    let abi_version = unsafe { library.get::<unsafe extern "C" fn() -> u32>(c"gradstep_abi_version") };
    // SAFETY: as above.
    let abi_version = unsafe { abi_version.map_err(OpenError::Loader)?() };
    if !abi_fits(abi_version, GRADSTEP_ABI_VERSION) {
        return Err(OpenError::Abi(AbiMismatch { library: abi_version, bindings: GRADSTEP_ABI_VERSION }));
    }
    // SAFETY: a library of this ABI has these functions with these types.
    let functions = unsafe { Functions::find(&library) }.map_err(OpenError::Loader)?;
    // The library stays loaded whatever is done with it (its threads run in it).
    std::mem::forget(library);
    let _ = OPENED.set((path.to_owned(), functions));
    Ok(())
}

/// The functions of the open library.
///
/// # Panics
/// If none is open: then there is nothing to call.
#[inline]
pub(crate) fn functions() -> &'static Functions {
    let (_, functions) = OPENED.get().expect("gradstep_sys::open has not been called");
    functions
}

/// Whether [`open`] has opened a library. Any thread.
pub fn is_open() -> bool {
    OPENED.get().is_some()
}
