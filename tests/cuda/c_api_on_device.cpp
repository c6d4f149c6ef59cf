// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs programs of tests/c_api on the emulated device as they are: the linker puts these functions between a test and
// the library (--wrap). Parameters of a schema are on the device; tensors that a test gives to a call are taken there
// before it and brought back after it; what handles show is brought to the host as a copy. So a handle of these tests
// computes there, and the tests' own expectations say whether it is right. (tests/python/on_emulated_device.py does the
// same.)
//
// What asks for the host's own memory or for what only the CPU answers at once cannot be true there: kNotThere.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/on_device.h"

extern "C" {
#include "support.h"
}

namespace {

using gradstep::test::emulated_cuda;
using gradstep::test::first_byte;
using gradstep::test::is_at_host;
using gradstep::test::kDevice;
using gradstep::test::Region;
using gradstep::test::span_of;
using gradstep::test::Trip;

struct NotThere {
  const char* test;
  const char* reason;
};

constexpr const char* kStream = "hands in something that is no stream, to be refused by the CPU";
constexpr const char* kLater = "a call tells that a step is queued, which the device then skips";
constexpr const char* kNoMemory = "tensors that no memory is as large as, so that nothing can be taken along";
constexpr NotThere kNotThere[] = {
    {"streams_are_for_devices", kStream},
    {"a_tensor_scales_gradients_by_what_it_holds_when_the_step_runs", kLater},
    {"a_hyper_parameter_in_memory_is_read_at_every_step", kLater},
    {"a_non_finite_rank_makes_no_rank_step", kLater},
    {"poll_tells_when_the_buckets_that_have_left_are_exchanged", "poll also sees what creation has queued there"},
    {"a_missing_peer_is_a_timeout_and_changes_nothing", "a deadline, which it keeps with tensors of the host"},
    {"steps_fit_into_256_KiB_of_stack", "the CPU's algebra, on the caller's stack"},
    {"strides_that_reach_too_far_are_refused", kNoMemory},
    {"shapes_that_cannot_be_read_are_refused_in_every_call", kNoMemory},
};

/// What all threads share.
struct Shared {
  std::mutex mutex;
  std::map<const void*, std::size_t> parameters;             // of a handle: lists of another length are not looked at
  std::multimap<const void*, std::unique_ptr<Region>> lent;  // to an optimizer, which reads it at each step
};

Shared& shared() {
  static auto* all = new Shared;  // tests end in exit()
  return *all;
}

bool has_parameters(const void* handle, std::size_t n) {
  const std::lock_guard lock(shared().mutex);
  const auto found = shared().parameters.find(handle);
  return found != shared().parameters.end() && found->second == n;
}

void note_parameters(const void* handle, std::size_t n) {
  const std::lock_guard lock(shared().mutex);
  shared().parameters[handle] = n;
}

void refresh_lent(const void* handle) {
  const std::lock_guard lock(shared().mutex);
  const auto [begin, end] = shared().lent.equal_range(handle);
  for (auto one = begin; one != end; ++one) one->second->upload();
}

void forget_lent(const void* handle) {
  const std::lock_guard lock(shared().mutex);
  shared().lent.erase(handle);
}

gradstep_status show(gradstep_status status, gradstep_tensor* views, std::size_t n) {
  if (status == GRADSTEP_OK) gradstep::test::show({views, n});
  return status;
}

/// call(there...) with lists of tensors of a handle of n parameters.
template <class Call, class... Lists>
gradstep_status on_device(const void* handle, std::size_t n, Call call, Lists... lists) {
  if (!has_parameters(handle, n)) return call(lists...);
  Trip trip;
  const std::vector<const gradstep_tensor*> taken{trip.take(lists, n)...};
  trip.begin();
  const gradstep_status status = [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    return call(taken[kPlaces]...);
  }(std::index_sequence_for<Lists...>());
  return status;
}

std::vector<gradstep_parameter> moved(const gradstep_parameter* parameters, std::size_t n) {
  std::vector<gradstep_parameter> all(parameters, parameters + n);
  for (gradstep_parameter& parameter : all) {
    if (is_at_host(parameter.device)) parameter.device = kDevice;
  }
  return all;
}

/// create(parameters on the device), which makes the handle at `out`.
template <class Handle, class Create>
gradstep_status made(const gradstep_parameter* parameters, std::size_t n, Handle** out, Create create) {
  if (parameters == nullptr || n == 0) return create(parameters);
  const gradstep_status status = create(moved(parameters, n).data());
  if (status != GRADSTEP_OK) return status;
  note_parameters(*out, n);
  forget_lent(*out);  // of one that had the same address
  return status;
}

void not_there(void** /*state*/) { skip(); }

}  // namespace

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"  // the linker's names
#endif

