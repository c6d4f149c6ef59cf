// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What a launcher says in the environment, the timeline, and counters: of the process, so that one test has them all.

use gradstep::{Communicator, Connect, Context, Error, trace};

#[test]
fn a_launched_rank_connects_is_traced_and_counted() {
    let context = Context::new().unwrap();
    // SAFETY: this is the only test of its process.
    unsafe {
        for name in ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"] {
            std::env::remove_var(name);
        }
    }
    let error = Communicator::from_environment(&context, &Connect::launched()).unwrap_err();
    assert!(matches!(&error, Error::InvalidArgument(text) if text.contains("PMI_RANK and PMI_SIZE")), "{error}");
    // SAFETY: as above.
    unsafe {
        std::env::set_var("PMI_RANK", "0");
        std::env::set_var("PMI_SIZE", "1");
    }
    // docs:begin launched
    let comm = Communicator::from_environment(&context, &Connect::launched()).unwrap();
    // docs:end launched
    assert_eq!((comm.rank().unwrap(), comm.world_size().unwrap()), (0, 1));

    let path = std::env::temp_dir().join(format!("gradstep-trace-{}.json", std::process::id()));
    trace::start(Some(&path)).unwrap();
    assert!(matches!(trace::start(Some(&path)), Err(Error::InvalidState(_))));
    comm.barrier().unwrap();
    trace::stop().unwrap();
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(written.contains("\"name\":\"barrier\""), "{written}");

    let counters = comm.counters("job=\"7\"").unwrap();
    assert!(counters.contains("gradstep_comm_calls_total{call=\"barrier\",job=\"7\"} 1\n"), "{counters}");
    assert!(matches!(comm.counters("{"), Err(Error::InvalidArgument(_))));
}
