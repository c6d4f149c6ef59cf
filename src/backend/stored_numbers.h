// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of state as they are kept: plain or in codes.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/column_code.h"
#include "kernels/scaled_code.h"

namespace gradstep {

/// f32 numbers as codes of blocks.
struct CodedNumbers {
  std::uint8_t* codes = nullptr;
  float* factors = nullptr;  ///< one a block
  std::int64_t count = 0;
  bool is_signed = false;  ///< octaves; other codes have signs
  kernels::NumberCode code = kernels::NumberCode::octaves;
};

/// A matrix of state where it lies, row-major: plain numbers, or integer codes (kernels/column_code.h).
struct StoredMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  kernels::Coding coding = kernels::Coding::none;
  void* numbers = nullptr;    ///< of dtype, or codes; NULL = absent
  float* buckets = nullptr;   ///< one a column, of codes
  float* diagonal = nullptr;  ///< int16, whose matrices are square
  DType dtype = DType::f32;   ///< of numbers that are no codes: f32, f64 or bf16

  std::int64_t size() const { return rows * columns; }
  bool exists() const { return numbers != nullptr; }
  bool is_coded() const { return coding != kernels::Coding::none; }
  template <class T>
  T* as() const {
    return static_cast<T*>(numbers);
  }
};

}  // namespace gradstep
