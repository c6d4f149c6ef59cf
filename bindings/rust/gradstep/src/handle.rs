// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What all handles have in common: who owns them, and which threads may call them.

use std::ptr::{NonNull, null_mut};

use crate::error::{Error, Result, check};
use crate::sys;

/// What a successful create has written.
pub(crate) fn made<T>(out: *mut T) -> Result<NonNull<T>> {
    NonNull::new(out).ok_or_else(|| Error::Internal("a create returned OK and no handle".to_owned()))
}

/// Ownership and threads of a handle whose field `raw` is C's.
macro_rules! handle {
    ($handle:ident: $raw:ident, $destroy:ident) => {
        // SAFETY: no handle is bound to a thread (base.h, Threads).
        unsafe impl Send for $handle {}
        // SAFETY: threads may call at once; where they must not, one works and the others get INVALID_STATE. What
        // writes to memory that views show, or gives it back, takes &mut self.
        unsafe impl Sync for $handle {}

        impl Drop for $handle {
            fn drop(&mut self) {
                // SAFETY: made by create, destroyed once.
                unsafe { $crate::sys::$destroy(self.raw.as_ptr()) }
            }
        }

        impl $handle {
            #[inline]
            pub(crate) fn as_ptr(&self) -> *mut $crate::sys::$raw {
                self.raw.as_ptr()
            }
        }
    };
}

/// The stream of a handle that has a field `stream`.
macro_rules! streams {
    ($handle:ident) => {
        impl $handle {
            /// The stream of the handle's device on which the work of all calls that follow is queued; NULL, as at
            /// first, is the device's default stream. On the CPU there is no other: calls with one are
            /// [`Error::InvalidArgument`]($crate::Error::InvalidArgument).
            ///
            /// # Safety
            /// It is a stream of that device, and lives until the work on it is done and another one has taken its
            /// place.
            pub unsafe fn set_stream(&mut self, stream: *mut std::ffi::c_void) {
                self.stream = stream;
            }
        }
    };
}

/// Numbers that C writes through a pointer: `name() -> type` by the function of C.
macro_rules! getters {
    ($handle:ident { $($(#[$doc:meta])* $name:ident -> $type:ty = $get:ident as $c:ty,)* }) => {
        impl $handle {
            $($(#[$doc])*
            ///
            /// # Errors
            /// [`Error::InvalidState`]($crate::Error::InvalidState): in use by another thread.
            pub fn $name(&self) -> $crate::Result<$type> {
                let mut value = <$c>::default();
                // SAFETY: a handle, and the number is written.
                $crate::error::check(unsafe { $crate::sys::$get(self.as_ptr(), &mut value) })?;
                Ok($crate::handle::FromC::from_c(value))
            })*
        }
    };
}

/// How a number of C's is shown.
pub(crate) trait FromC<C> {
    fn from_c(value: C) -> Self;
}

impl FromC<i32> for bool {
    fn from_c(value: i32) -> Self {
        value != 0
    }
}
macro_rules! unchanged {
    ($($type:ty),*) => {$(
        impl FromC<$type> for $type {
            fn from_c(value: $type) -> Self {
                value
            }
        }
    )*};
}
unchanged!(i32, i64, f64);
impl FromC<i64> for std::time::Duration {
    /// A duration of nanoseconds.
    fn from_c(value: i64) -> Self {
        Self::from_nanos(u64::try_from(value).unwrap_or(0))
    }
}

/// A struct that C fills in: its fields as public ones.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident from $raw:ident { $($(#[$doc:meta])* $field:ident: $type:ty = $c:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $name {
            /// What C is given to fill in.
            pub(crate) fn blank() -> $crate::sys::$raw {
                $crate::sys::$raw { struct_size: size_of::<$crate::sys::$raw>() as u32, ..Default::default() }
            }

            pub(crate) fn from_c(raw: &$crate::sys::$raw) -> Self {
                Self { $($field: $crate::handle::FromC::from_c(raw.$c),)* }
            }
        }
    };
}

/// Records of C's, `(records, record_size, capacity, count)`: asks for their number, then for them, and again if there
/// are more of them then.
pub(crate) fn records<R: Copy>(
    blank: R,
    mut get: impl FnMut(*mut R, usize, usize, *mut usize) -> sys::gradstep_status,
) -> Result<Vec<R>> {
    let mut count = 0;
    check(get(null_mut(), size_of::<R>(), 0, &mut count))?;
    loop {
        let mut records = vec![blank; count];
        check(get(records.as_mut_ptr(), size_of::<R>(), records.len(), &mut count))?;
        if count <= records.len() {
            records.truncate(count);
            return Ok(records);
        }
    }
}

pub(crate) use {getters, handle, record, streams};

/// Without C: Miri runs these tests with the feature `dlopen`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_which_there_are_others_at_the_second_call_are_all_there() {
        for counts in [vec![2, 2], vec![0, 0], vec![1, 3, 4, 4], vec![3, 1]] {
            let last = counts[counts.len() - 1];
            let mut calls = counts.into_iter();
            let found = records(-1, |records: *mut i32, size, capacity, count| {
                let all = calls.next().expect("no more calls than that");
                assert_eq!(size, 4);
                for i in 0..capacity.min(all) {
                    // SAFETY: there is room for `capacity` records.
                    unsafe { *records.add(i) = i as i32 };
                }
                // SAFETY: the caller's.
                unsafe { *count = all };
                sys::GRADSTEP_OK
            });
            assert_eq!(found, Ok((0..last as i32).collect()));
        }
    }
}
