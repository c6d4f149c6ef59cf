// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! A host's own way to talk to its peers, as a communicator.

use std::time::Duration;

use crate::c_types::ReduceOp;
#[cfg(doc)]
use crate::comm::Communicator;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, TensorMut};

/// What [`Collectives`] may have beside `all_gather`; what is missing is built from what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Optional {
    /// [`Collectives::all_reduce`].
    AllReduce,
    /// [`Collectives::reduce_scatter`].
    ReduceScatter,
    /// [`Collectives::broadcast`].
    Broadcast,
    /// [`Collectives::send`] and [`Collectives::recv`].
    SendAndRecv,
    /// [`Collectives::send_recv`], only with [`Optional::SendAndRecv`].
    SendRecv,
    /// [`Collectives::exchange`].
    Exchange,
    /// [`Collectives::barrier`].
    Barrier,
    /// [`Collectives::dup`].
    Dup,
    /// [`Collectives::abort`].
    Abort,
    /// [`Collectives::poll`].
    Poll,
}

/// A host's collectives, for [`Communicator::host`]. Only `rank`, `world_size` and `all_gather` are needed; the others
/// are called where [`Collectives::provides`] lists them.
///
/// A call returns when its buffers are done, within the timeout. Its error, [`Error::Timeout`] or [`Error::PeerLost`]
/// for example, and its text become those of the call of gradstep that needed it; a panic of any function is [`Error::Callback`]. One
/// call runs at a time, and only `abort` comes during another. Memory is the host's. Ranks count from 0.
///
/// ```
/// use gradstep::{Collectives, CommOptions, Communicator, Context, ReduceOp};
/// use std::time::Duration;
///
/// struct Alone;
/// impl Collectives for Alone {
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
pub trait Collectives: Send + Sync + 'static {
    /// This rank. Asked once.
    fn rank(&self) -> i32;

    /// The number of ranks. Asked once.
    fn world_size(&self) -> i32;

    /// `receive` = what all ranks send, in their order; all send equally much.
    ///
    /// # Errors
    /// See [`Collectives`].
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
    /// See [`Collectives`].
    fn all_reduce(&self, data: &mut TensorMut<'_>, op: ReduceOp, timeout: Duration) -> Result<()> {
        missing("all_reduce")
    }

    /// `receive` = the reduction over ranks of block `rank` of `send`, which has world_size of them.
    ///
    /// # Errors
    /// See [`Collectives`].
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
    /// See [`Collectives`].
    fn broadcast(&self, data: &mut [u8], root: i32, timeout: Duration) -> Result<()> {
        missing("broadcast")
    }

    /// Matched in order per pair of ranks; may wait for the other side.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn send(&self, data: &[u8], to: i32, timeout: Duration) -> Result<()> {
        missing("send")
    }

    /// As send.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn recv(&self, data: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        missing("recv")
    }

    /// Both at once, without waiting for each other.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn send_recv(&self, send: &[u8], to: i32, receive: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        missing("send_recv")
    }

    /// Sends `send[r]` to, and fills `receive[r]` from, every other rank r, all at once; the own ones are empty, and
    /// what is empty is not sent.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]], timeout: Duration) -> Result<()> {
        missing("exchange")
    }

    /// Returns when all ranks have entered.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn barrier(&self, timeout: Duration) -> Result<()> {
        missing("barrier")
    }

    /// Collective: a second, independent channel between the same ranks.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn dup(&self, timeout: Duration) -> Result<Box<dyn Collectives>> {
        missing("dup")
    }

    /// Makes calls in progress return, and tells the peers if it can. Once at most, by any thread; only with
    /// any_thread.
    fn abort(&self) {}

    /// Ok, or why the channel is of no more use; asked before every call to other ranks. Never waits.
    ///
    /// # Errors
    /// See [`Collectives`].
    fn poll(&self) -> Result<()> {
        Ok(())
    }
}

fn missing<T>(name: &str) -> Result<T> {
    Err(Error::Unsupported(format!("Collectives::{name} is provided, but not written")))
}
