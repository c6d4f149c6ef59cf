// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Statuses of the C API as one enum that carries the library's text.

use std::ffi::{CStr, CString};
use std::fmt;

use crate::sys;

/// What a call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! errors {
    ($($(#[$doc:meta])* $variant:ident = $code:ident,)*) => {
        /// Why a call failed. Each variant has the library's words: they name the argument, what was expected and what
        /// was found. Unless a method says otherwise a failing call has changed nothing.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* $variant(String),)*
            /// A status that this crate does not know, and the text.
            Unknown(i32, String),
        }

        impl Error {
            pub(crate) fn new(status: sys::gradstep_status, text: String) -> Self {
                match status {
                    $(sys::$code => Self::$variant(text),)*
                    _ => Self::Unknown(status, text),
                }
            }

            /// The number of the C API, `GRADSTEP_ERR_*`.
            pub fn status(&self) -> i32 {
                match self {
                    $(Self::$variant(_) => sys::$code,)*
                    Self::Unknown(status, _) => *status,
                }
            }

            /// What was wrong, in the library's words.
            pub fn text(&self) -> &str {
                match self {
                    $(Self::$variant(text) => text,)*
                    Self::Unknown(_, text) => text,
                }
            }

            /// The name in the C API, without `GRADSTEP_ERR_`: "INVALID_ARGUMENT", ...
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($code).trim_start_matches("GRADSTEP_ERR_"),)*
                    Self::Unknown(..) => "UNKNOWN",
                }
            }
        }
    };
}

errors! {
    /// An argument breaks a stated rule.
    InvalidArgument = GRADSTEP_ERR_INVALID_ARGUMENT,
    /// The call is out of turn, on a handle that another call is using, or in a forked child.
    InvalidState = GRADSTEP_ERR_INVALID_STATE,
    /// A legal request that this build, engine or device cannot serve.
    Unsupported = GRADSTEP_ERR_UNSUPPORTED,
    /// The context's allocator gave none.
    OutOfMemory = GRADSTEP_ERR_OUT_OF_MEMORY,
    /// A plugin, or the library itself, is missing or does not fit.
    BackendUnavailable = GRADSTEP_ERR_BACKEND_UNAVAILABLE,
    /// A device call failed.
    Device = GRADSTEP_ERR_DEVICE,
    /// A number is outside what the algorithm can use.
    Numeric = GRADSTEP_ERR_NUMERIC,
    /// A deadline passed while waiting for peers.
    Timeout = GRADSTEP_ERR_TIMEOUT,
    /// A peer closed its connection or died.
    PeerLost = GRADSTEP_ERR_PEER_LOST,
    /// [`Communicator::abort`](crate::Communicator::abort) or the context's interrupt ended the call.
    Aborted = GRADSTEP_ERR_ABORTED,
    /// Ranks, or a file and a handle, disagree.
    Mismatch = GRADSTEP_ERR_MISMATCH,
    /// Reading or writing outside memory failed.
    Io = GRADSTEP_ERR_IO,
    /// Stored bytes are not what was written.
    Corrupt = GRADSTEP_ERR_CORRUPT,
    /// A callback of the host failed, panicked, or did not do its work.
    Callback = GRADSTEP_ERR_CALLBACK,
    /// A defect of gradstep.
    Internal = GRADSTEP_ERR_INTERNAL,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.text())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// Ok, or the error of a status with the text that this thread's last call has left.
#[inline]
pub(crate) fn check(status: sys::gradstep_status) -> Result<()> {
    if status == sys::GRADSTEP_OK { Ok(()) } else { Err(last_error(status)) }
}

#[cold]
fn last_error(status: sys::gradstep_status) -> Error {
    // SAFETY: never NULL, and valid until this thread's next failing call.
    let text = unsafe { CStr::from_ptr(sys::gradstep_last_error()) };
    Error::new(status, text.to_string_lossy().into_owned())
}

/// Text for C; one with a NUL inside is refused.
pub(crate) fn c_string(what: &str, text: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(text)
        .map_err(|error| Error::InvalidArgument(format!("{what} has a NUL at byte {}", error.nul_position())))
}

/// An argument error that is found before C is called.
#[inline]
pub(crate) fn require(holds: bool, text: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::InvalidArgument(text())) }
}
