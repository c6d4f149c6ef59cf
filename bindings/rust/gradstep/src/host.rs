// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The functions by which C calls a host's collectives.
#![allow(clippy::too_many_arguments)] // as many as C has

use std::ffi::c_void;
use std::time::Duration;

use crate::c_types::ReduceOp;
use crate::callback::{asked, contained, guarded, release, user};
use crate::collectives::{HostCollectives, Optional};
use crate::error::{Error, Result};
use crate::options::Field;
use crate::sys;
use crate::tensor::{Device, Dtype, Tensor, TensorMut};

/// The user of C's table. C's buffers are as large as the table says, whatever the collectives answer later.
struct Host {
    collectives: Box<dyn HostCollectives>,
    rank: i32,
    world_size: i32,
}

/// C's table for the host, and its user, which the table's release drops.
pub(crate) fn to_c(collectives: Box<dyn HostCollectives>) -> Result<(sys::gradstep_comm_vtable, *mut c_void)> {
    let (rank, world_size) = (asked("rank", || collectives.rank())?, asked("world_size", || collectives.world_size())?);
    let mut vtable = sys::gradstep_comm_vtable {
        struct_size: size_of::<sys::gradstep_comm_vtable>() as u32,
        rank,
        world_size,
        any_thread: asked("any_thread", || collectives.any_thread())?.into_c(),
        rank_ordered: asked("rank_ordered", || collectives.rank_ordered())?.into_c(),
        all_gather: Some(on_all_gather),
        release: Some(release::<Host>),
        ..Default::default()
    };
    for optional in asked("provides", || collectives.provides().to_vec())? {
        match optional {
            Optional::AllReduce => vtable.all_reduce = Some(on_all_reduce),
            Optional::ReduceScatter => vtable.reduce_scatter = Some(on_reduce_scatter),
            Optional::Broadcast => vtable.broadcast = Some(on_broadcast),
            Optional::SendAndRecv => {
                vtable.send = Some(on_send);
                vtable.recv = Some(on_recv);
            }
            Optional::SendRecv => vtable.send_recv = Some(on_send_recv),
            Optional::Exchange => vtable.exchange = Some(on_exchange),
            Optional::Barrier => vtable.barrier = Some(on_barrier),
            Optional::Dup => vtable.dup = Some(on_dup),
            Optional::Abort => vtable.abort = Some(on_abort),
            Optional::Poll => vtable.poll = Some(on_poll),
        }
    }
    Ok((vtable, user(Host { collectives, rank, world_size })))
}

/// # Safety
/// `user` is from `to_c`, and not released.
unsafe fn host<'a>(user: *mut c_void) -> &'a Host {
    // SAFETY: the caller's promise.
    unsafe { &*user.cast::<Host>() }
}

/// # Safety
/// As [`host`].
unsafe fn collectives<'a>(user: *mut c_void) -> &'a dyn HostCollectives {
    // SAFETY: the caller's promise.
    unsafe { &*host(user).collectives }
}

fn timeout(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

fn length(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// # Safety
/// `bytes` bytes at data are valid to read, and no code writes to them, during 'a.
unsafe fn read<'a>(data: *const c_void, bytes: i64) -> &'a [u8] {
    // SAFETY: the caller's promise; data may be NULL where there are none.
    if bytes <= 0 { &[] } else { unsafe { std::slice::from_raw_parts(data.cast(), length(bytes)) } }
}

/// # Safety
/// `bytes` bytes at data are valid to write, and no other code's, during 'a.
unsafe fn written<'a>(data: *mut c_void, bytes: i64) -> &'a mut [u8] {
    // SAFETY: the caller's promise; data may be NULL where there are none.
    if bytes <= 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(data.cast(), length(bytes)) } }
}

fn dtype(type_code: i32, bits: i32) -> Result<Dtype> {
    Dtype::from_c(type_code, bits)
        .ok_or_else(|| Error::Unsupported(format!("elements of type code {type_code} and {bits} bits")))
}

fn reduce_op(op: i32) -> Result<ReduceOp> {
    ReduceOp::from_c(op).ok_or_else(|| Error::Unsupported(format!("reductions by operation {op}")))
}

unsafe extern "C" fn on_all_gather(
    user: *mut c_void,
    send: *const c_void,
    receive: *mut c_void,
    bytes: i64,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    guarded("all_gather", || {
        // SAFETY: the vtable's promises; C never lets send lie inside receive.
        unsafe {
            let (host, send) = (host(user), read(send, bytes));
            let receive = written(receive, bytes * i64::from(host.world_size));
            host.collectives.all_gather(send, receive, timeout(timeout_ms))
        }
    })
}

unsafe extern "C" fn on_all_reduce(
    user: *mut c_void,
    data: *mut c_void,
    count: i64,
    type_code: i32,
    bits: i32,
    op: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    guarded("all_reduce", || {
        let (shape, dtype, op) = ([length(count)], dtype(type_code, bits)?, reduce_op(op)?);
        // SAFETY: the vtable's promises.
        unsafe {
            let mut data = TensorMut::from_raw_parts(data, dtype, Device::Cpu, &shape, None);
            collectives(user).all_reduce(&mut data, op, timeout(timeout_ms))
        }
    })
}

