// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From a host's tensors to arrays, here and nowhere further down. A handle remembers the tensors of its last call: the
// same ones again cost a comparison.
#pragma once

#include <vector>

#include "core/buffer_list.h"
#include "core/schema.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// What a list of tensors is to the parameters of a schema.
enum class Role : std::uint8_t {
  parameter,  ///< their dtypes, and all of them present
  gradient,   ///< any float dtype that goes with theirs; data NULL = none this time
};

enum class Use : std::uint8_t { read, write };

class TensorBinding {
 public:
  TensorBinding(const char* argument, Role role) : argument_(argument), role_(role) {}

  /// Throws INVALID_ARGUMENT unless there is one tensor for each parameter that may play the role, or if elements of a
  /// written one share memory. What is returned stays valid until the next call.
  const BufferList& bind(const Schema& schema, const gradstep_tensor* tensors, std::size_t n, Use use = Use::read);
  /// No list at all, if that is legal.
  const BufferList& bind_none();
  std::size_t bytes() const { return arrays_.capacity() * sizeof(Array); }

 private:
  bool shows_again(const Schema& schema, const gradstep_tensor* tensors, std::size_t n) const;

  const char* argument_;
  Role role_;
  std::vector<Array> arrays_;
  BufferList list_;
};

/// The tensors of a step.
class StepBinding {
 public:
  /// Throws INVALID_ARGUMENT, also if a written buffer overlaps another one, unless the host has promised that none
  /// does. `updates` NULL = in place.
  const StepBuffers& bind(const Schema& schema, const gradstep_tensor* params, const gradstep_tensor* grads,
                          const gradstep_tensor* updates, std::size_t n, bool disjoint = false);
  std::size_t bytes() const { return params_.bytes() + grads_.bytes() + updates_.bytes(); }

 private:
  TensorBinding params_{"params", Role::parameter};
  TensorBinding grads_{"grads", Role::gradient};
  TensorBinding updates_{"updates", Role::parameter};
  StepBuffers buffers_;
  bool compared_ = false;  // buffers_ with each other
};

/// The view of a list of gradstep's own buffers: of parameter i, or absent where there is no data.
void write_views(const Schema& schema, const BufferList& list, gradstep_tensor* views);

}  // namespace gradstep
