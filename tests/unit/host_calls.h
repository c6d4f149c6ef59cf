// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls with a host's tensors, bound to arrays as the C API binds them.
#pragma once

#include <vector>

#include "c_api/host_tensor.h"
#include "c_api/sparse_rows.h"
#include "c_api/tensor_binding.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"
#include "updater/updater.h"

namespace gradstep::test::host {

/// Tensors as arrays, for the length of a statement.
class Bound {
 public:
  Bound(const Schema& schema, const char* argument, Role role, const gradstep_tensor* tensors, std::size_t n)
      : binding_(argument, role),
        list_(tensors != nullptr || n > 0 ? binding_.bind(schema, tensors, n) : binding_.bind_none()) {}
  operator std::span<const Array>() const { return list_.arrays; }  // NOLINT(google-explicit-constructor)
  operator const BufferList&() const { return list_; }              // NOLINT(google-explicit-constructor)

 private:
  TensorBinding binding_;
  BufferList list_;
};

inline StepOutcome step(Optimizer& optimizer, const gradstep_tensor* params, const gradstep_tensor* grads,
                        const gradstep_tensor* updates, std::size_t n, const StepGuards& guards = {}) {
  StepBinding binding;
  return optimizer.step(binding.bind(optimizer.schema(), params, grads, updates, n), guards);
}

inline bool add(Accumulator& accumulator, const gradstep_tensor* grads, std::size_t n, double weight = 1) {
  return accumulator.add(Bound(accumulator.schema(), "grads", Role::gradient, grads, n), {}, weight);
}
inline bool add_rows(Accumulator& accumulator, const gradstep_tensor* grads, std::size_t n, const gradstep_rows* rows,
                     std::size_t n_rows, double weight = 1) {
  return accumulator.add(Bound(accumulator.schema(), "grads", Role::gradient, grads, n),
                         read_rows(accumulator, rows, n_rows), weight);
}

template <class Object>
void read_gradients(Object& object, std::span<gradstep_tensor> views) {
  if constexpr (std::is_same_v<Object, Accumulator>) {
    write_views(object.schema(), object.results(), views.data());
  } else {
    write_views(object.schema(), object.gradients(), views.data());
  }
}
inline void read_sums(Accumulator& accumulator, std::span<gradstep_tensor> views) {
  write_views(accumulator.schema(), accumulator.sums(), views.data());
}

inline Bound results_of(Reducer& reducer, const gradstep_tensor* results, std::size_t n) {
  return {reducer.schema(), "results", Role::gradient, results, results != nullptr ? n : 0};
}
inline void reduce(Reducer& reducer, const gradstep_tensor* grads, const gradstep_tensor* results, std::size_t n,
                   double weight) {
  reducer.reduce(Bound(reducer.schema(), "grads", Role::gradient, grads, n), results_of(reducer, results, n), weight);
}
inline void push(Reducer& reducer, std::size_t index, const gradstep_tensor& grad) {
  reducer.push(index, gradient_array(reducer.schema(), "grad", index, grad));
}
inline void wait(Reducer& reducer, const gradstep_tensor* results, std::size_t n) {
  reducer.wait(results_of(reducer, results, n));
}

inline bool push(Updater& updater, const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n,
                 double weight) {
  StepBinding binding;
  return updater.push(binding.bind(updater.schema(), params, grads, nullptr, n), weight);
}
inline bool flush(Updater& updater, const gradstep_tensor* params, std::size_t n) {
  return updater.flush(Bound(updater.schema(), "params", Role::parameter, params, n));
}
inline void recover(Updater& updater, Communicator* comm, const gradstep_tensor* params, std::size_t n) {
  updater.recover(comm, Bound(updater.schema(), "params", Role::parameter, params, n));
}

}  // namespace gradstep::test::host
