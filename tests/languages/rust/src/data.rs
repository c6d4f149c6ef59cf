// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! The numbers that scripts compute with, and their hashes.

pub(crate) const HASH_START: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a.
pub(crate) fn hash_bytes(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// What tensors are filled with.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Parameters = 1,
    Gradients = 2,
    Rows = 3,
}

/// The elements of one tensor, exact in f16 and bf16 if `is_16_bit`, else in f32.
pub(crate) fn elements(kind: Kind, [call, rank, parameter]: [usize; 3], is_16_bit: bool) -> impl Iterator<Item = f64> {
    let tensor = [call, rank, parameter].into_iter().fold(mix(kind as u64), |word, part| mix(word ^ part as u64));
    (0..).map(move |element: u64| {
        let word = mix(tensor ^ element);
        let bits = if is_16_bit { 8 } else { 24 };
        let numerator = (word >> (64 - bits)) as f64 - f64::from(1 << (bits - 1));
        numerator / f64::from(1 << (bits - 1)) / f64::from(1 << (word & 7))
    })
}
