// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Connections to the other ranks of a job.

use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{NonNull, null, null_mut};
use std::time::Duration;

use crate::buffers::{Source, Target};
use crate::c_types::{CommStatistics, ReduceOp, ReductionOrder};
use crate::collectives::HostCollectives;
use crate::connect::{Connect, Engine, c_store, milliseconds};
use crate::context::Context;
use crate::error::{Error, Result, c_string, check, require};
use crate::handle::{getters, handle, made, streams};
use crate::host;
use crate::options::Field;
use crate::sys;

/// Options of communicators of every engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommOptions {
    /// The timeout of every call; None is 30 s.
    pub timeout: Option<Duration>,
    /// The order of sums, the same on all ranks; None is [`ReductionOrder::Rank`].
    pub reduction_order: Option<ReductionOrder>,
}

impl CommOptions {
    pub(crate) fn to_c(self) -> Result<sys::gradstep_comm_options> {
        crate::library::ready()?;
        let mut options = sys::gradstep_comm_options::default();
        // SAFETY: init fills a struct of this size.
        check(unsafe { sys::gradstep_comm_options_init(&mut options, size_of_val(&options)) })?;
        options.timeout_ms = self.timeout.map_or(options.timeout_ms, milliseconds);
        options.reduction_order = self.reduction_order.map_or(options.reduction_order, Field::into_c);
        Ok(options)
    }
}

/// A connection to the other ranks of a job. Collective calls are made by all ranks, in the same order. An error of one
/// breaks the communicator for good.
///
/// ```
/// use gradstep::{Communicator, Context, ReduceOp};
/// let context = Context::new()?;
/// let sum = |comm: Communicator| {
///     let mut ones = [1.0f32; 3];
///     comm.all_reduce(&mut ones, ReduceOp::Sum)?;
///     Ok::<_, gradstep::Error>(ones)
/// };
/// let ranks = Communicator::local(&context, 2)?.into_iter();
/// let threads: Vec<_> = ranks.map(|comm| std::thread::spawn(move || sum(comm))).collect();
/// for thread in threads {
///     assert_eq!(thread.join().unwrap()?, [2.0; 3]);
/// }
/// # Ok::<(), gradstep::Error>(())
/// ```
#[derive(Debug)]
pub struct Communicator {
    raw: NonNull<sys::gradstep_comm>,
    stream: *mut c_void,
}

