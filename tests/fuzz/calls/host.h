// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host as bad as memory allows: buffers that are always valid, descriptions of them that often lie, and callbacks
// that fail, throw, call again and destroy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gradstep/gradstep.h"
#include "hostile_values.h"

namespace gradstep::fuzz {

inline constexpr gradstep_dtype kF32 = {GRADSTEP_TYPE_FLOAT, 32, 1};

/// All handles of a run, NULL where there is none.
struct Handles {
  std::array<gradstep_context*, 2> contexts{};
  std::array<gradstep_comm*, 4> comms{};
  std::array<gradstep_accumulator*, 2> accumulators{};
  std::array<gradstep_optimizer*, 3> optimizers{};
  std::array<gradstep_reducer*, 2> reducers{};
  std::array<gradstep_updater*, 2> updaters{};
  std::array<gradstep_tensor_list*, 2> tensor_lists{};
  std::array<gradstep_parameter_list*, 2> parameter_lists{};
};

/// Which of its three lists of buffers a tensor is of.
enum class Buffers : std::uint8_t { params, grads, updates };

class Host {
 public:
  static constexpr std::size_t kMost = 4;  // parameters

  /// `call` makes one call, whichever the values say.
  Host(HostileValues& values, void (*call)(Host& host));
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Handles handles;

  HostileValues& values() { return values_; }

  /// A live handle if there is one; now and then NULL or a handle of another kind.
  template <class Handle, std::size_t n>
  Handle* pick(const std::array<Handle*, n>& some) {
    Handle* handle = some[values_.below(n)];
    if (handle == nullptr) handle = some[0];
    if (!values_.once_in(32)) return handle;
    return values_.once_in(2) ? nullptr : reinterpret_cast<Handle*>(handles.contexts[0]);
  }
  /// Keeps what `call(out)` makes, in the place of another one, which is destroyed.
  template <class Handle, std::size_t n, class Call>
  gradstep_status make(std::array<Handle*, n>& some, void (*destroy)(Handle*), Call&& call) {
    Handle* made = nullptr;
    const gradstep_status status = call(values_.once_in(64) ? nullptr : &made);
    if (made != nullptr) destroy(std::exchange(some[values_.below(n)], made));
    return status;
  }

  // Arguments. What they point to stays until the end of the call, also while a callback makes another one.
  const gradstep_parameter* parameters();
  const gradstep_tensor* tensors(Buffers buffers);
  std::size_t count();  // of parameters and tensors
  gradstep_tensor tensor(Buffers buffers, std::size_t index);
  /// A tensor for calls that take any shape and dtype.
  gradstep_tensor carried(Buffers buffers);
  const gradstep_schedule* schedule();
  const gradstep_stream* stream();
  const gradstep_rows* rows();
  const char* name();
  gradstep_context_options context_options();
  gradstep_comm_vtable vtable();
  static void* user_of(const gradstep_comm_vtable& vtable);
  gradstep_tensor* views() { return here().views.data(); }
  std::uint32_t struct_size(std::size_t right);
  void* device_stream() { return values_.once_in(64) ? this : nullptr; }

  /// Parameters, gradients and updates.
  const std::vector<std::uint64_t>& memory() const { return memory_; }
  /// How many calls callbacks have made.
  std::int64_t inner_calls() const { return inner_calls_; }

  /// What a callback returns, if it does return; it may have made a call before.
  gradstep_status misbehave();

 private:
  struct Shape {
    std::vector<std::int64_t> dimensions;
    gradstep_dtype dtype{};
  };
  /// What arguments point to, once for the call from outside and once for those of its callbacks.
  struct Scratch {
    struct Part {
      std::array<std::int64_t, 40> whole_shape{};
      std::array<std::int64_t, 40> offset{};
    };
    std::vector<gradstep_parameter> parameters;
    std::array<Part, kMost> parts;
    std::array<std::array<gradstep_tensor, kMost>, 3> tensors{};
    std::array<std::array<std::array<std::int64_t, 8>, kMost>, 3> shapes{};
    std::array<std::array<std::array<std::int64_t, 8>, kMost>, 3> strides{};
    std::array<gradstep_tensor, kMost + 1> views{};
    gradstep_schedule schedule{};
    std::array<std::int64_t, 3> boundaries{};
    std::array<double, 4> points{};
    gradstep_stream stream{};
    gradstep_rows rows{};
    std::array<gradstep_tensor, 2> row_tensors{};
    std::array<std::int64_t, 4> row_indices{};
    std::array<std::int64_t, 4> row_shape{};
    gradstep_allocator allocator{};
  };

  Scratch& here() { return scratch_[depth_]; }
  void choose_shapes();
  void fill_memory();
  void lie_about(gradstep_tensor& tensor, std::int64_t* strides);
  void spread(gradstep_parameter& parameter, Scratch::Part& part);
  static gradstep_status callback(void* user) { return static_cast<Host*>(user)->misbehave(); }

  HostileValues& values_;
  void (*call_)(Host& host);
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::uint64_t> memory_;
  std::array<Shape, kMost> shapes_;
  std::size_t count_ = 1;
  std::array<Scratch, 2> scratch_;
  std::size_t depth_ = 0;
  std::int64_t inner_calls_ = 0;
  std::string long_name_ = std::string(2000, 'n');
  std::string saved_;
  std::size_t at_ = 0;                              // in saved_
  std::atomic<std::int32_t> allocations_left_{-1};  // before one fails; -1 = none does
};

}  // namespace gradstep::fuzz