unsafe extern "C" fn on_reduce_scatter(
    user: *mut c_void,
    send: *const c_void,
    receive: *mut c_void,
    count: i64,
    type_code: i32,
    bits: i32,
    op: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    guarded("reduce_scatter", || {
        let (dtype, op) = (dtype(type_code, bits)?, reduce_op(op)?);
        // SAFETY: the vtable's promises.
        unsafe {
            let host = host(user);
            let (blocks, block) = ([length(count) * length(host.world_size.into())], [length(count)]);
            let bytes = blocks[0] * dtype.size();
            // receive may be a block of send, which safe code must not see. Words are aligned for every dtype.
            let inside = (send.addr()..send.addr() + bytes).contains(&receive.addr());
            let mut copy = vec![0u64; if inside { bytes.div_ceil(size_of::<u64>()) } else { 0 }];
            let send = if inside {
                std::ptr::copy_nonoverlapping(send.cast(), copy.as_mut_ptr().cast::<u8>(), bytes);
                copy.as_ptr().cast()
            } else {
                send
            };
            let send = Tensor::from_raw_parts(send, dtype, Device::Cpu, &blocks, None);
            let mut receive = TensorMut::from_raw_parts(receive, dtype, Device::Cpu, &block, None);
            host.collectives.reduce_scatter(&send, &mut receive, op, timeout(timeout_ms))
        }
    })
}

unsafe extern "C" fn on_broadcast(
    user: *mut c_void,
    data: *mut c_void,
    bytes: i64,
    root: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    // SAFETY: the vtable's promises.
    guarded("broadcast", || unsafe { collectives(user).broadcast(written(data, bytes), root, timeout(timeout_ms)) })
}

unsafe extern "C" fn on_send(
    user: *mut c_void,
    data: *const c_void,
    bytes: i64,
    to: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    // SAFETY: the vtable's promises.
    guarded("send", || unsafe { collectives(user).send(read(data, bytes), to, timeout(timeout_ms)) })
}

unsafe extern "C" fn on_recv(
    user: *mut c_void,
    data: *mut c_void,
    bytes: i64,
    from: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    // SAFETY: the vtable's promises.
    guarded("recv", || unsafe { collectives(user).recv(written(data, bytes), from, timeout(timeout_ms)) })
}

unsafe extern "C" fn on_send_recv(
    user: *mut c_void,
    send: *const c_void,
    send_bytes: i64,
    to: i32,
    receive: *mut c_void,
    receive_bytes: i64,
    from: i32,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    guarded("send_recv", || {
        // SAFETY: the vtable's promises.
        let (send, receive) = unsafe { (read(send, send_bytes), written(receive, receive_bytes)) };
        // SAFETY: as above.
        unsafe { collectives(user) }.send_recv(send, to, receive, from, timeout(timeout_ms))
    })
}

unsafe extern "C" fn on_exchange(
    user: *mut c_void,
    send: *const *const c_void,
    send_bytes: *const i64,
    receive: *const *mut c_void,
    receive_bytes: *const i64,
    _stream: *mut c_void,
    timeout_ms: i64,
) -> sys::gradstep_status {
    guarded("exchange", || {
        // SAFETY: the vtable's promises: arrays with an entry for each rank, of which the own ones mean nothing.
        unsafe {
            let host = host(user);
            let (ranks, own) = (length(host.world_size.into()), length(host.rank.into()));
            let bytes = |bytes: *const i64, rank: usize| if rank == own { 0 } else { *bytes.add(rank) };
            let send: Vec<_> = (0..ranks).map(|rank| read(*send.add(rank), bytes(send_bytes, rank))).collect();
            let mut receive: Vec<_> =
                (0..ranks).map(|rank| written(*receive.add(rank), bytes(receive_bytes, rank))).collect();
            host.collectives.exchange(&send, &mut receive, timeout(timeout_ms))
        }
    })
}

unsafe extern "C" fn on_barrier(user: *mut c_void, _stream: *mut c_void, timeout_ms: i64) -> sys::gradstep_status {
    // SAFETY: the vtable's promises.
    guarded("barrier", || unsafe { collectives(user) }.barrier(timeout(timeout_ms)))
}

unsafe extern "C" fn on_dup(
    user: *mut c_void,
    timeout_ms: i64,
    out: *mut sys::gradstep_comm_vtable,
    out_user: *mut *mut c_void,
) -> sys::gradstep_status {
    guarded("dup", || {
        // SAFETY: the vtable's promises; both results are C's to be written.
        unsafe { (*out, *out_user) = to_c(collectives(user).dup(timeout(timeout_ms))?)? };
        Ok(())
    })
}

unsafe extern "C" fn on_abort(user: *mut c_void) {
    // SAFETY: the vtable's promises.
    contained(|| unsafe { collectives(user) }.abort());
}

unsafe extern "C" fn on_poll(user: *mut c_void) -> sys::gradstep_status {
    // SAFETY: the vtable's promises.
    guarded("poll", || unsafe { collectives(user) }.poll())
}