handle!(Communicator: gradstep_comm, gradstep_comm_destroy);
streams!(Communicator);

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
        Self::local_with(context, world_size, CommOptions::default())
    }

    /// [`Communicator::local`] with options.
    ///
    /// # Errors
    /// As [`Communicator::local`]; a timeout of 0.
    pub fn local_with(context: &Context, world_size: usize, options: CommOptions) -> Result<Vec<Self>> {
        require((1..=1024).contains(&world_size), || format!("world_size: is {world_size}, expected 1 to 1024"))?;
        let (options, mut out) = (options.to_c()?, vec![null_mut(); world_size]);
        // SAFETY: room for world_size handles, which are few.
        check(unsafe {
            sys::gradstep_comm_create_local_ex(context.as_ptr(), world_size as i32, &options, out.as_mut_ptr())
        })?;
        out.into_iter().map(Self::from_c).collect()
    }

    /// A host's own collectives. Collective: the host names of the ranks are gathered once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: a rank outside the world, half of send and recv. [`Error::Mismatch`]: ranks
    /// disagree, or all_gather mixes their data up. Also what all_gather returns.
    pub fn host(context: &Context, collectives: impl HostCollectives, options: CommOptions) -> Result<Self> {
        let (options, mut out) = (options.to_c()?, null_mut());
        let (vtable, user) = host::to_c(Box::new(collectives))?;
        // SAFETY: the table's functions fit the user, which C owns from here on.
        check(unsafe { sys::gradstep_comm_create_host_ex(context.as_ptr(), &vtable, user, &options, &mut out) })?;
        Self::from_c(out)
    }

    /// Connects processes; collective.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::BackendUnavailable`] (no plugin), [`Error::Timeout`] (a peer did not come),
    /// ...; see comm.h.
    pub fn connect(context: &Context, how: &Connect<'_>) -> Result<Self> {
        let mut out = null_mut();
        // SAFETY: the options and all that they point to live during the call.
        Self::with_c(how, |options| unsafe { sys::gradstep_comm_create(context.as_ptr(), options, &mut out) })?;
        Self::from_c(out)
    }

    /// How many newcomers wait for the world of `how`, and may be joined by connecting so: of its ranks from the world
    /// size of `comm` on, those that are there. Collective over `comm`: rank 0 asks, and all get the same answer. None:
    /// this process asks by itself, for all ranks. The call waits for no rank.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: the world is not larger, or nowhere to meet is given. [`Error::Aborted`]: rank 0
    /// could not ask.
    pub fn pending(comm: Option<&Self>, how: &Connect<'_>) -> Result<usize> {
        let mut waiting = 0;
        let raw = comm.map_or(null_mut(), |comm| comm.raw.as_ptr());
        // SAFETY: as in connect().
        Self::with_c(how, |options| unsafe { sys::gradstep_rendezvous_pending(raw, options, &mut waiting) })?;
        Ok(waiting as usize)
    }

    fn with_c(how: &Connect<'_>, call: impl FnOnce(&sys::gradstep_comm_options) -> i32) -> Result<()> {
        let mut options = how.options.to_c()?;
        let path = how.store_path.map(|path| c_string("store_path", path.as_os_str().as_bytes())).transpose()?;
        let interface = how.network_interface.map(|name| c_string("network_interface", name)).transpose()?;
        let store = how.store.as_ref().map(c_store);
        let text = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        options.rank = how.rank;
        options.world_size = how.world_size;
        options.engine = how.engine.name().as_ptr();
        (options.id, options.id_len) = how.id.map_or((null(), 0), |id| (id.as_ptr().cast(), id.len()));
        options.store = store.as_ref().map_or(null(), |store| &raw const *store);
        options.store_path = text(&path);
        options.network_interface = text(&interface);
        options.generation = how.generation;
        options.device = how.device;
        check(call(&options))
    }

    /// The ranks that torchrun, mpirun, Slurm or Kubernetes has started, by what it says in the environment; collective.
    /// [`Connect::launched`] makes `how`: its rank and world size are not read, and a rendezvous is not needed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the variables that were looked for, what was found and what contradicts. Others
    /// as [`Communicator::connect`].
    pub fn from_environment(context: &Context, how: &Connect<'_>) -> Result<Self> {
        Self::connect(context, &Connect { rank: -1, ..how.clone() })
    }

    /// The ranks of MPI_COMM_WORLD; collective among them. MPI is started if the process has not done so.
    ///
    /// # Safety
    /// A call that ends as [`Error::Timeout`] or [`Error::Aborted`] leaves its buffers to MPI, which may still read and
    /// write them: the memory that it was lent, and the handles that made it, are neither used nor given back while the
    /// process lives. That holds for the communicators, reducers and sharded optimizers that are made with this one, too.
    ///
    /// # Errors
    /// [`Error::BackendUnavailable`]: no plugin. Others: see comm.h.
    pub unsafe fn mpi(context: &Context, options: CommOptions) -> Result<Self> {
        let (mut options, mut out) = (options.to_c()?, null_mut());
        options.engine = c"mpi".as_ptr();
        // SAFETY: the options live during the call; the caller's promise.
        check(unsafe { sys::gradstep_comm_create(context.as_ptr(), &options, &mut out) })?;
        Self::from_c(out)
    }

    /// The ranks of an MPI communicator; collective among them.
    ///
    /// # Safety
    /// `comm` points to an MPI_Comm of the MPI library that gradstep's plugin was built with. Also as
    /// [`Communicator::mpi`].
    ///
    /// # Errors
    /// See comm.h.
    pub unsafe fn wrap_mpi(context: &Context, comm: *const c_void, options: CommOptions) -> Result<Self> {
        let (options, mut out) = (options.to_c()?, null_mut());
        // SAFETY: the caller's promise.
        check(unsafe { sys::gradstep_comm_wrap_mpi_ex(context.as_ptr(), comm, &options, &mut out) })?;
        Self::from_c(out)
    }

    /// The old name of [`Communicator::wrap_mpi`].
    ///
    /// # Safety
    /// As [`Communicator::wrap_mpi`].
    ///
    /// # Errors
    /// As [`Communicator::wrap_mpi`].
    #[deprecated(note = "use wrap_mpi")]
    pub unsafe fn from_mpi(context: &Context, comm: *const c_void, options: CommOptions) -> Result<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::wrap_mpi(context, comm, options) }
    }

    /// A communicator of these ranks, whose memory of CUDA device `device` travels by NCCL; collective.
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
        Ok(Self { raw: made(raw)?, stream: null_mut() })
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
    /// [`Error::InvalidArgument`], [`Error::InvalidState`] (in use), [`Error::Unsupported`] (not contiguous), and those
    /// of a collective call: [`Error::Timeout`], [`Error::PeerLost`], [`Error::Aborted`], [`Error::Mismatch`].
    pub fn all_reduce(&self, data: &mut (impl Target + ?Sized), op: ReduceOp) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(
            data.with_mut(|data| unsafe {
                sys::gradstep_comm_all_reduce(self.as_ptr(), data, op.into_c(), self.stream)
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
            output
                .with_mut(|output| unsafe { sys::gradstep_comm_all_gather(self.as_ptr(), input, output, self.stream) })
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
                sys::gradstep_comm_all_gather_v(self.as_ptr(), input, output, counts.as_ptr().cast(), self.stream)
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
                sys::gradstep_comm_reduce_scatter(self.as_ptr(), input, output, op.into_c(), self.stream)
            })
        }))
    }

    /// data = root's. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn broadcast(&self, data: &mut (impl Target + ?Sized), root: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with_mut(|data| unsafe { sys::gradstep_comm_broadcast(self.as_ptr(), data, root, self.stream) }))
    }

    /// Sends to one rank; may wait for it.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn send(&self, data: &(impl Source + ?Sized), to: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with(|data| unsafe { sys::gradstep_comm_send(self.as_ptr(), data, to, self.stream) }))
    }

    /// Receives from one rank.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn recv(&self, data: &mut (impl Target + ?Sized), from: i32) -> Result<()> {
        // SAFETY: the buffer is borrowed during the call.
        check(data.with_mut(|data| unsafe { sys::gradstep_comm_recv(self.as_ptr(), data, from, self.stream) }))
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
        let mut all = 0;
        // SAFETY: the number is written.
        check(unsafe { sys::gradstep_comm_vote(self.as_ptr(), yes.into_c(), &mut all) })?;
        Ok(all != 0)
    }

    /// Ranks with the same color, 0 or more, form a communicator, ordered by (key, rank); those without a color, or with
    /// a negative one, none. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    pub fn split(&self, color: Option<i32>, key: i32) -> Result<Option<Self>> {
        let (color, mut out) = (color.unwrap_or(-1), null_mut());
        // SAFETY: the handle is written.
        check(unsafe { sys::gradstep_comm_split(self.as_ptr(), color, key, &mut out) })?;
        Ok(NonNull::new(out).map(|raw| Self { raw, stream: null_mut() }))
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

    /// The error that broke the communicator. Any thread.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        let mut status = sys::GRADSTEP_OK;
        // SAFETY: status is written, and text into its buffer.
        let text = crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_comm_status(self.as_ptr(), &mut status, buf, cap, len)
        });
        match text {
            Ok(_) if status == sys::GRADSTEP_OK => None,
            Ok(text) => Some(Error::new(status, text)),
            Err(error) => Some(error),
        }
    }

    /// The old name of [`Communicator::error`].
    ///
    /// # Errors
    /// The error that broke the communicator.
    #[deprecated(note = "use error")]
    pub fn status(&self) -> Result<()> {
        self.error().map_or(Ok(()), Err)
    }

    /// What the communicator has done.
    ///
    /// # Errors
    /// [`Error::InvalidState`]: in use.
    pub fn statistics(&self) -> Result<CommStatistics> {
        let mut statistics = CommStatistics::blank();
        // SAFETY: the struct is written.
        check(unsafe { sys::gradstep_comm_stats(self.as_ptr(), &mut statistics) })?;
        Ok(CommStatistics::from_c(&statistics))
    }

    /// The statistics as text for Prometheus. `labels` go into the braces of every line: `job="7"`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`]: labels with a line break or a brace. [`Error::InvalidState`]: in use.
    pub fn counters(&self, labels: &str) -> Result<String> {
        let labels = c_string("labels", labels)?;
        // SAFETY: the function takes a text and a buffer of text.
        crate::library::text(|buf, cap, len| unsafe {
            sys::gradstep_comm_counters(self.as_ptr(), labels.as_ptr(), buf, cap, len)
        })
    }
}

getters! {
    Communicator {
        /// This rank, from 0.
        rank -> i32 = gradstep_comm_rank as i32,
        /// The number of ranks.
        world_size -> i32 = gradstep_comm_world_size as i32,
        /// This rank among those of its host.
        local_rank -> i32 = gradstep_comm_local_rank as i32,
    }
}
