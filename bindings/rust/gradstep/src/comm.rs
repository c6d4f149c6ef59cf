// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Connections to the other ranks of a job.

use std::ffi::{CStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::time::Duration;

use crate::callback::guarded;
use crate::context::{Context, made};
use crate::error::{Error, Result, c_string, check, require};
use crate::options::{Field, c_enum};
use crate::sys;
use crate::tensor::{Element, Tensor, TensorMut};

c_enum! {
    /// How elements of the ranks become one.
    ReduceOp {
        /// Their sum.
        Sum = GRADSTEP_REDUCE_SUM,
        /// The largest.
        Max = GRADSTEP_REDUCE_MAX,
        /// The smallest.
        Min = GRADSTEP_REDUCE_MIN,
    }
}
c_enum! {
    /// In which order sums are made.
    ReductionOrder {
        /// That of the ranks: the same bits on every engine.
        Rank = GRADSTEP_REDUCTION_RANK,
        /// The engine's own.
        Engine = GRADSTEP_REDUCTION_ENGINE,
    }
}
c_enum! {
    /// How gradients of the ranks become one.
    Average {
        /// What a reducer's mode says.
        Unset = GRADSTEP_AVERAGE_UNSET,
        /// Their sum.
        Sum = GRADSTEP_AVERAGE_SUM,
        /// Their mean.
        Mean = GRADSTEP_AVERAGE_MEAN,
        /// Their mean, by the ranks' weights.
        Weighted = GRADSTEP_AVERAGE_WEIGHTED,
    }
}

/// What carries the bytes.
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
    /// MPI_COMM_WORLD.
    Mpi,
    /// NCCL, for memory of CUDA devices.
    Nccl,
}

impl Engine {
    fn name(self) -> &'static CStr {
        match self {
            Self::Alone => c"self",
            Self::Shm => c"shm",
            Self::Gloo => c"gloo",
            Self::Auto => c"auto",
            Self::Mpi => c"mpi",
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
    engine: Engine,
    rank: i32,
    world_size: i32,
    timeout: Option<Duration>,
    order: ReductionOrder,
    id: Option<&'a [u8]>,
    store: Option<&'a dyn Store>,
    store_path: Option<&'a Path>,
    network_interface: Option<&'a str>,
    generation: i64,
    device: i32,
}

impl<'a> Connect<'a> {
    /// This rank of a job. Shm, Gloo, auto and NCCL also need one of id, store and store_path.
    pub fn new(engine: Engine, rank: i32, world_size: i32) -> Self {
        Self {
            engine,
            rank,
            world_size,
            timeout: None,
            order: ReductionOrder::Rank,
            id: None,
            store: None,
            store_path: None,
            network_interface: None,
            generation: 0,
            device: 0,
        }
    }

    /// Of every call; default 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The order of sums, the same on all ranks.
    pub fn reduction_order(mut self, order: ReductionOrder) -> Self {
        self.order = order;
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

    /// Of NCCL: the number of this rank's device.
    pub fn device(mut self, device: i32) -> Self {
        self.device = device;
        self
    }
}

/// Milliseconds of C: whole ones, rounded up.
fn milliseconds(timeout: Duration) -> i64 {
    i64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// A rendezvous id for [`Connect::id`], whose store this process then serves. Carry the bytes to all ranks by any means.
///
/// # Errors
/// [`Error::InvalidArgument`]: unknown interface, an engine that takes no id. [`Error::Io`]: no socket.
pub fn unique_id(engine: Engine, network_interface: Option<&str>) -> Result<Vec<u8>> {
    crate::library::ready()?;
    let interface = network_interface.map(|name| c_string("network_interface", name)).transpose()?;
    let interface = interface.as_ref().map_or(null(), |name| name.as_ptr());
    let (name, mut length) = (engine.name().as_ptr(), 0);
    // SAFETY: only asks for the length.
    check(unsafe { sys::gradstep_comm_unique_id_ex(name, interface, null_mut(), 0, &mut length) })?;
    let mut id = vec![0u8; length];
    // SAFETY: as many bytes as are told.
    check(unsafe { sys::gradstep_comm_unique_id_ex(name, interface, id.as_mut_ptr().cast(), id.len(), &mut length) })?;
    id.truncate(length);
    Ok(id)
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

mod sealed {
    use super::sys;

    pub trait Read {
        fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R;
    }
    pub trait Write {
        fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R;
    }
}

/// What a collective reads: a slice, a `Vec`, an array, or a contiguous [`Tensor`].
pub trait Source: sealed::Read {}

/// What a collective writes: a slice, a `Vec`, an array, or a contiguous [`TensorMut`].
pub trait Target: sealed::Write {}

impl Source for Tensor<'_> {}
impl sealed::Read for Tensor<'_> {
    fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
        call(self.as_c())
    }
}
impl Target for TensorMut<'_> {}
impl sealed::Write for TensorMut<'_> {
    fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
        call(self.as_c().cast_const())
    }
}

