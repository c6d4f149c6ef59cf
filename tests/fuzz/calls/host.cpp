// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

namespace gradstep::fuzz {

namespace {

// Each list of buffers has kMost tensors of at most kElements doubles, with as much around them for strides to reach.
constexpr std::size_t kElements = 256;
constexpr std::size_t kRoom = 4 * kElements;
constexpr std::size_t kLists = 3;

constexpr gradstep_device kCpu = {GRADSTEP_DEVICE_CPU, 0};

}  // namespace

Host::Host(HostileValues& values, void (*call)(Host& host))
    : values_(values), call_(call), memory_(kLists * kMost * kRoom) {
  choose_shapes();
  fill_memory();
}

Host::~Host() {
  // In an order of the fuzzer's: any is allowed.
  const bool contexts_first = values_.once_in(2);
  const auto destroy_all = [](auto& some, auto destroy) {
    for (auto*& handle : some) destroy(std::exchange(handle, nullptr));
  };
  if (contexts_first) destroy_all(handles.contexts, gradstep_context_destroy);
  destroy_all(handles.comms, gradstep_comm_destroy);
  destroy_all(handles.optimizers, gradstep_optimizer_destroy);
  destroy_all(handles.accumulators, gradstep_accumulator_destroy);
  destroy_all(handles.reducers, gradstep_reducer_destroy);
  destroy_all(handles.updaters, gradstep_updater_destroy);
  destroy_all(handles.tensor_lists, gradstep_tensor_list_destroy);
  destroy_all(handles.parameter_lists, gradstep_parameter_list_destroy);
  destroy_all(handles.contexts, gradstep_context_destroy);
}

void Host::choose_shapes() {
  count_ = 1 + values_.below(kMost);
  for (Shape& shape : shapes_) {
    constexpr std::array<gradstep_dtype, 4> kDTypes = {
        kF32, {GRADSTEP_TYPE_FLOAT, 64, 1}, {GRADSTEP_TYPE_FLOAT, 16, 1}, {GRADSTEP_TYPE_BFLOAT, 16, 1}};
    shape.dtype = values_.once_in(4) ? kDTypes[values_.below(kDTypes.size())] : kF32;
    std::size_t elements = 1;
    for (std::size_t axis = values_.below(4); axis-- > 0;) {
      const std::size_t dimension = values_.below(9);
      if (elements * dimension > kElements) break;
      elements *= dimension;
      shape.dimensions.push_back(static_cast<std::int64_t>(dimension));
    }
  }
}

void Host::fill_memory() {
  std::uint64_t state = 88172645463325252U + values_.byte();
  for (std::uint64_t& word : memory_) {
    // Two floats between 1 and 2, which are a double, too.
    state = state * 6364136223846793005U + 1442695040888963407U;
    word = 0x3f8000003f800000U | ((state >> 32) & 0x007fffffU) | ((state << 20) & 0x007fffff00000000U);
  }
  for (int i = 0; i < 4; ++i) {
    const double wild = values_.number();
    std::memcpy(&memory_[values_.byte() * memory_.size() / 256], &wild, sizeof wild);
  }
}

std::uint32_t Host::struct_size(std::size_t right) {
  if (!values_.once_in(48)) return static_cast<std::uint32_t>(right);
  constexpr std::array<std::uint32_t, 4> kWrong = {0, 4, 4097, UINT32_MAX};
  return kWrong[values_.below(kWrong.size())];
}

const char* Host::name() {
  constexpr std::array<const char*, 14> kNames = {
      "learning_rate", "beta1",      "beta2",        "momentum", "epsilon", "exp_avg",  "momentum_buffer",
      "precondition",  "statistics", "weight_decay", "rho",      "",        "\xff\xfe", "master"};
  const std::size_t choice = values_.below(kNames.size() + 2);
  if (choice < kNames.size()) return kNames[choice];
  return choice == kNames.size() ? nullptr : long_name_.c_str();
}

std::size_t Host::count() {
  if (!values_.once_in(24)) return count_;
  return values_.below(kMost + 1);
}

/// Makes it a part of a whole, which may be too small. Numbers of the part are enough for every ndim.
void Host::spread(gradstep_parameter& parameter, Scratch::Part& part) {
  for (std::size_t axis = 0; axis < part.offset.size(); ++axis) {
    const auto axes = static_cast<std::size_t>(parameter.ndim);
    part.offset[axis] = values_.once_in(4) ? values_.int32() % 4 : 0;
    part.whole_shape[axis] = axis < axes ? parameter.shape[axis] + part.offset[axis] : 1;
  }
  parameter.whole_shape = values_.once_in(8) ? nullptr : part.whole_shape.data();
  parameter.offset = values_.once_in(8) ? nullptr : part.offset.data();
}

const gradstep_parameter* Host::parameters() {
  constexpr std::array<const char*, kMost> kNames = {"a", "b.weight", "c", "d"};
  auto& list = here().parameters;
  list.assign(kMost, {});
  const std::uint32_t size = struct_size(sizeof(gradstep_parameter));
  for (std::size_t i = 0; i < kMost; ++i) {
    gradstep_parameter& parameter = list[i];
    parameter.struct_size = size;
    parameter.name = values_.once_in(24) ? name() : kNames[i];
    parameter.shape = shapes_[i].dimensions.data();
    parameter.ndim = static_cast<std::int32_t>(shapes_[i].dimensions.size());
    parameter.dtype = shapes_[i].dtype;
    parameter.device = kCpu;
    if (values_.once_in(8)) parameter.group = static_cast<std::int32_t>(values_.below(4));
    if (values_.once_in(8)) parameter.flags = values_.byte();
    if (values_.once_in(8)) spread(parameter, here().parts[i]);
    if (!values_.once_in(48)) continue;
    switch (values_.below(5)) {
      case 0:
        parameter.ndim = values_.once_in(2) ? -1 : 33;
        break;
      case 1:
        parameter.shape = nullptr;
        break;
      case 2:
        parameter.dtype.code = values_.byte();
        parameter.dtype.bits = values_.byte();
        break;
      case 3:
        parameter.device.device_type = values_.int32();
        break;
      default:
        parameter.group = values_.once_in(2) ? -1 : INT32_MAX;
        break;
    }
  }
  return values_.once_in(64) ? nullptr : list.data();
}

gradstep_tensor Host::tensor(Buffers buffers, std::size_t index) {
  const auto list = static_cast<std::size_t>(buffers);
  auto& shape = here().shapes[list][index];
  std::copy(shapes_[index].dimensions.begin(), shapes_[index].dimensions.end(), shape.begin());
  gradstep_tensor tensor{};
  tensor.data = &memory_[(list * kMost + index) * kRoom + kRoom / 2];
  tensor.device = kCpu;
  tensor.ndim = static_cast<std::int32_t>(shapes_[index].dimensions.size());
  tensor.dtype = shapes_[index].dtype;
  tensor.shape = shape.data();
  if (values_.once_in(12)) lie_about(tensor, here().strides[list][index].data());
  return tensor;
}

/// Whatever passes the library's checks lies within the memory of the tensor.
void Host::lie_about(gradstep_tensor& tensor, std::int64_t* strides) {
  switch (values_.below(10)) {
    case 0:
      tensor.shape = nullptr;
      break;
    case 1: {
      constexpr std::array<std::int32_t, 5> kCounts = {-1, 33, 1'000'000, INT32_MIN, INT32_MAX};
      tensor.ndim = kCounts[values_.below(kCounts.size())];
      break;
    }
    case 2:
      tensor.ndim += values_.once_in(2) ? 1 : -1;
      break;
    case 3:
      tensor.shape[values_.below(3)] = values_.int64();
      break;
    case 4:
      tensor.dtype.code = values_.byte();
      tensor.dtype.bits = static_cast<std::uint8_t>(16 << values_.below(3));
      tensor.dtype.lanes = values_.once_in(4) ? 2 : 1;
      break;
    case 5:
      tensor.device.device_type = values_.int32();
      tensor.device.device_id = values_.int32();
      break;
    case 6:
      tensor.data = nullptr;
      break;
    case 7:
      tensor.byte_offset = values_.below(16);
      break;
    case 8:  // distances that the room around a tensor has space for
      tensor.strides = strides;
      for (int axis = 0; axis < 3; ++axis) strides[axis] = static_cast<std::int64_t>(values_.below(31)) - 15;
      break;
    default:  // and those that nothing has
      tensor.strides = strides;
      for (int axis = 0; axis < 3; ++axis) strides[axis] = values_.once_in(2) ? INT64_MAX : INT64_MIN;
      break;
  }
}

gradstep_tensor Host::carried(Buffers buffers) {
  const std::size_t index = values_.below(kMost);
  gradstep_tensor tensor = this->tensor(buffers, index);
  if (tensor.shape == nullptr || tensor.ndim < 0 || tensor.ndim > 8) return tensor;
  std::int64_t bytes = tensor.dtype.bits * tensor.dtype.lanes / 8;
  for (std::int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const bool overflows = __builtin_mul_overflow(bytes, tensor.shape[axis], &bytes);
    if (overflows || tensor.shape[axis] < 0) return tensor;  // no machine has that much
  }
  if (bytes > static_cast<std::int64_t>(kRoom / 2 * sizeof(std::uint64_t))) tensor.ndim = 0;
  return tensor;
}

const gradstep_tensor* Host::tensors(Buffers buffers) {
  auto& list = here().tensors[static_cast<std::size_t>(buffers)];
  for (std::size_t i = 0; i < kMost; ++i) list[i] = tensor(buffers, i);
  if (values_.once_in(32)) list[values_.below(kMost)] = list[values_.below(kMost)];
  if (values_.once_in(16)) list[values_.below(kMost)] = {};
  return values_.once_in(64) ? nullptr : list.data();
}

const gradstep_rows* Host::rows() {
  Scratch& scratch = here();
  const std::size_t index = values_.below(kMost);
  const auto& dimensions = shapes_[index].dimensions;
  scratch.rows = {};
  scratch.rows.struct_size = struct_size(sizeof scratch.rows);
  scratch.rows.parameter = values_.once_in(16) ? values_.int64() : static_cast<std::int64_t>(index);
  scratch.rows.indices = values_.once_in(64) ? nullptr : scratch.row_tensors.data();
  scratch.rows.values = &scratch.row_tensors[1];
  const auto count = static_cast<std::int64_t>(values_.below(4));
  for (std::int64_t& row : scratch.row_indices) {
    row = values_.once_in(16) ? values_.int64() : static_cast<std::int64_t>(values_.below(8));
  }
  scratch.row_shape = {count};
  gradstep_tensor& indices = scratch.row_tensors[0];
  indices = {};
  indices.data = scratch.row_indices.data();
  indices.device = kCpu;
  indices.ndim = 1;
  indices.dtype = {GRADSTEP_TYPE_INT, static_cast<std::uint8_t>(values_.once_in(2) ? 32 : 64), 1};
  indices.shape = scratch.row_shape.data();
  gradstep_tensor& rows = scratch.row_tensors[1];
  rows = tensor(Buffers::grads, index);
  if (rows.shape != nullptr && !dimensions.empty()) rows.shape[0] = std::min(count, std::int64_t{2});
  return &scratch.rows;
}

const gradstep_schedule* Host::schedule() {
  Scratch& scratch = here();
  gradstep_schedule& schedule = scratch.schedule;
  if (gradstep_schedule_init(&schedule, sizeof schedule) != GRADSTEP_OK) std::abort();
  schedule.struct_size = struct_size(sizeof schedule);
  schedule.kind = values_.once_in(16) ? values_.int32() : static_cast<std::int32_t>(values_.below(7));
  schedule.init_value = values_.number();
  schedule.end_value = values_.number();
  schedule.decay_steps = values_.int64();
  schedule.decay_rate = values_.number();
  schedule.power = values_.number();
  schedule.warmup_steps = values_.once_in(4) ? values_.int64() : 0;
  schedule.n_points = static_cast<std::int32_t>(values_.below(5));
  for (std::size_t i = 0; i < scratch.boundaries.size(); ++i) {
    scratch.boundaries[i] = values_.once_in(8) ? values_.int64() : static_cast<std::int64_t>(4 * i);
  }
  for (double& point : scratch.points) point = values_.number();
  schedule.boundaries = values_.once_in(32) ? nullptr : scratch.boundaries.data();
  schedule.values = values_.once_in(32) ? nullptr : scratch.points.data();
  schedule.user = this;
  if (!values_.once_in(32)) {
    schedule.function = [](void* user, std::int64_t, double* value) {
      auto& host = *static_cast<Host*>(user);
      *value = host.depth_ == 0 ? host.values_.number() : 1;
      return host.misbehave();
    };
  }
  schedule.release = [](void* user) { static_cast<void>(callback(user)); };
  return values_.once_in(64) ? nullptr : &schedule;
}

const gradstep_stream* Host::stream() {
  gradstep_stream& stream = here().stream;
  stream = {};
  stream.struct_size = struct_size(sizeof stream);
  stream.user = this;
  at_ = 0;
  if (values_.once_in(4) && !saved_.empty()) {
    saved_[values_.byte() * saved_.size() / 256] ^= static_cast<char>(1 << values_.below(8));
  }
  if (!values_.once_in(32)) {
    stream.write = [](void* user, const void* data, std::size_t size) {
      auto& host = *static_cast<Host*>(user);
      if (std::exchange(host.at_, 1) == 0) host.saved_.clear();
      host.saved_.append(static_cast<const char*>(data), size);
      return host.misbehave();
    };
  }
  if (!values_.once_in(32)) {
    stream.read = [](void* user, void* data, std::size_t size, std::size_t* got) {
      auto& host = *static_cast<Host*>(user);
      const std::size_t at = std::min(host.at_, host.saved_.size());
      *got = std::min(size, host.saved_.size() - at);
      if (*got > 0) std::memcpy(data, host.saved_.data() + at, *got);
      host.at_ = at + *got;
      return host.misbehave();
    };
  }
  stream.release = [](void* user) { static_cast<void>(callback(user)); };
  return values_.once_in(64) ? nullptr : &stream;
}

gradstep_context_options Host::context_options() {
  gradstep_context_options options;
  if (gradstep_context_options_init(&options, sizeof options) != GRADSTEP_OK) std::abort();
  options.struct_size = struct_size(sizeof options);
  constexpr std::array<std::int32_t, 6> kThreads = {1, 1, 2, 3, -1, 1025};
  options.num_threads = kThreads[values_.below(kThreads.size())];
  options.background_threads = static_cast<std::int32_t>(values_.below(3)) - (values_.once_in(16) ? 1 : 0);
  options.log_level = values_.once_in(16) ? values_.int32() : GRADSTEP_LOG_DEBUG;
  options.log_user = options.parallel_for_user = options.interrupt_user = this;
  options.log = [](void* user, std::int32_t, const char*) { static_cast<void>(callback(user)); };
  options.log_release = [](void* user) { static_cast<void>(callback(user)); };
  options.interrupt = [](void* user) -> std::int32_t { return callback(user); };
  options.interrupt_release = options.log_release;
  if (values_.once_in(2)) {
    options.parallel_for = [](void* user, std::int64_t n, void (*body)(void*, std::int64_t), void* body_user) {
      auto& host = *static_cast<Host*>(user);
      const bool strays = host.depth_ == 0 && host.values_.once_in(16);
      const std::int64_t end = strays ? host.values_.int32() % 64 : n;
      for (std::int64_t i = end; i-- > 0;) body(body_user, i);
      if (strays) body(body_user, host.values_.int64());
      return host.misbehave();
    };
  }
  options.parallel_for_release = options.log_release;
  if (!values_.once_in(2)) return options;
  gradstep_allocator& allocator = here().allocator;
  allocator = {};
  allocator.struct_size = struct_size(sizeof allocator);
  allocator.user = this;
  allocations_left_ = values_.once_in(2) ? values_.byte() : -1;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t,
                          void*) -> void* {
    auto& left = static_cast<Host*>(user)->allocations_left_;
    if (left >= 0 && left-- == 0) {
      if (bytes % 2 == 0) throw std::bad_alloc();
      return nullptr;
    }
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void*, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
    std::free(data);
  };
  allocator.release = options.log_release;
  options.allocator = &allocator;
  return options;
}

