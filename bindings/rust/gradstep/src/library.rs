// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The library as a whole: is it there and does it fit, its versions, its plugins.

use std::ffi::{CStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Error, Result, c_string, check};
use crate::sys;

/// Opens libgradstep at `path`, a path or a name that the loader searches for. One library serves the process; opening
/// it again does nothing. What needs the library before that opens the one that the environment variable
/// GRADSTEP_LIBRARY names, else `libgradstep.so.0`.
///
/// # Safety
/// The library must be gradstep: its initialisers run, and its functions are believed to be what the headers declare.
///
/// # Errors
/// [`Error::BackendUnavailable`] with the path, and the loader's words or both ABI versions; another library is open
/// already.
#[cfg(feature = "dlopen")]
pub unsafe fn load(path: impl AsRef<Path>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { open(path.as_ref()) }
}

/// # Safety
/// As [`load`].
#[cfg(feature = "dlopen")]
unsafe fn open(path: &Path) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { sys::open(path) }.map_err(|error| {
        let (name, words) = (path.display().to_string(), error.to_string());
        // The loader's words begin with the name; a name that is resolved to a path may be missing in them.
        Error::BackendUnavailable(if words.starts_with(&name) { words } else { format!("{name}: {words}") })
    })
}

/// Ok once the library is there and has the ABI that this crate was made for; to be called before anything else of C.
#[cfg(feature = "dlopen")]
pub(crate) fn ready() -> Result<()> {
    use std::sync::OnceLock;
    static READY: OnceLock<()> = OnceLock::new();
    if READY.get().is_none() {
        if !sys::is_open() {
            let name = std::env::var_os("GRADSTEP_LIBRARY").unwrap_or_else(|| "libgradstep.so.0".into());
            // SAFETY: the program's user has put gradstep there, and a program trusts what it is linked with.
            unsafe { open(Path::new(&name)) }?;
        }
        READY.get_or_init(|| ());
    }
    Ok(())
}

/// Ok if the library has the ABI that this crate was made for; to be called before anything else of C.
#[cfg(not(feature = "dlopen"))]
pub(crate) fn ready() -> Result<()> {
    sys::check_abi().map_err(|error| Error::BackendUnavailable(error.to_string()))
}

/// `major.minor.patch` of the library.
///
/// # Errors
/// [`Error::BackendUnavailable`]: there is no library that fits this crate.
pub fn version() -> Result<&'static str> {
    ready()?;
    // SAFETY: static storage, ASCII.
    let text = unsafe { CStr::from_ptr(sys::gradstep_version_string()) };
    text.to_str().map_err(|error| Error::Internal(error.to_string()))
}

/// A JSON object about the library's build: version, compiler, instruction sets, engines, ...
///
/// # Errors
/// As [`version`].
pub fn build_info() -> Result<String> {
    ready()?;
    // SAFETY: the function takes a buffer of text.
    text(|buf, cap, len| unsafe { sys::gradstep_build_info(buf, cap, len) })
}

/// Whether the backend or engine works here: "cpu", "cuda", "self", "local", "shm", "host", "gloo", "mpi" or "nccl".
/// Opens its plugin if there is one.
///
/// # Errors
/// As [`version`].
pub fn backend_available(name: &str) -> Result<bool> {
    ready()?;
    let name = c_string("name", name)?;
    // SAFETY: a text that ends with a NUL.
    Ok(unsafe { sys::gradstep_backend_available(name.as_ptr()) } != 0)
}

/// Why the backend or engine is or is not available: "ok" or the loader's words.
///
/// # Errors
/// [`Error::InvalidArgument`]: a name that gradstep does not know. Also as [`version`].
pub fn backend_status(name: &str) -> Result<String> {
    ready()?;
    let name = c_string("name", name)?;
    // SAFETY: a text that ends with a NUL, and a buffer of text.
    text(|buf, cap, len| unsafe { sys::gradstep_backend_status(name.as_ptr(), buf, cap, len) })
}

/// Opens a plugin, which stays open until the process ends.
///
/// # Safety
/// The file's initialisers run, and it is believed to be a plugin of gradstep.
///
/// # Errors
/// [`Error::BackendUnavailable`]: the loader's words, or it belongs to another build of gradstep.
pub unsafe fn load_backend(path: impl AsRef<Path>) -> Result<()> {
    ready()?;
    let path = c_string("path", path.as_ref().as_os_str().as_bytes())?;
    // SAFETY: a text that ends with a NUL; the rest is the caller's promise.
    check(unsafe { sys::gradstep_backend_load(path.as_ptr()) })
}

/// The old name of [`load_backend`].
///
/// # Safety
/// As [`load_backend`].
///
/// # Errors
/// As [`load_backend`].
#[deprecated(note = "use load_backend")]
pub unsafe fn load_plugin(path: impl AsRef<Path>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { load_backend(path) }
}

/// Bytes of C's, `(buf, cap, len)`: asks for their number, then for them, and again if they have grown in between.
pub(crate) fn bytes(mut get: impl FnMut(*mut u8, usize, *mut usize) -> sys::gradstep_status) -> Result<Vec<u8>> {
    let mut length = 0;
    check(get(std::ptr::null_mut(), 0, &mut length))?;
    loop {
        let mut bytes = vec![0u8; length];
        let status = get(bytes.as_mut_ptr(), bytes.len(), &mut length);
        if status == sys::GRADSTEP_OK {
            bytes.truncate(length);
            return Ok(bytes);
        }
        // A buffer that was too small left the length as it was. The failure's text stays when this call succeeds.
        check(get(std::ptr::null_mut(), 0, &mut length))?;
        if length <= bytes.len() {
            return check(status).map(|()| bytes);
        }
    }
}

/// A text of C's, `(buf, cap, len)`, which ends with a NUL.
pub(crate) fn text(mut get: impl FnMut(*mut c_char, usize, *mut usize) -> sys::gradstep_status) -> Result<String> {
    let mut bytes = bytes(|buf, cap, len| get(buf.cast(), cap, len))?;
    bytes.pop();
    String::from_utf8(bytes).map_err(|error| Error::Internal(error.to_string()))
}

/// Without C: Miri runs these tests with the feature `dlopen`.
#[cfg(test)]
mod tests {
    use super::*;

    /// C's function of a text that is the next one of `texts` at each call, and stays the last one.
    fn of<'a>(texts: &'a [&'a str]) -> impl FnMut(*mut c_char, usize, *mut usize) -> sys::gradstep_status + 'a {
        let mut calls = texts.iter();
        move |buf, cap, len| {
            let text = if calls.len() > 1 { calls.next() } else { calls.as_slice().first() }.expect("a text");
            let needed = text.len() + 1;
            if !buf.is_null() && cap < needed {
                return sys::GRADSTEP_ERR_INVALID_ARGUMENT;
            }
            // SAFETY: cap bytes, or none; len is the caller's.
            unsafe {
                if !buf.is_null() {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast(), text.len());
                    *buf.add(text.len()) = 0;
                }
                *len = needed;
            }
            sys::GRADSTEP_OK
        }
    }

    #[test]
    fn a_text_that_changes_between_two_calls_is_the_new_one() {
        assert_eq!(text(of(&["the same"])).unwrap(), "the same");
        assert_eq!(text(of(&[""])).unwrap(), "");
        assert_eq!(text(of(&["", "the communicator was aborted"])).unwrap(), "the communicator was aborted");
        assert_eq!(text(of(&["", "ab", "ab", "longer", "longest of all"])).unwrap(), "longest of all");
        assert_eq!(text(of(&["longer", "short"])).unwrap(), "short");
    }
}