#define REAL(function) decltype(function) __real_##function

extern "C" {

REAL(_cmocka_run_group_tests);
int __wrap__cmocka_run_group_tests(const char* name, const CMUnitTest* tests, std::size_t n, CMFixtureFunction setup,
                                   CMFixtureFunction teardown) {
  emulated_cuda().set_seed(1);
  std::vector<CMUnitTest> all(tests, tests + n);
  for (CMUnitTest& test : all) {
    for (const NotThere& one : kNotThere) {
      if (std::strcmp(test.name, one.test) != 0) continue;
      print_message("%s: %s\n", one.test, one.reason);
      test = {test.name, not_there, nullptr, nullptr, nullptr};
    }
  }
  return __real__cmocka_run_group_tests((std::string(name) + " on the device").c_str(), all.data(), n, setup, teardown);
}

#define CREATE(handle, function, options_type, ...)                                                                   \
  REAL(function);                                                                                                     \
  gradstep_status __wrap_##function(gradstep_context* context, const options_type* options,                           \
                                    const gradstep_parameter* parameters, std::size_t n, handle** out) noexcept {     \
    return made(parameters, n, out,                                                                                   \
                [&](const gradstep_parameter* there) { return __real_##function(context, options, there, n, out); }); \
  }
#define STATE_BYTES(rule)                                                                                   \
  REAL(gradstep_##rule##_state_bytes);                                                                      \
  gradstep_status __wrap_gradstep_##rule##_state_bytes(const gradstep_##rule##_options* options,            \
                                                       const gradstep_parameter* parameters, std::size_t n, \
                                                       std::int64_t* bytes) noexcept {                      \
    if (parameters == nullptr) return __real_gradstep_##rule##_state_bytes(options, parameters, n, bytes);  \
    return __real_gradstep_##rule##_state_bytes(options, moved(parameters, n).data(), n, bytes);            \
  }
#define RULE(rule)                                                                        \
  CREATE(gradstep_optimizer, gradstep_optimizer_create_##rule, gradstep_##rule##_options) \
  STATE_BYTES(rule)

RULE(sgd)
RULE(rmsprop)
RULE(adagrad)
RULE(adam)
RULE(shampoo)
CREATE(gradstep_accumulator, gradstep_accumulator_create, gradstep_accumulator_options)

REAL(gradstep_reducer_create);
gradstep_status __wrap_gradstep_reducer_create(gradstep_context* context, gradstep_comm* comm,
                                               const gradstep_reducer_options* options,
                                               const gradstep_parameter* parameters, std::size_t n,
                                               gradstep_reducer** out) noexcept {
  return made(parameters, n, out, [&](const gradstep_parameter* there) {
    return __real_gradstep_reducer_create(context, comm, options, there, n, out);
  });
}

REAL(gradstep_updater_create);
gradstep_status __wrap_gradstep_updater_create(gradstep_context* context, gradstep_optimizer* optimizer,
                                               gradstep_accumulator* accumulator, gradstep_reducer* reducer,
                                               const gradstep_updater_options* options,
                                               gradstep_updater** out) noexcept {
  const gradstep_status status = __real_gradstep_updater_create(context, optimizer, accumulator, reducer, options, out);
  if (status != GRADSTEP_OK) return status;
  const std::lock_guard lock(shared().mutex);
  shared().parameters[*out] = shared().parameters[optimizer];
  return status;
}

REAL(gradstep_optimizer_add_parameters);
gradstep_status __wrap_gradstep_optimizer_add_parameters(gradstep_optimizer* optimizer,
                                                         const gradstep_parameter* parameters, std::size_t n) noexcept {
  if (parameters == nullptr) return __real_gradstep_optimizer_add_parameters(optimizer, parameters, n);
  const gradstep_status status = __real_gradstep_optimizer_add_parameters(optimizer, moved(parameters, n).data(), n);
  if (status != GRADSTEP_OK) return status;
  const std::lock_guard lock(shared().mutex);
  shared().parameters[optimizer] += n;
  return status;
}

REAL(gradstep_accumulator_add);
gradstep_status __wrap_gradstep_accumulator_add(gradstep_accumulator* accumulator, const gradstep_tensor* grads,
                                                std::size_t n, double weight, void* stream,
                                                std::int32_t* ready) noexcept {
  return on_device(
      accumulator, n,
      [&](const gradstep_tensor* there) {
        return __real_gradstep_accumulator_add(accumulator, there, n, weight, stream, ready);
      },
      grads);
}

REAL(gradstep_accumulator_add_ex);
gradstep_status __wrap_gradstep_accumulator_add_ex(gradstep_accumulator* accumulator, const gradstep_tensor* grads,
                                                   std::size_t n, const gradstep_rows* rows, std::size_t n_rows,
                                                   double weight, void* stream, std::int32_t* ready) noexcept {
  Trip trip;
  const gradstep_tensor* there = trip.take(grads, n);
  const std::vector<gradstep_rows> rows_there = trip.take_rows(rows, n_rows);
  trip.begin();
  const gradstep_status status =
      __real_gradstep_accumulator_add_ex(accumulator, there, n, rows_there.data(), n_rows, weight, stream, ready);
  return status;
}

#define SHOWS(handle, name)                                                                                        \
  REAL(gradstep_##handle##_##name);                                                                                \
  gradstep_status __wrap_gradstep_##handle##_##name(gradstep_##handle* own, gradstep_tensor* views, std::size_t n, \
                                                    void* stream) noexcept {                                       \
    return show(__real_gradstep_##handle##_##name(own, views, n, stream), views, n);                               \
  }
#define SHOWS_NORM(handle)                                                                       \
  REAL(gradstep_##handle##_norm);                                                                \
  gradstep_status __wrap_gradstep_##handle##_norm(gradstep_##handle* own, gradstep_tensor* view, \
                                                  void* stream) noexcept {                       \
    return show(__real_gradstep_##handle##_norm(own, view, stream), view, 1);                    \
  }
SHOWS(accumulator, gradients)
SHOWS(accumulator, sums)
SHOWS(reducer, gradients)
SHOWS_NORM(accumulator)
SHOWS_NORM(reducer)

REAL(gradstep_reducer_residual);
gradstep_status __wrap_gradstep_reducer_residual(gradstep_reducer* reducer, std::size_t index,
                                                 gradstep_tensor* view) noexcept {
  return show(__real_gradstep_reducer_residual(reducer, index, view), view, 1);
}

REAL(gradstep_optimizer_state);
gradstep_status __wrap_gradstep_optimizer_state(gradstep_optimizer* optimizer, std::size_t index, const char* name,
                                                gradstep_tensor* view) noexcept {
  return show(__real_gradstep_optimizer_state(optimizer, index, name, view), view, 1);
}

REAL(gradstep_reducer_reduce);
gradstep_status __wrap_gradstep_reducer_reduce(gradstep_reducer* reducer, const gradstep_tensor* grads,
                                               const gradstep_tensor* results, std::size_t n, double weight,
                                               void* stream) noexcept {
  return on_device(
      reducer, n,
      [&](const gradstep_tensor* in, const gradstep_tensor* out) {
        return __real_gradstep_reducer_reduce(reducer, in, out, n, weight, stream);
      },
      grads, results);
}

REAL(gradstep_reducer_push);
gradstep_status __wrap_gradstep_reducer_push(gradstep_reducer* reducer, std::size_t index, const gradstep_tensor* grad,
                                             void* stream) noexcept {
  Trip trip;
  const gradstep_tensor* there = trip.take(grad, 1);
  trip.begin();
  return __real_gradstep_reducer_push(reducer, index, there, stream);
}

REAL(gradstep_reducer_wait);
gradstep_status __wrap_gradstep_reducer_wait(gradstep_reducer* reducer, const gradstep_tensor* results, std::size_t n,
                                             void* stream) noexcept {
  return on_device(
      reducer, n, [&](const gradstep_tensor* out) { return __real_gradstep_reducer_wait(reducer, out, n, stream); },
      results);
}

REAL(gradstep_updater_push);
gradstep_status __wrap_gradstep_updater_push(gradstep_updater* updater, const gradstep_tensor* params,
                                             const gradstep_tensor* grads, std::size_t n, double weight, void* stream,
                                             std::int32_t* applied) noexcept {
  return on_device(
      updater, n,
      [&](const gradstep_tensor* p, const gradstep_tensor* g) {
        return __real_gradstep_updater_push(updater, p, g, n, weight, stream, applied);
      },
      params, grads);
}

REAL(gradstep_updater_flush);
gradstep_status __wrap_gradstep_updater_flush(gradstep_updater* updater, const gradstep_tensor* params, std::size_t n,
                                              void* stream, std::int32_t* applied) noexcept {
  return on_device(
      updater, n,
      [&](const gradstep_tensor* p) { return __real_gradstep_updater_flush(updater, p, n, stream, applied); }, params);
}

REAL(gradstep_updater_recover);
gradstep_status __wrap_gradstep_updater_recover(gradstep_updater* updater, gradstep_comm* comm,
                                                const gradstep_tensor* params, std::size_t n, void* stream) noexcept {
  return on_device(
      updater, n,
      [&](const gradstep_tensor* p) { return __real_gradstep_updater_recover(updater, comm, p, n, stream); }, params);
}

REAL(gradstep_optimizer_step);
gradstep_status __wrap_gradstep_optimizer_step(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                               const gradstep_tensor* grads, std::size_t n, void* stream) noexcept {
  refresh_lent(optimizer);
  return on_device(
      optimizer, n,
      [&](const gradstep_tensor* p, const gradstep_tensor* g) {
        return __real_gradstep_optimizer_step(optimizer, p, g, n, stream);
      },
      params, grads);
}

REAL(gradstep_optimizer_update);
gradstep_status __wrap_gradstep_optimizer_update(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                 const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                 std::size_t n, void* stream) noexcept {
  refresh_lent(optimizer);
  return on_device(
      optimizer, n,
      [&](const gradstep_tensor* p, const gradstep_tensor* g, const gradstep_tensor* u) {
        return __real_gradstep_optimizer_update(optimizer, p, g, u, n, stream);
      },
      params, grads, updates);
}

REAL(gradstep_optimizer_step_ex);
gradstep_status __wrap_gradstep_optimizer_step_ex(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                                  const gradstep_tensor* grads, const gradstep_tensor* updates,
                                                  std::size_t n, const gradstep_step_options* options,
                                                  void* stream) noexcept {
  if (!has_parameters(optimizer, n) || options == nullptr || options->struct_size != sizeof *options) {
    return __real_gradstep_optimizer_step_ex(optimizer, params, grads, updates, n, options, stream);
  }
  refresh_lent(optimizer);
  Trip trip;
  const gradstep_tensor* p = trip.take(params, n);
  const gradstep_tensor* g = trip.take(grads, n);
  const gradstep_tensor* u = trip.take(updates, n);
  gradstep_step_options there = *options;
  there.grad_norm = trip.take(options->grad_norm, 1);
  there.found_inf = const_cast<gradstep_tensor*>(trip.take(options->found_inf, 1));
  there.grad_scale_tensor = trip.take(options->grad_scale_tensor, 1);
  there.outcome = const_cast<gradstep_tensor*>(trip.take(options->outcome, 1));
  trip.begin();
  const gradstep_status status = __real_gradstep_optimizer_step_ex(optimizer, p, g, u, n, &there, stream);
  return status;
}

REAL(gradstep_optimizer_set_tensor);
gradstep_status __wrap_gradstep_optimizer_set_tensor(gradstep_optimizer* optimizer, std::int32_t group,
                                                     const char* name, const gradstep_tensor* tensor) noexcept {
  if (tensor == nullptr) return __real_gradstep_optimizer_set_tensor(optimizer, group, name, tensor);
  std::unique_ptr<Region> region;
  gradstep_tensor there = *tensor;
  there.device = kDevice;
  if (tensor->data != nullptr) {
    region = std::make_unique<Region>(first_byte(*tensor), first_byte(*tensor) + span_of(*tensor));
    there.data = region->there(static_cast<const std::byte*>(tensor->data));
  }
  const gradstep_status status = __real_gradstep_optimizer_set_tensor(optimizer, group, name, &there);
  if (status != GRADSTEP_OK) return status;
  const std::lock_guard lock(shared().mutex);
  shared().lent.emplace(optimizer, std::move(region));
  return status;
}

REAL(gradstep_optimizer_set_value);
gradstep_status __wrap_gradstep_optimizer_set_value(gradstep_optimizer* optimizer, std::int32_t group, const char* name,
                                                    double value) noexcept {
  const gradstep_status status = __real_gradstep_optimizer_set_value(optimizer, group, name, value);
  if (status == GRADSTEP_OK) forget_lent(optimizer);  // of which no test has two
  return status;
}

REAL(gradstep_optimizer_get_value);
gradstep_status __wrap_gradstep_optimizer_get_value(gradstep_optimizer* optimizer, std::int32_t group, const char* name,
                                                    double* value) noexcept {
  refresh_lent(optimizer);
  return __real_gradstep_optimizer_get_value(optimizer, group, name, value);
}

}  // extern "C"
