// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the programs for ndarray and for candle share: the digits, the ranks, and the loop that trains.

pub mod digits;
pub mod ranks;
pub mod training;

/// Errors of gradstep, of the host's framework, and of files.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
