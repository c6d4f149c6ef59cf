// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What handles hold, written to files and read back.

use std::ffi::c_void;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::c_types::LoadOptions;
use crate::callback::guarded;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, c_string, check, require};
use crate::sys;
use crate::{Accumulator, Optimizer, Reducer, Updater};

unsafe extern "C" fn on_write(user: *mut c_void, data: *const c_void, size: usize) -> sys::gradstep_status {
    guarded("the writer", || {
        // SAFETY: user is the writer of the call; size bytes are C's.
        let writer = unsafe { &mut *user.cast::<&mut dyn Write>() };
        if size > 0 {
            // SAFETY: as above.
            writer.write_all(unsafe { std::slice::from_raw_parts(data.cast(), size) })?;
        }
        Ok(())
    })
}

unsafe extern "C" fn on_read(
    user: *mut c_void,
    data: *mut c_void,
    size: usize,
    got: *mut usize,
) -> sys::gradstep_status {
    guarded("the reader", || {
        // SAFETY: user is the reader of the call, size bytes are C's.
        let reader = unsafe { &mut *user.cast::<&mut dyn Read>() };
        let mut count = 0;
        if size > 0 {
            // SAFETY: as above.
            let bytes: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(data.cast(), size) };
            count = loop {
                match reader.read(bytes) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    result => break result?,
                }
            };
        }
        require(count <= size, || format!("the reader: {count} bytes, expected at most {size}"))?;
        // SAFETY: C's to be written.
        unsafe { *got = count };
        Ok(())
    })
}

macro_rules! saved_state {
    ($($handle:ident $(if $intact:ident)?: $save:ident, $save_file:ident, $load:ident, $load_file:ident;)*) => {$(
        /// Saved state: safetensors files with a checksum; see docs/saved_state.md.
        impl $handle {
            /// Writes what the handle holds to the file, which is the old one or the new one, whole, whatever happens.
            /// What is spread over ranks is saved collectively: rank 0 writes.
            ///
            /// # Errors
            /// [`Error::Io`] with the system's words, [`Error::InvalidState`]; see state.h.
            pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
                $(self.$intact()?;)?
                let path = c_string("path", path.as_ref().as_os_str().as_bytes())?;
                // SAFETY: the path ends with a NUL.
                check(unsafe { sys::$save_file(self.as_ptr(), path.as_ptr()) })
            }

            /// Takes over what the file holds; everything is checked before anything is changed.
            ///
            /// # Errors
            /// [`Error::Io`], [`Error::Corrupt`], [`Error::Mismatch`]; see state.h.
            pub fn load(&mut self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<()> {
                $(self.$intact()?;)?
                let (path, options) = (c_string("path", path.as_ref().as_os_str().as_bytes())?, options.to_c()?);
                // SAFETY: the path ends with a NUL, the options live during the call.
                check(unsafe { sys::$load_file(self.as_ptr(), path.as_ptr(), &options) })
            }

            /// As save, to a writer; after an error it has a part. Where saving is collective, ranks other than 0 may
            /// pass None.
            ///
            /// # Errors
            /// As save; [`Error::Callback`] with the writer's words.
            pub fn save_to(&mut self, writer: Option<&mut dyn Write>) -> Result<()> {
                $(self.$intact()?;)?
                let Some(mut writer) = writer else {
                    // SAFETY: C refuses NULL where it needs a stream.
                    return check(unsafe { sys::$save(self.as_ptr(), std::ptr::null()) });
                };
                let stream = sys::gradstep_stream {
                    struct_size: size_of::<sys::gradstep_stream>() as u32,
                    user: (&raw mut writer).cast(),
                    write: Some(on_write),
                    ..Default::default()
                };
                // SAFETY: stream and writer live during the call.
                check(unsafe { sys::$save(self.as_ptr(), &stream) })
            }

            /// As load, from a reader, to its end.
            ///
            /// # Errors
            /// As load; [`Error::Callback`] with the reader's words.
            pub fn load_from(&mut self, mut reader: &mut dyn Read, options: &LoadOptions) -> Result<()> {
                $(self.$intact()?;)?
                let options = options.to_c()?;
                let stream = sys::gradstep_stream {
                    struct_size: size_of::<sys::gradstep_stream>() as u32,
                    user: (&raw mut reader).cast(),
                    read: Some(on_read),
                    ..Default::default()
                };
                // SAFETY: stream, reader and options live during the call.
                check(unsafe { sys::$load(self.as_ptr(), &stream, &options) })
            }
        }
    )*};
}
saved_state! {
    Optimizer:
        gradstep_optimizer_save, gradstep_optimizer_save_file, gradstep_optimizer_load, gradstep_optimizer_load_file;
    Accumulator:
        gradstep_accumulator_save, gradstep_accumulator_save_file,
        gradstep_accumulator_load, gradstep_accumulator_load_file;
    Reducer:
        gradstep_reducer_save, gradstep_reducer_save_file, gradstep_reducer_load, gradstep_reducer_load_file;
    Updater if intact:
        gradstep_updater_save, gradstep_updater_save_file, gradstep_updater_load, gradstep_updater_load_file;
}
