// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of state as f32 numbers, whatever they are kept as. One thread each.
#pragma once

#include "cpu/loops.h"

namespace gradstep::cpu {

/// The numbers themselves if they are not coded, else decoded into `scratch` (size() floats).
float* read_matrix(const Loops& loops, const StoredMatrix& matrix, float* scratch);

/// The numbers, decoded where they are coded, into `to`.
void copy_matrix(const Loops& loops, const StoredMatrix& matrix, float* to);

/// Stores numbers; those that read_matrix returned uncoded are stored already.
void write_matrix(const Loops& loops, const float* numbers, const StoredMatrix& matrix);

void write_identity(const Loops& loops, const StoredMatrix& matrix, float value);

}  // namespace gradstep::cpu