/// A world of several ranks whose others are echoes of this one.
gradstep_comm_vtable Host::vtable() {
  gradstep_comm_vtable vtable{};
  vtable.struct_size = struct_size(sizeof vtable);
  vtable.rank = values_.once_in(24) ? values_.int32() : 0;
  vtable.world_size = 1 + static_cast<std::int32_t>(values_.below(3));
  vtable.any_thread = values_.once_in(2) ? 1 : 0;
  vtable.rank_ordered = values_.once_in(32) ? values_.int32() : 0;
  vtable.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void*, std::int64_t) {
    const std::int32_t ranks = *static_cast<std::int32_t*>(user);
    if (bytes == 0) return gradstep_status{GRADSTEP_OK};
    for (std::int32_t r = 0; r < ranks; ++r) {
      std::memmove(static_cast<char*>(receive) + r * bytes, send, static_cast<std::size_t>(bytes));
    }
    return gradstep_status{GRADSTEP_OK};
  };
  vtable.poll = [](void*) { return gradstep_status{GRADSTEP_OK}; };
  return vtable;
}

void* Host::user_of(const gradstep_comm_vtable& vtable) {
  static std::array<std::int32_t, 4> world_sizes = {0, 1, 2, 3};
  return &world_sizes[static_cast<std::size_t>(vtable.world_size)];
}

gradstep_status Host::misbehave() {
  if (std::this_thread::get_id() != thread_ || depth_ != 0) return GRADSTEP_OK;
  const std::uint8_t choice = values_.byte();
  if (choice < 232) return GRADSTEP_OK;
  if (choice < 238) return values_.int32();
  if (choice < 244) throw std::runtime_error("a host's exception");
  if (choice < 246) throw choice;
  depth_ = 1;
  ++inner_calls_;
  call_(*this);
  depth_ = 0;
  return GRADSTEP_OK;
}

}  // namespace gradstep::fuzz
