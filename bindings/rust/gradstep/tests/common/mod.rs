// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Ranks in threads, and collectives of a host that are nothing but Rust.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use gradstep::{Collectives, Error, Optional, Result};

/// Runs `work(rank, connection)` on a thread for each connection; panics if one does.
pub(crate) fn on_ranks<C: Send, R: Send>(connections: Vec<C>, work: impl Fn(usize, C) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = connections
            .into_iter()
            .enumerate()
            .map(|(rank, connection)| scope.spawn(move || work(rank, connection)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("the rank's thread")).collect()
    })
}

type Failure = fn() -> Error;

/// All-gather over memory that the ranks' threads share, and nothing else.
pub(crate) struct Meeting {
    rank: i32,
    ranks: usize,
    board: Arc<(Mutex<Vec<Vec<u8>>>, Barrier)>,
    calls: AtomicUsize,
    failure: Option<(usize, Failure)>,
    dropped: Option<Arc<AtomicUsize>>,
}

impl Meeting {
    pub(crate) fn new(ranks: usize) -> Vec<Self> {
        let board = Arc::new((Mutex::new(vec![Vec::new(); ranks]), Barrier::new(ranks)));
        (0..ranks as i32)
            .map(|rank| Self {
                rank,
                ranks,
                board: board.clone(),
                calls: AtomicUsize::new(0),
                failure: None,
                dropped: None,
            })
            .collect()
    }

    /// Calls after the first `calls` end by `failure`.
    pub(crate) fn fail_after(&mut self, calls: usize, failure: Failure) {
        self.failure = Some((calls, failure));
    }

    fn fail_if_told(&self) -> Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.failure {
            Some((calls, failure)) if call >= calls => Err(failure()),
            _ => Ok(()),
        }
    }

    pub(crate) fn pretend_rank(&mut self, rank: i32) {
        self.rank = rank;
    }

    pub(crate) fn count_drops(&mut self, counter: Arc<AtomicUsize>) {
        self.dropped = Some(counter);
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        if let Some(counter) = &self.dropped {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

// docs:begin collectives
impl Collectives for Meeting {
    fn rank(&self) -> i32 {
        self.rank
    }

    fn world_size(&self) -> i32 {
        self.ranks as i32
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], _: Duration) -> Result<()> {
        self.fail_if_told()?;
        let (board, barrier) = &*self.board;
        board.lock().unwrap()[self.rank as usize] = send.to_vec();
        barrier.wait();
        receive.copy_from_slice(&board.lock().unwrap().concat());
        barrier.wait();
        Ok(())
    }
}
// docs:end collectives

/// A channel from every rank to every other one: all that [`Optional`] names for bytes.
pub(crate) struct Pipes {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Pipes {
    pub(crate) fn new(ranks: usize) -> Vec<Self> {
        let (mut to, mut from): (Vec<Vec<_>>, Vec<Vec<_>>) =
            ((0..ranks).map(|_| Vec::new()).collect(), (0..ranks).map(|_| Vec::new()).collect());
        for sender in &mut to {
            for receivers in &mut from {
                let (send, receive) = channel();
                sender.push(send);
                receivers.push(Mutex::new(receive));
            }
        }
        to.into_iter().zip(from).enumerate().map(|(rank, (to, from))| Self { rank, to, from }).collect()
    }
}

impl Collectives for Pipes {
    fn rank(&self) -> i32 {
        self.rank as i32
    }

    fn world_size(&self) -> i32 {
        self.to.len() as i32
    }

    fn provides(&self) -> &[Optional] {
        &[Optional::SendAndRecv, Optional::SendRecv, Optional::Exchange, Optional::Barrier, Optional::Poll]
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], timeout: Duration) -> Result<()> {
        let all = vec![send; self.to.len()];
        let mut parts: Vec<_> = receive.chunks_exact_mut(send.len()).collect();
        parts[self.rank].copy_from_slice(send);
        parts[self.rank] = &mut [];
        self.exchange(&all, &mut parts, timeout)
    }

    fn send(&self, data: &[u8], to: i32, _: Duration) -> Result<()> {
        self.to[to as usize].send(data.to_vec()).map_err(|_| Error::PeerLost(format!("rank {to} is gone")))
    }

    fn recv(&self, data: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        let sent = self.from[from as usize].lock().unwrap().recv_timeout(timeout);
        data.copy_from_slice(&sent.map_err(|error| Error::PeerLost(format!("rank {from}: {error}")))?);
        Ok(())
    }

    fn send_recv(&self, send: &[u8], to: i32, receive: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        self.send(send, to, timeout)?;
        self.recv(receive, from, timeout)
    }

    fn exchange(&self, send: &[&[u8]], receive: &mut [&mut [u8]], timeout: Duration) -> Result<()> {
        let others = (0..self.to.len()).filter(|&rank| rank != self.rank);
        for rank in others.clone().filter(|&rank| !send[rank].is_empty()) {
            self.send(send[rank], rank as i32, timeout)?;
        }
        for rank in others {
            if !receive[rank].is_empty() {
                self.recv(receive[rank], rank as i32, timeout)?;
            }
        }
        Ok(())
    }

    fn barrier(&self, timeout: Duration) -> Result<()> {
        let mut all = vec![0u8; self.to.len()];
        self.all_gather(&[1], &mut all, timeout)
    }
}