macro_rules! buffers {
    ($($type:ty $(, $extent:ident)?;)*) => {$(
        impl<T: Element $(, const $extent: usize)?> Source for $type {}
        impl<T: Element $(, const $extent: usize)?> sealed::Read for $type {
            fn with<R>(&self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
                let shape = [self.len()];
                call(Tensor::of_slice(&self[..], &shape).as_c())
            }
        }
        impl<T: Element $(, const $extent: usize)?> Target for $type {}
        impl<T: Element $(, const $extent: usize)?> sealed::Write for $type {
            fn with_mut<R>(&mut self, call: impl FnOnce(*const sys::gradstep_tensor) -> R) -> R {
                let shape = [self.len()];
                call(TensorMut::of_slice(&mut self[..], &shape).as_c().cast_const())
            }
        }
    )*};
}
buffers! {
    [T];
    Vec<T>;
    [T; N], N;
}

/// A connection to the other ranks of a job. Collective calls are made by all ranks, in the same order. An error of one
/// breaks the communicator for good.
///
/// ```
/// use gradstep::{Communicator, Context, ReduceOp};
/// let context = Context::new()?;
/// let ranks = Communicator::local(&context, 2)?;
/// std::thread::scope(|scope| {
///     for comm in ranks {
///         scope.spawn(move || {
///             let mut ones = [1.0f32; 3];
///             comm.all_reduce(&mut ones, ReduceOp::Sum)?;
///             assert_eq!(ones, [2.0; 3]);
///             Ok::<(), gradstep::Error>(())
///         });
///     }
/// });
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Debug)]
pub struct Communicator {
    raw: NonNull<sys::gradstep_comm>,
}

// SAFETY: no handle is bound to a thread (base.h, Threads).
unsafe impl Send for Communicator {}
// SAFETY: a second thread gets INVALID_STATE; abort and status are any thread's.
unsafe impl Sync for Communicator {}

impl Drop for Communicator {
    fn drop(&mut self) {
        // SAFETY: made by create, destroyed once.
        unsafe { sys::gradstep_comm_destroy(self.raw.as_ptr()) }
    }
}

