// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! A host's own way to talk to its peers, as a communicator.

use std::time::Duration;

use crate::c_types::ReduceOp;
#[cfg(doc)]
use crate::comm::Communicator;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, TensorMut};

/// What [`HostCollectives`] may have beside `all_gather`; what is missing is built from what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Optional {
    /// [`HostCollectives::all_reduce`].
    AllReduce,
    /// [`HostCollectives::reduce_scatter`].
    ReduceScatter,
    /// [`HostCollectives::broadcast`].
    Broadcast,
    /// [`HostCollectives::send`] and [`HostCollectives::recv`].
    SendAndRecv,
    /// [`HostCollectives::send_recv`], only with [`Optional::SendAndRecv`].
    SendRecv,
    /// [`HostCollectives::exchange`].
    Exchange,
    /// [`HostCollectives::barrier`].
    Barrier,
    /// [`HostCollectives::dup`].
    Dup,
    /// [`HostCollectives::abort`].
    Abort,
    /// [`HostCollectives::poll`].
    Poll,
}

/// A host's collectives, for [`Communicator::host`]. Only `rank`, `world_size` and `all_gather` are needed; the others
/// are called where [`HostCollectives::provides`] lists them.
///
/// A call returns when its buffers are done, within the timeout. Its error, [`Error::Timeout`] or [`Error::PeerLost`]
/// for example, and its text become those of the call of gradstep that needed it; a panic of any function is [`Error::Callback`]. One
/// call runs at a time, and only `abort` comes during another. Memory is the host's. Ranks count from 0.
///
/// ```
/// use gradstep::{CommOptions, Communicator, Context, HostCollectives, ReduceOp};
/// use std::time::Duration;
///
/// struct Alone;
/// impl HostCollectives for Alone {
///     fn rank(&self) -> i32 {
///         0
///     }
///     fn world_size(&self) -> i32 {
///         1
///     }
///     fn all_gather(&self, send: &[u8], receive: &mut [u8], _: Duration) -> gradstep::Result<()> {
///         receive.copy_from_slice(send);
///         Ok(())
///     }
/// }
/// let comm = Communicator::host(&Context::new()?, Alone, CommOptions::default())?;
/// comm.all_reduce(&mut [1.0f32], ReduceOp::Sum)?;
/// # Ok::<(), gradstep::Error>(())
/// ```
#[allow(unused_variables)]
pub trait HostCollectives: Send + Sync + 'static {
    /// This rank. Asked once.
    fn rank(&self) -> i32;

    /// The number of ranks. Asked once.
    fn world_size(&self) -> i32;

    /// `receive` = what all ranks send, in their order; all send equally much.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn all_gather(&self, send: &[u8], receive: &mut [u8], timeout: Duration) -> Result<()>;

    /// What there is beside `all_gather`. Asked once.
    fn provides(&self) -> &[Optional] {
        &[]
    }

    /// Whether gradstep's own threads may call, which makes calls interruptible, and with dup and abort lets a reducer
    /// exchange while the host computes. Asked once.
    fn any_thread(&self) -> bool {
        false
    }

    /// Whether sums are made in the order of the ranks. Asked once.
    fn rank_ordered(&self) -> bool {
        false
    }

    /// `data` = the reduction over ranks, in place. One-dimensional, f32, f64, i32 or i64.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn all_reduce(&self, data: &mut TensorMut<'_>, op: ReduceOp, timeout: Duration) -> Result<()> {
        missing("all_reduce")
    }

    /// `receive` = the reduction over ranks of block `rank` of `send`, which has world_size of them.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn reduce_scatter(
        &self,
        send: &Tensor<'_>,
        receive: &mut TensorMut<'_>,
        op: ReduceOp,
        timeout: Duration,
    ) -> Result<()> {
        missing("reduce_scatter")
    }

    /// `data` = root's.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn broadcast(&self, data: &mut [u8], root: i32, timeout: Duration) -> Result<()> {
        missing("broadcast")
    }

    /// Matched in order per pair of ranks; may wait for the other side.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn send(&self, data: &[u8], to: i32, timeout: Duration) -> Result<()> {
        missing("send")
    }

    /// As send.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn recv(&self, data: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        missing("recv")
    }

    /// Both at once, without waiting for each other.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn send_recv(&self, send: &[u8], to: i32, receive: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        missing("send_recv")
    }

    /// Sends `send[r]` to, and fills `receive[r]` from, every other rank r, all at once; the own ones are empty, and
    /// what is empty is not sent.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]], timeout: Duration) -> Result<()> {
        missing("exchange")
    }

    /// Returns when all ranks have entered.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn barrier(&self, timeout: Duration) -> Result<()> {
        missing("barrier")
    }

    /// Collective: a second, independent channel between the same ranks.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn dup(&self, timeout: Duration) -> Result<Box<dyn HostCollectives>> {
        missing("dup")
    }

    /// Makes calls in progress return, and tells the peers if it can. Once at most, by any thread; only with
    /// any_thread.
    fn abort(&self) {}

    /// Ok, or why the channel is of no more use; asked before every call to other ranks. Never waits.
    ///
    /// # Errors
    /// See [`HostCollectives`].
    fn poll(&self) -> Result<()> {
        Ok(())
    }
}

fn missing<T>(name: &str) -> Result<T> {
    Err(Error::Unsupported(format!("HostCollectives::{name} is provided, but not written")))
}
