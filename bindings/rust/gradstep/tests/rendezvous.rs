// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Ranks that find each other by a store of the host, by an id, by a directory. They are threads here, over Gloo, whose
//! plugin is beside the library where it was built.

mod common;

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use common::on_ranks;
use gradstep::{CommOptions, Communicator, Connect, Context, Engine, Error, ReduceOp, Result, Store, unique_id};

/// Whether there is Gloo to connect by; says so if not.
fn has_gloo() -> bool {
    has_engine("gloo")
}

fn has_engine(name: &str) -> bool {
    let status = gradstep::backend_status(name).unwrap();
    if status != "ok" {
        eprintln!("SKIPPED: {status}");
    }
    status == "ok"
}

fn sum_over(comm: &Communicator) -> f32 {
    let mut sum = [comm.rank().unwrap() as f32 + 1.0];
    comm.all_reduce(&mut sum, ReduceOp::Sum).unwrap();
    sum[0]
}

#[derive(Default)]
struct Board {
    values: Mutex<HashMap<String, Vec<u8>>>,
    written: Condvar,
}

impl Store for Board {
    fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        self.values.lock().unwrap().insert(key.to_owned(), value.to_owned());
        self.written.notify_all();
        Ok(())
    }

    fn get(&self, key: &str, timeout: Duration) -> Result<Vec<u8>> {
        let values = self.values.lock().unwrap();
        let is_missing = |values: &mut HashMap<_, _>| !values.contains_key(key);
        let (values, _) = self.written.wait_timeout_while(values, timeout, is_missing).unwrap();
        values.get(key).cloned().ok_or_else(|| Error::Timeout(format!("{key} did not come")))
    }
}

#[test]
fn by_a_store_of_the_host() {
    if !has_gloo() {
        return;
    }
    let (context, board) = (Context::new().unwrap(), Board::default());
    on_ranks(vec![(); 2], |rank, ()| {
        let how = Connect::new(Engine::Gloo, rank as i32, 2).store(&board).generation(3);
        let comm = Communicator::connect(&context, &how).unwrap();
        assert_eq!((comm.engine().unwrap().as_str(), sum_over(&comm)), ("gloo", 3.0));
        let statistics = comm.statistics().unwrap();
        assert!(statistics.all_reduces == 1 && statistics.bytes_sent > 0, "{statistics:?}");
    });
    assert!(!board.values.lock().unwrap().is_empty());
}

#[test]
fn by_an_id_and_by_a_directory() {
    if !has_gloo() {
        return;
    }
    let context = Context::new().unwrap();
    let id = unique_id(Engine::Gloo, None).unwrap();
    let folder = std::env::temp_dir().join(format!("gradstep-rendezvous-{}", std::process::id()));
    on_ranks(vec![(); 2], |rank, ()| {
        let connect = |how: &Connect<'_>| Communicator::connect(&context, how).unwrap();
        let by_id = connect(&Connect::new(Engine::Gloo, rank as i32, 2).id(&id));
        let by_directory = connect(&Connect::new(Engine::Gloo, rank as i32, 2).store_path(&folder));
        assert_eq!((sum_over(&by_id), sum_over(&by_directory)), (3.0, 3.0));
    });
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_store_that_fails_or_panics_is_the_error_of_the_call() {
    if !has_gloo() {
        return;
    }
    struct Bad(fn() -> Error);
    impl Store for Bad {
        fn set(&self, _: &str, _: &[u8]) -> Result<()> {
            Err(self.0())
        }
        fn get(&self, _: &str, _: Duration) -> Result<Vec<u8>> {
            Err(self.0())
        }
    }
    let context = Context::new().unwrap();
    let connect = |failure| {
        let store = Bad(failure);
        Communicator::connect(&context, &Connect::new(Engine::Gloo, 0, 2).store(&store)).unwrap_err()
    };
    let error = connect(|| Error::Io("the cluster's store is down".to_owned()));
    assert!(error.text().contains("the cluster's store is down"), "{error}");
    let error = connect(|| panic!("no store today"));
    assert!(matches!(&error, Error::Callback(text) if text.contains("panicked: no store today")), "{error}");
}

#[test]
fn what_is_missing_or_too_much_is_said() {
    let context = Context::new().unwrap();
    let connect = |how: &Connect<'_>| Communicator::connect(&context, how).unwrap_err();
    let error = connect(&Connect::new(Engine::Shm, 0, 2));
    assert!(matches!(error, Error::InvalidArgument(_)), "no rendezvous: {error}");
    let error = connect(&Connect::new(Engine::Alone, 3, 1));
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("rank")), "{error}");
    let error = connect(&Connect::new(Engine::Alone, 0, 1).timeout(Duration::ZERO));
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("timeout_ms")), "{error}");
    let error = unique_id(Engine::Gloo, Some("no such interface")).unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("no such interface")), "{error}");
}

#[test]
fn mpi_tells_the_rank() {
    if !has_engine("mpi") {
        return;
    }
    // SAFETY: no call over it waits for a peer.
    let comm = unsafe { Communicator::mpi(&Context::new().unwrap(), CommOptions::default()) }.unwrap();
    assert_eq!((comm.engine().unwrap().as_str(), comm.rank(), comm.world_size()), ("mpi", Ok(0), Ok(1)));
    assert_eq!(sum_over(&comm), 1.0);
}