/// The table's functions as C calls them, without C: Miri runs these tests with the feature `dlopen`.
#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::*;

    /// Sends everything to itself. It is rank 1 of 2, and another one of more whenever it is asked again.
    #[derive(Default)]
    struct Mirror {
        ranks_told: AtomicI32,
        sizes_told: AtomicI32,
    }

    impl HostCollectives for Mirror {
        fn rank(&self) -> i32 {
            1 + self.ranks_told.fetch_add(1, Ordering::Relaxed)
        }
        fn world_size(&self) -> i32 {
            2 + self.sizes_told.fetch_add(1, Ordering::Relaxed)
        }
        fn provides(&self) -> &[Optional] {
            &[Optional::AllReduce, Optional::ReduceScatter, Optional::SendAndRecv, Optional::Exchange, Optional::Dup]
        }
        fn all_gather(&self, send: &[u8], receive: &mut [u8], _: Duration) -> Result<()> {
            receive.copy_from_slice(&[send, send].concat());
            Ok(())
        }
        fn all_reduce(&self, data: &mut TensorMut<'_>, _: ReduceOp, _: Duration) -> Result<()> {
            data.as_mut_slice::<f32>().expect("f32").iter_mut().for_each(|x| *x *= 2.0);
            Ok(())
        }
        fn reduce_scatter(
            &self,
            send: &Tensor<'_>,
            receive: &mut TensorMut<'_>,
            _: ReduceOp,
            _: Duration,
        ) -> Result<()> {
            let sent = send.as_slice::<i64>().expect("i64");
            let block = receive.as_mut_slice::<i64>().expect("i64");
            assert_eq!(sent.len(), 2 * block.len(), "a block for each rank");
            let own = &sent[block.len()..];
            block.iter_mut().zip(own).for_each(|(to, from)| *to = 2 * from);
            Ok(())
        }
        fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]], _: Duration) -> Result<()> {
            assert_eq!((send.len(), receive.len()), (2, 2), "an entry for each rank");
            assert!(send[1].is_empty() && receive[1].is_empty(), "its own");
            receive[0].copy_from_slice(send[0]);
            Ok(())
        }
        fn dup(&self, _: Duration) -> Result<Box<dyn HostCollectives>> {
            Ok(Box::new(Self::default()))
        }
    }

    #[test]
    fn buffers_of_c_are_seen_as_slices_and_tensors() {
        let (table, user) = to_c(Box::new(Mirror::default())).unwrap();
        let (sent, mut gathered) = ([3u8, 4], [0u8; 4]);
        let mut sums = [1.0f32, 2.0];
        let mut blocks = [1i64, 2, 3, 4];
        let (mut out, mut out_user) = (sys::gradstep_comm_vtable::default(), null_mut());
        // SAFETY: what comm.h promises: buffers of these lengths. Block 1 of `blocks` is both read and written.
        unsafe {
            let status =
                table.all_gather.unwrap()(user, sent.as_ptr().cast(), gathered.as_mut_ptr().cast(), 2, null_mut(), 9);
            assert_eq!((status, gathered), (sys::GRADSTEP_OK, [3, 4, 3, 4]));

            let all_reduce = table.all_reduce.unwrap();
            assert_eq!(
                all_reduce(user, sums.as_mut_ptr().cast(), 2, sys::GRADSTEP_TYPE_FLOAT, 32, 0, null_mut(), 9),
                0
            );
            assert_eq!(sums, [2.0, 4.0]);

            let data = blocks.as_mut_ptr();
            let block = data.add(2);
            let (code, reduce_scatter) = (sys::GRADSTEP_TYPE_INT, table.reduce_scatter.unwrap());
            assert_eq!(reduce_scatter(user, data.cast(), block.cast(), 2, code, 64, 0, null_mut(), 9), 0);
            assert_eq!(blocks, [1, 2, 6, 8]);

            gathered = [0, 0, 5, 6];
            let send: [*const c_void; 2] = [sent.as_ptr().cast(), null()];
            let receive: [*mut c_void; 2] = [gathered.as_mut_ptr().cast(), null_mut()];
            let bytes = [2i64, 77]; // its own entry means nothing
            let exchange = table.exchange.unwrap();
            let status = exchange(user, send.as_ptr(), bytes.as_ptr(), receive.as_ptr(), bytes.as_ptr(), null_mut(), 9);
            assert_eq!((status, gathered), (sys::GRADSTEP_OK, [3, 4, 5, 6]));

            // Buffers of every call are as large as the table says.
            assert_eq!((table.rank, table.world_size), (1, 2));
            let again = table.all_gather.unwrap();
            let status = again(user, sent.as_ptr().cast(), gathered.as_mut_ptr().cast(), 2, null_mut(), 9);
            assert_eq!((status, gathered), (sys::GRADSTEP_OK, [3, 4, 3, 4]));

            assert_eq!(table.dup.unwrap()(user, 9, &mut out, &mut out_user), sys::GRADSTEP_OK);
            out.release.unwrap()(out_user);
            table.release.unwrap()(user);
        }
    }
}
