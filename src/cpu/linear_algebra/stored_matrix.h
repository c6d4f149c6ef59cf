// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of state as numbers of their arithmetic, whatever they are kept as. One thread each. Codes are of f32.
#pragma once

#include "cpu/loops.h"

namespace gradstep::cpu {

/// The numbers themselves if they are not coded, else decoded into `scratch` (size() numbers).
template <class T>
T* read_matrix(const Loops& loops, const StoredMatrix& matrix, T* scratch);

/// The numbers, decoded where they are coded, into `to`.
void copy_matrix(const Loops& loops, const StoredMatrix& matrix, float* to);

/// Stores numbers; those that read_matrix returned uncoded are stored already.
template <class T>
void write_matrix(const Loops& loops, const T* numbers, const StoredMatrix& matrix);

void write_identity(const Loops& loops, const StoredMatrix& matrix, double value);

}  // namespace gradstep::cpu
