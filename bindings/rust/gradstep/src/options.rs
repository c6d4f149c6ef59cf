// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Builders of C's options structs: what is not set keeps the library's default.

use crate::c_types::ReducerMode;

/// How a value is written into a field of C's.
pub(crate) trait Field {
    type C;
    fn into_c(self) -> Self::C;
}

macro_rules! plain_fields {
    ($($type:ty),*) => {$(
        impl Field for $type {
            type C = $type;
            fn into_c(self) -> $type {
                self
            }
        }
    )*};
}
plain_fields!(f64, i64, i32);

impl Field for bool {
    type C = i32;
    fn into_c(self) -> i32 {
        i32::from(self)
    }
}

/// An enum of C's.
macro_rules! c_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $code:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $crate::options::Field for $name {
            type C = i32;
            fn into_c(self) -> i32 {
                match self { $(Self::$variant => $crate::sys::$code,)* }
            }
        }

        impl $name {
            #[allow(dead_code)]
            pub(crate) fn from_c(code: i32) -> Option<Self> {
                $(if code == $crate::sys::$code { return Some(Self::$variant); })*
                None
            }
        }

        impl $crate::handle::FromC<i32> for $name {
            /// A number that this crate does not know is its first.
            fn from_c(code: i32) -> Self {
                Self::from_c(code).unwrap_or([$(Self::$variant),*][0])
            }
        }
    };
}

/// The modes that [`ReducerMode::Auto`] chooses from: `[ReducerMode::Dense, ReducerMode::Half].into()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidates(i32);

impl<const N: usize> From<[ReducerMode; N]> for Candidates {
    fn from(modes: [ReducerMode; N]) -> Self {
        Self(modes.into_iter().fold(0, |flags, mode| flags | 1 << mode.into_c()))
    }
}

impl Candidates {
    /// Also sums in the order of ranks, where the communicator has the order of hosts.
    #[must_use]
    pub fn either_order(self) -> Self {
        Self(self.0 | crate::sys::GRADSTEP_CANDIDATE_HOSTS as i32)
    }
}

impl Field for Candidates {
    type C = i32;
    fn into_c(self) -> i32 {
        self.0
    }
}

/// A builder of an options struct: `init` fills the defaults, then the fields that were set are written.
macro_rules! options {
    ($(#[$meta:meta])* $name:ident => $raw:ident by $init:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct $name { $(pub(crate) $field: Option<$type>,)* }

        impl $name {
            $($(#[$doc])*
            #[must_use]
            pub fn $field(mut self, value: $type) -> Self {
                self.$field = Some(value);
                self
            })*

            pub(crate) fn to_c(self) -> $crate::Result<$crate::sys::$raw> {
                $crate::library::ready()?;
                let mut options = $crate::sys::$raw::default();
                // SAFETY: init fills a struct of this size.
                $crate::error::check(unsafe { $crate::sys::$init(&mut options, size_of::<$crate::sys::$raw>()) })?;
                $(if let Some(value) = self.$field { options.$field = $crate::options::Field::into_c(value); })*
                Ok(options)
            }
        }
    };
}

pub(crate) use {c_enum, options};
