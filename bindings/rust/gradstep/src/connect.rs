// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! How processes find each other.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::null;
use std::time::Duration;

use crate::c_types::ReductionOrder;
use crate::callback::guarded;
use crate::comm::CommOptions;
#[cfg(doc)]
use crate::comm::Communicator;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, c_string, require};
use crate::sys;

/// What carries the bytes. MPI, which keeps buffers of calls that have failed, is not among them: [`Communicator::mpi`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// This caller alone.
    Alone,
    /// Shared memory of one machine.
    Shm,
    /// TCP.
    Gloo,
    /// Shm if all ranks are on one machine, else Gloo.
    Auto,
    /// NCCL, for memory of CUDA devices.
    Nccl,
}

impl Engine {
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::Alone => c"self",
            Self::Shm => c"shm",
            Self::Gloo => c"gloo",
            Self::Auto => c"auto",
            Self::Nccl => c"nccl",
        }
    }
}

/// A key-value store of the host's, by which ranks find each other.
pub trait Store {
    /// Keeps the value; a second one replaces it.
    ///
    /// # Errors
    /// Ends [`Communicator::connect`] as [`Error::Callback`] with the text.
    fn set(&self, key: &str, value: &[u8]) -> Result<()>;

    /// Waits for the key until the timeout.
    ///
    /// # Errors
    /// [`Error::Timeout`]: it did not come; others as set.
    fn get(&self, key: &str, timeout: Duration) -> Result<Vec<u8>>;
}

/// How [`Communicator::connect`] connects.
#[derive(Clone)]
#[must_use]
pub struct Connect<'a> {
    pub(crate) engine: Engine,
    pub(crate) rank: i32,
    pub(crate) world_size: i32,
    pub(crate) options: CommOptions,
    pub(crate) id: Option<&'a [u8]>,
    pub(crate) store: Option<&'a dyn Store>,
    pub(crate) store_path: Option<&'a Path>,
    pub(crate) network_interface: Option<&'a str>,
    pub(crate) generation: i64,
    pub(crate) device: i32,
}

impl<'a> Connect<'a> {
    /// This rank of a job. Shm, Gloo, auto and NCCL also need one of id, store and store_path.
    pub fn new(engine: Engine, rank: i32, world_size: i32) -> Self {
        Self {
            engine,
            rank,
            world_size,
            options: CommOptions::default(),
            id: None,
            store: None,
            store_path: None,
            network_interface: None,
            generation: 0,
            device: 0,
        }
    }

    /// A rank that a launcher has started, for [`Communicator::from_environment`]: by shared memory where all run on
    /// one machine, else by TCP.
    pub fn launched() -> Self {
        Self::new(Engine::Auto, -1, 1)
    }

    /// The deadline of every call; default 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// The order of sums, the same on all ranks.
    pub fn reduction_order(mut self, order: ReductionOrder) -> Self {
        self.options.reduction_order = Some(order);
        self
    }

    /// What [`unique_id`] has made on one rank.
    pub fn id(mut self, id: &'a [u8]) -> Self {
        self.id = Some(id);
        self
    }

    /// A store of the host's.
    pub fn store(mut self, store: &'a dyn Store) -> Self {
        self.store = Some(store);
        self
    }

    /// A directory that all ranks share.
    pub fn store_path(mut self, path: &'a Path) -> Self {
        self.store_path = Some(path);
        self
    }

    /// Name or address, for Gloo.
    pub fn network_interface(mut self, name: &'a str) -> Self {
        self.network_interface = Some(name);
        self
    }

    /// A new number for each communicator made through the same store.
    pub fn generation(mut self, generation: i64) -> Self {
        self.generation = generation;
        self
    }

    /// NCCL: the number of this rank's device.
    pub fn device(mut self, device: i32) -> Self {
        self.device = device;
        self
    }
}

/// Milliseconds of C: whole ones, rounded up.
pub(crate) fn milliseconds(timeout: Duration) -> i64 {
    i64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// A rendezvous id for [`Connect::id`], whose store this process then serves. Carry the bytes to all ranks by any
/// means.
///
/// # Errors
/// [`Error::InvalidArgument`]: unknown interface, an engine that takes no id. [`Error::Io`]: no socket.
pub fn unique_id(engine: Engine, network_interface: Option<&str>) -> Result<Vec<u8>> {
    crate::library::ready()?;
    let interface = network_interface.map(|name| c_string("network_interface", name)).transpose()?;
    let interface = interface.as_ref().map_or(null(), |name| name.as_ptr());
    let name = engine.name().as_ptr();
    // SAFETY: texts that end with a NUL, and a buffer of bytes.
    crate::library::bytes(|buf, cap, len| unsafe {
        sys::gradstep_comm_unique_id_ex(name, interface, buf.cast(), cap, len)
    })
}

unsafe extern "C" fn on_set(user: *mut c_void, key: *const c_char, data: *const c_void, len: usize) -> i32 {
    guarded("Store::set", || {
        // SAFETY: user is the store of the call; the key ends with a NUL; len bytes are C's.
        let (store, key, value) = unsafe {
            let value = if len == 0 { &[][..] } else { std::slice::from_raw_parts(data.cast(), len) };
            (&*user.cast::<&dyn Store>(), CStr::from_ptr(key), value)
        };
        store.set(&key.to_string_lossy(), value)
    })
}

unsafe extern "C" fn on_get(
    user: *mut c_void,
    key: *const c_char,
    data: *mut c_void,
    len: *mut usize,
    timeout_ms: i64,
) -> i32 {
    guarded("Store::get", || {
        // SAFETY: user is the store of the call, and the key ends with a NUL.
        let (store, key) = unsafe { (&*user.cast::<&dyn Store>(), CStr::from_ptr(key)) };
        let timeout = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        let value = store.get(&key.to_string_lossy(), timeout)?;
        // SAFETY: len is the capacity of data, and becomes the value's length.
        unsafe {
            require(value.len() <= *len, || format!("{key:?}: {} bytes, expected at most {}", value.len(), *len))?;
            std::ptr::copy_nonoverlapping(value.as_ptr(), data.cast(), value.len());
            *len = value.len();
        }
        Ok(())
    })
}

/// The store as C's table, while `store` lives.
pub(crate) fn c_store(store: &&dyn Store) -> sys::gradstep_store {
    sys::gradstep_store {
        struct_size: size_of::<sys::gradstep_store>() as u32,
        user: (&raw const *store).cast_mut().cast(),
        set: Some(on_set),
        get: Some(on_get),
        ..Default::default()
    }
}

/// Safe code does not reach MPI:
///
/// ```compile_fail,E0599
/// let how = gradstep::Connect::new(gradstep::Engine::Mpi, 0, 1);
/// ```
#[cfg(doctest)]
struct Reached;
