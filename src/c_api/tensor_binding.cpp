// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/tensor_binding.h"

#include "c_api/host_tensor.h"
#include "c_api/overlap_check.h"

namespace gradstep {

bool TensorBinding::shows_again(const Schema& schema, const gradstep_tensor* tensors, std::size_t n) const {
  if (list_.version == 0 || n != arrays_.size() || n != schema.size() || tensors == nullptr) return false;
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_absent = role_ == Role::gradient && is_left_out(schema[i], tensors[i]);
    const bool is_again =
        is_absent ? arrays_[i].data == nullptr : gradstep::shows_again(schema[i], tensors[i], arrays_[i]);
    if (!is_again) return false;
  }
  return true;
}

const BufferList& TensorBinding::bind(const Schema& schema, const gradstep_tensor* tensors, std::size_t n, Use use) {
  if (shows_again(schema, tensors, n)) return list_;
  list_ = {};
  schema.check_count(argument_, tensors, n);
  arrays_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    arrays_[i] = role_ == Role::parameter ? parameter_array(schema, argument_, i, tensors[i])
                                          : gradient_array(schema, argument_, i, tensors[i]);
    if (use == Use::write) check_written(argument_, i, tensors[i], arrays_[i]);
  }
  list_ = {arrays_, new_version()};
  return list_;
}

const BufferList& TensorBinding::bind_none() {
  list_ = {};
  return list_;
}

const StepBuffers& StepBinding::bind(const Schema& schema, const gradstep_tensor* params, const gradstep_tensor* grads,
                                     const gradstep_tensor* updates, std::size_t n, bool disjoint) {
  StepBuffers bound;
  bound.params = params_.bind(schema, params, n, updates == nullptr ? Use::write : Use::read);
  bound.grads = grads_.bind(schema, grads, n);
  if (updates != nullptr) bound.updates = updates_.bind(schema, updates, n, Use::write);
  const bool known = bound.params.shows_again(buffers_.params) && bound.grads.shows_again(buffers_.grads) &&
                     (updates != nullptr ? bound.updates.shows_again(buffers_.updates) : buffers_.updates.empty());
  if (known && (compared_ || disjoint)) return buffers_;
  buffers_ = {};
  if (!disjoint) check_overlap(bound.params.arrays, bound.grads.arrays, bound.updates.arrays);
  compared_ = !disjoint;
  buffers_ = bound;
  return buffers_;
}

void write_views(const Schema& schema, const BufferList& list, gradstep_tensor* views) {
  for (std::size_t i = 0; i < list.size(); ++i) views[i] = view_of(schema, i, list[i].data, list[i].dtype);
}

}  // namespace gradstep
