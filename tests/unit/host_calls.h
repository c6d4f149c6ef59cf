// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls with a host's tensors, bound to arrays as the C API binds them. Where handles are on the emulated CUDA device
// (support.h), they are taken there for the call, and views are shown as copies.
#pragma once

#include <array>
#include <span>
#include <tuple>
#include <vector>

#include "c_api/host_tensor.h"
#include "c_api/sparse_rows.h"
#include "c_api/tensor_binding.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"
#include "updater/updater.h"

#if defined(GRADSTEP_TEST_ON_CUDA)
#include "cuda/on_device.h"
#else
namespace gradstep::test {

/// Nothing has to be taken anywhere.
class Trip {
 public:
  const gradstep_tensor* take(const gradstep_tensor* tensors, std::size_t /*n*/) { return tensors; }
  std::vector<gradstep_rows> take_rows(const gradstep_rows* rows, std::size_t n) { return {rows, rows + n}; }
  void begin() {}
};
inline void show(std::span<gradstep_tensor> /*views*/) {}

}  // namespace gradstep::test
#endif

namespace gradstep::test::host {

/// call(lists there), of n tensors each.
template <class Call, class... Lists>
decltype(auto) on_device(std::size_t n, Call call, Lists... lists) {
  Trip trip;
  const std::array<const gradstep_tensor*, sizeof...(lists)> there{trip.take(lists, n)...};
  trip.begin();
  return std::apply(call, there);
}

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
  return on_device(
      n,
      [&](auto p, auto g, auto u) {
        StepBinding binding;
        return optimizer.step(binding.bind(optimizer.schema(), p, g, u, n), guards);
      },
      params, grads, updates);
}

inline bool add(Accumulator& accumulator, const gradstep_tensor* grads, std::size_t n, double weight = 1) {
  return on_device(
      n,
      [&](auto there) {
        return accumulator.add(Bound(accumulator.schema(), "grads", Role::gradient, there, n), {}, weight);
      },
      grads);
}
inline bool add_rows(Accumulator& accumulator, const gradstep_tensor* grads, std::size_t n, const gradstep_rows* rows,
                     std::size_t n_rows, double weight = 1) {
  Trip trip;
  const gradstep_tensor* there = trip.take(grads, n);
  const std::vector<gradstep_rows> rows_there = trip.take_rows(rows, n_rows);
  trip.begin();
  return accumulator.add(Bound(accumulator.schema(), "grads", Role::gradient, there, n),
                         read_rows(accumulator, rows_there.data(), n_rows), weight);
}

template <class Object>
void read_gradients(Object& object, std::span<gradstep_tensor> views) {
  if constexpr (std::is_same_v<Object, Accumulator>) {
    write_views(object.schema(), object.results(), views.data());
  } else {
    write_views(object.schema(), object.gradients(), views.data());
  }
  show(views);
}
inline void read_sums(Accumulator& accumulator, std::span<gradstep_tensor> views) {
  write_views(accumulator.schema(), accumulator.sums(), views.data());
  show(views);
}

inline Bound results_of(Reducer& reducer, const gradstep_tensor* results, std::size_t n) {
  return {reducer.schema(), "results", Role::gradient, results, results != nullptr ? n : 0};
}
inline void reduce(Reducer& reducer, const gradstep_tensor* grads, const gradstep_tensor* results, std::size_t n,
                   double weight) {
  on_device(
      n,
      [&](auto in, auto out) {
        reducer.reduce(Bound(reducer.schema(), "grads", Role::gradient, in, n), results_of(reducer, out, n), weight);
      },
      grads, results);
}
inline void push(Reducer& reducer, std::size_t index, const gradstep_tensor& grad) {
  on_device(
      1, [&](auto there) { reducer.push(index, gradient_array(reducer.schema(), "grad", index, *there)); }, &grad);
}
inline void wait(Reducer& reducer, const gradstep_tensor* results, std::size_t n) {
  on_device(n, [&](auto out) { reducer.wait(results_of(reducer, out, n)); }, results);
}

inline bool push(Updater& updater, const gradstep_tensor* params, const gradstep_tensor* grads, std::size_t n,
                 double weight) {
  return on_device(
      n,
      [&](auto p, auto g) {
        StepBinding binding;
        return updater.push(binding.bind(updater.schema(), p, g, nullptr, n), weight);
      },
      params, grads);
}
inline bool flush(Updater& updater, const gradstep_tensor* params, std::size_t n) {
  return on_device(
      n, [&](auto p) { return updater.flush(Bound(updater.schema(), "params", Role::parameter, p, n)); }, params);
}
inline void recover(Updater& updater, Communicator* comm, const gradstep_tensor* params, std::size_t n) {
  on_device(
      n, [&](auto p) { updater.recover(comm, Bound(updater.schema(), "params", Role::parameter, p, n)); }, params);
}

}  // namespace gradstep::test::host