impl Communicator {
    /// This caller alone.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alone(context: &Context) -> Result<Self> {
        Self::connect(context, &Connect::new(Engine::Alone, 0, 1))
    }

    /// Connected communicators, one for each thread that plays a rank.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: no rank, or more than 1024.
    pub fn local(context: &Context, world_size: usize) -> Result<Vec<Self>> {
        let size = i32::try_from(world_size).ok().filter(|&size| size <= 1024).unwrap_or(i32::MAX);
        let mut out = vec![null_mut(); if size == i32::MAX { 1 } else { world_size.max(1) }];
        // SAFETY: room for world_size handles; C refuses numbers beyond 1024 before it writes.
        check(unsafe { sys::gradstep_comm_create_local(context.as_ptr(), size, out.as_mut_ptr()) })?;
        out.into_iter().map(|raw| Ok(Self { raw: made(raw)? })).collect()
    }

    /// Connects processes; collective.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::BackendUnavailable`] (no plugin), [`Error::Timeout`] (a peer did not come), ...;
    /// see comm.h.
    pub fn connect(context: &Context, how: &Connect<'_>) -> Result<Self> {
        let mut options = sys::gradstep_comm_options::default();
        // SAFETY: init fills a struct of this size.
        check(unsafe { sys::gradstep_comm_options_init(&mut options, size_of_val(&options)) })?;
        let path = how.store_path.map(|path| c_string("store_path", path.as_os_str().as_bytes())).transpose()?;
        let interface = how.network_interface.map(|name| c_string("network_interface", name)).transpose()?;
        let store = how.store.as_ref().map(|store| sys::gradstep_store {
            struct_size: size_of::<sys::gradstep_store>() as u32,
            user: (&raw const *store).cast_mut().cast(),
            set: Some(on_set),
            get: Some(on_get),
            ..Default::default()
        });
        options.rank = how.rank;
        options.world_size = how.world_size;
        options.reduction_order = how.order.into_c();
        options.engine = how.engine.name().as_ptr();
        options.timeout_ms = how.timeout.map_or(options.timeout_ms, milliseconds);
        (options.id, options.id_len) = how.id.map_or((null(), 0), |id| (id.as_ptr().cast(), id.len()));
        options.store = store.as_ref().map_or(null(), |store| &raw const *store);
        options.store_path = path.as_ref().map_or(null(), |path| path.as_ptr());
        options.network_interface = interface.as_ref().map_or(null(), |name| name.as_ptr());
        options.generation = how.generation;
        options.device = how.device;
        let mut out = null_mut();
        // SAFETY: the options and all that they point to live during the call.
        check(unsafe { sys::gradstep_comm_create(context.as_ptr(), &options, &mut out) })?;
        Self::from_c(out)
    }

    /// The ranks of an MPI communicator; collective among them.
    ///
    /// # Safety
    /// `comm` points to an MPI_Comm of the MPI library that gradstep's plugin was built with.
    ///
    /// # Errors
    /// See comm.h.
    pub unsafe fn from_mpi(context: &Context, comm: *const c_void) -> Result<Self> {
        let mut out = null_mut();
        // SAFETY: the caller's promise.
        check(unsafe { sys::gradstep_comm_wrap_mpi(context.as_ptr(), comm, &mut out) })?;
        Self::from_c(out)
    }

    /// The same ranks, whose memory of CUDA device `device` travels by NCCL; collective.
    ///
    /// # Safety
    /// `nccl` is NULL or an ncclComm_t of the same ranks that outlives the communicator and is in no other call.
    ///
    /// # Errors
    /// See comm.h.
    pub unsafe fn attach_nccl(&self, device: i32, nccl: *mut c_void) -> Result<Self> {
        let mut out = null_mut();
        // SAFETY: the caller's promise.
        check(unsafe { sys::gradstep_comm_attach_nccl(self.as_ptr(), device, nccl, &mut out) })?;
        Self::from_c(out)
    }

    pub(crate) fn from_c(raw: *mut sys::gradstep_comm) -> Result<Self> {
        Ok(Self { raw: made(raw)? })
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::gradstep_comm {
        self.raw.as_ptr()
    }

    fn number(&self, get: impl FnOnce(*mut sys::gradstep_comm, *mut i32) -> i32) -> Result<i32> {
        let mut number = 0;
        check(get(self.as_ptr(), &mut number))?;
        Ok(number)
    }

    /// This rank, from 0.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn rank(&self) -> Result<i32> {
        // SAFETY: the number is written.
        self.number(|comm, number| unsafe { sys::gradstep_comm_rank(comm, number) })
    }

    /// The number of ranks.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn world_size(&self) -> Result<i32> {
        // SAFETY: the number is written.
        self.number(|comm, number| unsafe { sys::gradstep_comm_world_size(comm, number) })
    }

    /// This rank among those of its host.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn local_rank(&self) -> Result<i32> {
        // SAFETY: the number is written.
        self.number(|comm, number| unsafe { sys::gradstep_comm_local_rank(comm, number) })
    }

    /// The name of the engine that connects the ranks.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn engine(&self) -> Result<String> {
        // SAFETY: the function takes a buffer of text.
        crate::library::text(|buf, cap, len| unsafe { sys::gradstep_comm_engine(self.as_ptr(), buf, cap, len) })
    }

    /// data = the reduction over ranks, in place. Collective.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::InvalidState`] (in use), [`Error::Unsupported`] (not contiguous), and those of a
    /// collective call: [`Error::Timeout`], [`Error::PeerLost`], [`Error::Aborted`], [`Error::Mismatch`].
    pub fn all_reduce(&self, data: &mut (impl Target + ?Sized), op: ReduceOp) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(
            data.with_mut(|data| unsafe {
                sys::gradstep_comm_all_reduce(self.as_ptr(), data, op.into_c(), null_mut())
            }),
        )
    }

    /// output = the inputs of all ranks, one after another. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn all_gather(&self, input: &(impl Source + ?Sized), output: &mut (impl Target + ?Sized)) -> Result<()> {
        check(input.with(|input| {
            // SAFETY: the buffers are borrowed during the call.
            output.with_mut(|output| unsafe { sys::gradstep_comm_all_gather(self.as_ptr(), input, output, null_mut()) })
        }))
    }

    /// As [`Communicator::all_gather`], where rank r gives `counts[r]` elements. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn all_gather_v(
        &self,
        input: &(impl Source + ?Sized),
        output: &mut (impl Target + ?Sized),
        counts: &[usize],
    ) -> Result<()> {
        let ranks = usize::try_from(self.world_size()?).unwrap_or(0);
        require(counts.len() == ranks, || format!("counts: {} entries, expected {ranks}", counts.len()))?;
        check(input.with(|input| {
            // SAFETY: the buffers are borrowed during the call; counts has an entry for each rank.
            output.with_mut(|output| unsafe {
                sys::gradstep_comm_all_gather_v(self.as_ptr(), input, output, counts.as_ptr().cast(), null_mut())
            })
        }))
    }

    /// output = the reduction over ranks of this rank's block of input. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn reduce_scatter(
        &self,
        input: &(impl Source + ?Sized),
        output: &mut (impl Target + ?Sized),
        op: ReduceOp,
    ) -> Result<()> {
        check(input.with(|input| {
            // SAFETY: the buffers are borrowed during the call.
            output.with_mut(|output| unsafe {
                sys::gradstep_comm_reduce_scatter(self.as_ptr(), input, output, op.into_c(), null_mut())
            })
        }))
    }

    /// data = root's. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn broadcast(&self, data: &mut (impl Target + ?Sized), root: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with_mut(|data| unsafe { sys::gradstep_comm_broadcast(self.as_ptr(), data, root, null_mut()) }))
    }

    /// Sends to one rank; may wait for it.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn send(&self, data: &(impl Source + ?Sized), to: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with(|data| unsafe { sys::gradstep_comm_send(self.as_ptr(), data, to, null_mut()) }))
    }

    /// Receives from one rank.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn recv(&self, data: &mut (impl Target + ?Sized), from: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with_mut(|data| unsafe { sys::gradstep_comm_recv(self.as_ptr(), data, from, null_mut()) }))
    }

    /// Waits until all ranks have entered. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn barrier(&self) -> Result<()> {
        // SAFETY: a handle.
        check(unsafe { sys::gradstep_comm_barrier(self.as_ptr()) })
    }

    /// Whether every rank said yes. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn vote(&self, yes: bool) -> Result<bool> {
        // SAFETY: the number is written.
        Ok(self.number(|comm, all| unsafe { sys::gradstep_comm_vote(comm, yes.into_c(), all) })? != 0)
    }

    /// Ranks with the same color form a communicator, ordered by (key, rank); without a color, none. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn split(&self, color: Option<u16>, key: i32) -> Result<Option<Self>> {
        let (color, mut out) = (color.map_or(-1, i32::from), null_mut());
        // SAFETY: the handle is written.
        check(unsafe { sys::gradstep_comm_split(self.as_ptr(), color, key, &mut out) })?;
        Ok(NonNull::new(out).map(|raw| Self { raw }))
    }

    /// A communicator of the same ranks with a channel of its own. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn dup(&self) -> Result<Self> {
        let mut out = null_mut();
        // SAFETY: the handle is written.
        check(unsafe { sys::gradstep_comm_dup(self.as_ptr(), &mut out) })?;
        Self::from_c(out)
    }

    /// Ends a waiting call of another thread, and breaks the communicator.
    ///
    /// # Errors
    /// None is known.
    pub fn abort(&self) -> Result<()> {
        // SAFETY: any thread, also while another one is in a call.
        check(unsafe { sys::gradstep_comm_abort(self.as_ptr()) })
    }

    /// Ok, or the error that broke the communicator. Any thread.
    ///
    /// # Errors
    /// That error.
    pub fn status(&self) -> Result<()> {
        let mut status = sys::GRADSTEP_OK;
        // SAFETY: status is written, and text into its buffer.
        let text = crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_comm_status(self.as_ptr(), &mut status, buf, cap, len)
        })?;
        if status == sys::GRADSTEP_OK { Ok(()) } else { Err(Error::new(status, text)) }
    }
}
