// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Collectives of a host that are nothing but Rust.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::on_ranks;
use gradstep::{
    CommOptions, Communicator, Context, Error, HostCollectives, Optional, Parameter, Reducer, ReducerMode,
    ReducerOptions, Result, Tensor,
};

const RANKS: usize = 3;

type Failure = fn() -> Error;

/// What the threads of a meeting share.
struct Board {
    sent: Mutex<Vec<Vec<u8>>>,
    arrived: Mutex<usize>,
    moved: Condvar,
}

/// All-gather over memory that the ranks' threads share, and nothing else.
struct Meeting {
    rank: i32,
    ranks: usize,
    board: Arc<Board>,
    dropped: Option<Arc<AtomicUsize>>,
}

impl Meeting {
    fn new(ranks: usize) -> Vec<Self> {
        let sent = Mutex::new(vec![Vec::new(); ranks]);
        let board = Arc::new(Board { sent, arrived: Mutex::new(0), moved: Condvar::new() });
        (0..ranks as i32).map(|rank| Self { rank, ranks, board: board.clone(), dropped: None }).collect()
    }

    fn pretend_rank(&mut self, rank: i32) {
        self.rank = rank;
    }

    fn count_drops(&mut self, counter: Arc<AtomicUsize>) {
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
impl HostCollectives for Meeting {
    fn rank(&self) -> i32 {
        self.rank
    }

    fn world_size(&self) -> i32 {
        self.ranks as i32
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        self.board.sent.lock().unwrap()[self.rank as usize] = send.to_vec();
        self.meet(deadline)?; // all have sent
        receive.copy_from_slice(&self.board.sent.lock().unwrap().concat());
        self.meet(deadline) // all have received
    }
}

impl Meeting {
    fn meet(&self, deadline: Instant) -> Result<()> {
        let mut arrived = self.board.arrived.lock().unwrap();
        let complete = (*arrived / self.ranks + 1) * self.ranks;
        *arrived += 1;
        self.board.moved.notify_all();
        let left = deadline.saturating_duration_since(Instant::now());
        let (arrived, _) = self.board.moved.wait_timeout_while(arrived, left, |arrived| *arrived < complete).unwrap();
        if *arrived < complete { Err(Error::Timeout("a rank did not come".to_owned())) } else { Ok(()) }
    }
}
// docs:end collectives

/// A meeting whose second call, and all that follow, end by a failure.
struct Failing {
    meeting: Meeting,
    calls: AtomicUsize,
    failure: Failure,
}

impl HostCollectives for Failing {
    fn rank(&self) -> i32 {
        self.meeting.rank()
    }

    fn world_size(&self) -> i32 {
        self.meeting.world_size()
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], timeout: Duration) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err((self.failure)());
        }
        self.meeting.all_gather(send, receive, timeout)
    }
}

