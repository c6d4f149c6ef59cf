// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The border that C crosses when it calls Rust: no panic gets over it.

use std::any::Any;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};
use crate::sys;

/// Runs `body` for C. Its error becomes the status and this thread's text, a panic CALLBACK with the panic's words.
///
/// AssertUnwindSafe: what a panic has left half-done is the host's own object, which stays as it is, and the call that
/// needed it fails.
pub(crate) fn guarded(what: &str, body: impl FnOnce() -> Result<()>) -> sys::gradstep_status {
    let error = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return sys::GRADSTEP_OK,
        Ok(Err(error)) => error,
        Err(payload) => Error::Callback(format!("{what} panicked: {}", words_of(payload))),
    };
    let text = CString::new(error.text().replace('\0', " ")).unwrap_or_default();
    // SAFETY: the text is copied.
    unsafe { sys::gradstep_set_last_error(text.as_ptr()) };
    error.status()
}

/// Asks an object of the host's outside of any call of C's; a panic is CALLBACK there too.
pub(crate) fn asked<T>(what: &str, body: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body))
        .map_err(|payload| Error::Callback(format!("{what} panicked: {}", words_of(payload))))
}

/// Runs `body` for a C function that cannot fail; a panic gives None.
pub(crate) fn contained<T>(body: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(words_of).ok()
}

fn words_of(payload: Box<dyn Any + Send>) -> String {
    let words = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(no text)".to_owned());
    // A payload may panic when it is dropped, and so may that panic's payload: there it ends.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    words
}

/// A `release` of C's: drops the box that `user` was made of.
///
/// # Safety
/// `user` came from `Box::<T>::into_raw`, and is given back once.
pub(crate) unsafe extern "C" fn release<T>(user: *mut c_void) {
    contained(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(user.cast::<T>()) });
    });
}

/// A value on the heap as the `user` of callbacks, for [`release`] to drop.
pub(crate) fn user<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}
