// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types and their DLPack codes.
#pragma once

#include <cstdint>
#include <optional>

#include "core/element_type.h"
#include "gradstep/tensor.h"

namespace gradstep {

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
  }
  return 0;
}

/// Floats come first.
constexpr bool is_float(DType dtype) { return dtype <= DType::bf16; }

/// The type in which elements of `dtype` are computed and accumulated.
constexpr DType arithmetic_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
  }
  return "?";
}

/// By DType.
inline constexpr gradstep_dtype kDlpackDTypes[] = {{GRADSTEP_TYPE_FLOAT, 32, 1}, {GRADSTEP_TYPE_FLOAT, 64, 1},
                                                   {GRADSTEP_TYPE_FLOAT, 16, 1}, {GRADSTEP_TYPE_BFLOAT, 16, 1},
                                                   {GRADSTEP_TYPE_INT, 32, 1},   {GRADSTEP_TYPE_INT, 64, 1},
                                                   {GRADSTEP_TYPE_UINT, 8, 1}};

constexpr gradstep_dtype to_dlpack(DType dtype) { return kDlpackDTypes[static_cast<int>(dtype)]; }

/// The DType of a DLPack triple, or nothing for those that gradstep does not take from a host.
constexpr std::optional<DType> from_dlpack(gradstep_dtype dtype) {
  if (dtype.lanes != 1) return std::nullopt;
  if (dtype.code == GRADSTEP_TYPE_FLOAT) {
    if (dtype.bits == 32) return DType::f32;
    if (dtype.bits == 64) return DType::f64;
    if (dtype.bits == 16) return DType::f16;
  } else if (dtype.code == GRADSTEP_TYPE_BFLOAT) {
    if (dtype.bits == 16) return DType::bf16;
  } else if (dtype.code == GRADSTEP_TYPE_INT) {
    if (dtype.bits == 32) return DType::i32;
    if (dtype.bits == 64) return DType::i64;
  }
  return std::nullopt;
}

}  // namespace gradstep