/// A channel from every rank to every other one: all that [`Optional`] names for bytes.
struct Pipes {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Pipes {
    fn new(ranks: usize) -> Vec<Self> {
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

impl HostCollectives for Pipes {
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

#[test]
fn a_hosts_collectives_give_the_bits_of_local_ones() {
    let context = Context::new().unwrap();
    let gradient = |rank: usize| [0.1f32 * (rank + 1) as f32, -0.7 / (rank + 3) as f32];
    let reduce = |rank: usize, comm: Communicator| {
        let options = ReducerOptions::default().mode(ReducerMode::AdasumTree);
        let mut reducer = Reducer::new(&context, &comm, &options, &[Parameter::new(&[2])]).unwrap();
        let gradient = gradient(rank);
        reducer.reduce(&[Tensor::new(&gradient, &[2]).unwrap()], None, 1.0).unwrap();
        reducer.gradients().unwrap()[0].as_slice::<f32>().unwrap().to_vec()
    };
    let local = on_ranks(Communicator::local(&context, RANKS).unwrap(), reduce);
    let connect = |collectives: Meeting| Communicator::host(&context, collectives, CommOptions::default()).unwrap();
    let by_gather = on_ranks(Meeting::new(RANKS), |rank, collectives| reduce(rank, connect(collectives)));
    assert_eq!(by_gather, local);
    let by_pipes = on_ranks(Pipes::new(RANKS), |rank, collectives| {
        let comm = Communicator::host(&context, collectives, CommOptions::default()).unwrap();
        assert_eq!(comm.engine().unwrap(), "host");
        reduce(rank, comm)
    });
    assert_eq!(by_pipes, local);
}

#[test]
fn a_collective_that_fails_or_panics_is_the_error_of_the_call() {
    let context = Context::new().unwrap();
    let timeout = CommOptions { timeout: Some(Duration::from_secs(20)), ..Default::default() };
    on_ranks(Meeting::new(2), |rank, meeting| {
        let failure: Failure = if rank == 0 { || panic!("no more calls") } else { || Error::Io("no wire".into()) };
        let collectives = Failing { meeting, calls: AtomicUsize::new(0), failure };
        let comm = Communicator::host(&context, collectives, timeout).unwrap();
        let error = comm.all_reduce(&mut [1.0f32], gradstep::ReduceOp::Sum).unwrap_err();
        match rank {
            0 => {
                assert!(matches!(&error, Error::Callback(text) if text.contains("panicked: no more calls")), "{error}")
            }
            _ => assert!(matches!(&error, Error::Io(text) if text.contains("no wire")), "{error}"),
        }
        assert_eq!(comm.error().unwrap().status(), error.status(), "the communicator is broken");
    });
}

#[test]
fn collectives_give_up_at_the_deadline() {
    let context = Context::new().unwrap();
    let options = CommOptions { timeout: Some(Duration::from_millis(30)), ..Default::default() };
    let error = Communicator::host(&context, Meeting::new(2).remove(0), options).unwrap_err();
    assert!(matches!(&error, Error::Timeout(text) if text.contains("a rank did not come")), "{error}");
}

#[test]
fn a_hosts_collectives_are_dropped_once() {
    let (context, dropped) = (Context::new().unwrap(), Arc::new(AtomicUsize::new(0)));
    for rank in [0, 7] {
        let mut collectives = Meeting::new(1).remove(0);
        collectives.pretend_rank(rank);
        collectives.count_drops(dropped.clone());
        let made = Communicator::host(&context, collectives, CommOptions::default());
        assert_eq!(made.is_ok(), rank == 0, "{made:?}");
        drop(made);
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
}

/// Channels of which each has an independent one for a dup, and whose calls an abort ends.
struct Interruptible {
    pipes: Pipes,
    spare: Mutex<Vec<Pipes>>,
    aborted: Arc<AtomicBool>,
}

impl Interruptible {
    fn new(ranks: usize, channels: usize) -> Vec<Self> {
        let mut rows: Vec<_> = (0..ranks).map(|_| Vec::new()).collect();
        for _ in 0..channels {
            rows.iter_mut().zip(Pipes::new(ranks)).for_each(|(row, pipes)| row.push(pipes));
        }
        let with_spare = |mut row: Vec<Pipes>| Self::over(row.pop().expect("a channel"), row);
        rows.into_iter().map(with_spare).collect()
    }

    fn over(pipes: Pipes, spare: Vec<Pipes>) -> Self {
        Self { pipes, spare: Mutex::new(spare), aborted: Arc::new(AtomicBool::new(false)) }
    }
}

impl HostCollectives for Interruptible {
    fn rank(&self) -> i32 {
        self.pipes.rank()
    }

    fn world_size(&self) -> i32 {
        self.pipes.world_size()
    }

    fn any_thread(&self) -> bool {
        true
    }

    fn provides(&self) -> &[Optional] {
        &[Optional::SendAndRecv, Optional::Dup, Optional::Abort, Optional::Poll]
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], timeout: Duration) -> Result<()> {
        let own = self.pipes.rank as i32;
        let others = || (0..self.world_size()).filter(move |&rank| rank != own);
        others().try_for_each(|rank| self.send(send, rank, timeout))?;
        receive[own as usize * send.len()..][..send.len()].copy_from_slice(send);
        others().try_for_each(|rank| self.recv(&mut receive[rank as usize * send.len()..][..send.len()], rank, timeout))
    }

    fn send(&self, data: &[u8], to: i32, timeout: Duration) -> Result<()> {
        self.pipes.send(data, to, timeout)
    }

    fn recv(&self, data: &mut [u8], from: i32, timeout: Duration) -> Result<()> {
        let begin = Instant::now();
        while !self.aborted.load(Ordering::Acquire) {
            match self.pipes.from[from as usize].lock().unwrap().recv_timeout(Duration::from_millis(5)) {
                Ok(sent) => {
                    data.copy_from_slice(&sent);
                    return Ok(());
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Error::PeerLost(format!("rank {from} is gone"))),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > timeout => {
                    return Err(Error::Timeout(format!("rank {from} sent nothing")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Err(Error::Aborted("the host's call was ended".to_owned()))
    }

    fn dup(&self, _: Duration) -> Result<Box<dyn HostCollectives>> {
        let mut spare = self.spare.lock().unwrap();
        let pipes = spare.pop().ok_or_else(|| Error::Unsupported("there is no other channel".to_owned()))?;
        Ok(Box::new(Self::over(pipes, Vec::new())))
    }

    fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
    }
}

#[test]
fn buckets_leave_while_the_host_computes_where_any_thread_may_call() {
    let context = Context::new().unwrap();
    on_ranks(Interruptible::new(2, 2), |rank, collectives| {
        let comm = Communicator::host(&context, collectives, CommOptions::default()).unwrap();
        let schema = [Parameter::new(&[1000]), Parameter::new(&[1000])];
        let options = ReducerOptions::default().fuse_threshold(1);
        let mut reducer = Reducer::new(&context, &comm, &options, &schema).unwrap();
        let gradient = vec![rank as f32; 1000];
        reducer.push(1, &Tensor::new(&gradient, &[1000]).unwrap()).unwrap();
        while !reducer.poll().unwrap() {
            std::thread::yield_now(); // no call waits for the exchange, and still it ends
        }
        reducer.push(0, &Tensor::new(&gradient, &[1000]).unwrap()).unwrap();
        reducer.wait(None).unwrap();
        for view in reducer.gradients().unwrap() {
            assert!(view.as_slice::<f32>().unwrap().iter().all(|&mean| mean == 0.5));
        }
        let error = comm.dup().unwrap_err();
        assert!(error.text().contains("there is no other channel"), "{error}");
    });
}

#[test]
fn an_abort_ends_a_call_of_the_host() {
    let context = Context::new().unwrap();
    on_ranks(Interruptible::new(2, 1), |rank, collectives| {
        let comm = Communicator::host(&context, collectives, CommOptions::default()).unwrap();
        if rank == 1 {
            return Some(comm); // which lives, and does not answer
        }
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| comm.barrier());
            std::thread::sleep(Duration::from_millis(20));
            comm.abort().unwrap();
            let error = waiting.join().unwrap().unwrap_err();
            assert!(matches!(error, Error::Aborted(_)), "{error}");
        });
        None
    });
}

/// Collectives of which one question panics.
struct Panicking(&'static str);

impl Panicking {
    fn answer<T>(&self, name: &str, value: T) -> T {
        assert!(self.0 != name, "{name} is not known");
        value
    }
}

impl HostCollectives for Panicking {
    fn rank(&self) -> i32 {
        self.answer("rank", 0)
    }

    fn world_size(&self) -> i32 {
        self.answer("world_size", 1)
    }

    fn any_thread(&self) -> bool {
        self.answer("any_thread", false)
    }

    fn rank_ordered(&self) -> bool {
        self.answer("rank_ordered", true)
    }

    fn provides(&self) -> &[Optional] {
        self.answer("provides", if self.0 == "dup" { &[] } else { &[Optional::Dup] })
    }

    fn all_gather(&self, send: &[u8], receive: &mut [u8], _: Duration) -> Result<()> {
        receive.copy_from_slice(send);
        Ok(())
    }

    fn dup(&self, _: Duration) -> Result<Box<dyn HostCollectives>> {
        Ok(Box::new(Panicking("rank")))
    }
}

#[test]
fn collectives_that_panic_when_asked_make_no_communicator() {
    let context = Context::new().unwrap();
    for name in ["rank", "world_size", "any_thread", "rank_ordered", "provides"] {
        let made = Communicator::host(&context, Panicking(name), CommOptions::default());
        let Err(Error::Callback(text)) = made.map(drop) else { panic!("{name}") };
        assert_eq!(text, format!("{name} panicked: {name} is not known"));
    }
    let comm = Communicator::host(&context, Panicking(""), CommOptions::default()).unwrap();
    let Err(Error::Callback(text)) = comm.dup().map(drop) else { panic!("dup") };
    assert!(text.contains("rank panicked: rank is not known"), "{text}");
}
