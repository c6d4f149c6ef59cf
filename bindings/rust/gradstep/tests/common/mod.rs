// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Ranks in threads.

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
