// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/emulation/device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cuda/emulation/compiled.h"
#include "cuda/emulation/control.h"
#include "cuda/emulation/left_out.h"
#include "detached/closed_memory.h"
#include "detached/work_queues.h"

using gradstep::test::ClosedMemory;
using gradstep::test::WorkQueues;

namespace {

/// What has been captured, in an order that its streams and events allow.
using Captured = std::vector<std::function<void()>>;

}  // namespace

struct CUuserObject_st {
  std::shared_ptr<void> data;
};

struct CUgraph_st {
  Captured work;
  std::vector<std::shared_ptr<void>> objects;  // that it retains
  unsigned long long id = 0;                   // of its capture
  bool is_spoiled = false;                     // its capture
};

struct CUgraphExec_st {
  Captured work;
  std::vector<std::shared_ptr<void>> objects;
};

struct CUstream_st {
  WorkQueues::Line* line = nullptr;
  CUgraph_st* capture = nullptr;
};

/// A device's primary context.
struct CUctx_st {
  int device;
};

struct CUevent_st {
  WorkQueues::Point point;
  CUgraph_st* capture = nullptr;  ///< recorded in it
  /// When it had its turn, of those that time: work that is not done yet may outlive the event.
  std::shared_ptr<std::chrono::steady_clock::time_point> moment;
};

namespace gradstep::emulation {

namespace {

constexpr int kDevices = 2;
constexpr int kDriverVersion = 13000;
constexpr std::size_t kMaxSharedBytes = 48 * 1024;
constexpr int kMaxThreads = 1024;
constexpr std::int64_t kMaxBlocks = 0x7fffffff;

/// All devices together: what distinguishes them is the streams.
struct Machine {
  ClosedMemory memory;
  WorkQueues work{memory, 1};
  CUstream_st default_streams[kDevices];
  std::map<const std::byte*, std::size_t> pinned;  // bytes by address
  std::map<void*, std::size_t> allocated;
  std::vector<CUgraph_st*> captures;  // that are going on
  unsigned long long last_capture = 0;
  std::atomic<std::uint32_t> used_devices{0};  // a bit each
  std::int64_t failing_copy = 0;               // so many copies from now, 0 = none
  std::int64_t failing_kernel = 0;             // so many launches from now, 0 = none
  std::atomic<int> errors[kDevices] = {};      // that stay, a cudaError_t of each device
  std::atomic<int> compute_capability{9};
  // What tests have made, and keep to the end.
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUgraph_st>> graphs;
  Counts counts;
  std::vector<std::string> launches;
  bool counts_traffic = false;
  std::vector<Traffic> traffic;  // of launches
  std::recursive_mutex mutex;

  Machine() {
    for (CUstream_st& stream : default_streams) stream.line = &work.add();
  }
};

// Leaked: handles may be destroyed by static destructors.
Machine& machine() {
  static auto* instance = new Machine;
  return *instance;
}

thread_local int own_device = 0;
thread_local std::vector<CUctx_st*> pushed_contexts;
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

/// What needs a context on the thread's device makes one.
void use_device() { machine().used_devices |= 1U << current_device_number(); }

[[noreturn]] void complain(const char* who, const char* what) {
  std::fprintf(stderr, "emulation: %s: %s\n", who, what);
  std::abort();
}

CUstream_st& at(cudaStream_t stream) {
  if (stream != nullptr) return *stream;
  return machine().default_streams[current_device_number()];
}

bool is_pinned(const void* data, std::size_t bytes) {
  Machine& all = machine();
  const auto* first = static_cast<const std::byte*>(data);
  auto after = all.pinned.upper_bound(first);
  if (after == all.pinned.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

/// What has failed on a device, and stays. Tests also have memory on devices that there are not.
cudaError_t error_of(int device) {
  return device < kDevices ? static_cast<cudaError_t>(machine().errors[device].load()) : cudaSuccess;
}
cudaError_t device_error() { return error_of(current_device_number()); }

void put(CUstream_st& stream, std::function<void()> on_device) {
  auto work = [device = current_device_number(), on_device = std::move(on_device)] {
    if (error_of(device) == cudaSuccess) on_device();
  };
  if (stream.capture != nullptr) {
    stream.capture->work.emplace_back(std::move(work));
  } else {
    machine().work.put(*stream.line, std::move(work));
  }
}

/// As a host waits: other threads call meanwhile, such as the peers that a collective waits for. A thread that waits
/// does the work. The caller does not have the machine's lock.
void wait_until(const std::function<bool()>& reached, bool does_all = false) {
  Machine& all = machine();
  all.work.count_wait();
  for (;;) {
    {
      const std::lock_guard lock(all.mutex);
      all.memory.open();
      while ((does_all || !reached()) && all.work.do_one()) {
      }
      all.memory.close();
      if (reached()) return;
      if (!all.work.is_held()) complain("the host", "waits for streams that wait for each other");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// A thread that looks again and again sees work that is done meanwhile.
void let_time_go_on() {
  WorkQueues& work = machine().work;
  if (work.random() % 2 == 0) work.do_one();
}

void finish(const CUstream_st& stream) {
  wait_until([&stream] { return stream.line->is_empty(); });
}

/// But for what waits for another rank, which is another thread: its device is one of its own.
void finish_all() {
  wait_until([] { return machine().work.is_done_for_this_thread(); }, /*does_all=*/true);
}

/// A call that CUDA refuses inside or beside captures spoils all of them.
cudaError_t refuse() {
  const std::lock_guard lock(machine().mutex);
  for (CUgraph_st* graph : machine().captures) graph->is_spoiled = true;
  return cudaErrorStreamCaptureUnsupported;
}

bool are_captures() {
  const std::lock_guard lock(machine().mutex);
  return !machine().captures.empty();
}

/// What CUDA refuses while anything is captured, unless the thread says that it knows.
bool is_refused() { return are_captures() && capture_mode != cudaStreamCaptureModeRelaxed; }

/// With the machine's mutex. True where a test wants it.
bool fails_copy() { return machine().failing_copy > 0 && --machine().failing_copy == 0; }

void run_block(const Launch& launch, std::int64_t index, std::uint64_t seed) {
  using Words = std::linear_congruential_engine<std::uint64_t, 6364136223846793005U, 1442695040888963407U, 0>;
  std::vector<std::uint64_t> shared(launch.shared_bytes / sizeof(std::uint64_t) + 3);
  std::ranges::generate(shared, Words(seed));  // it has not been written
  std::vector<std::byte> exchange(static_cast<std::size_t>(launch.threads) * 32);
  void* place = shared.data();
  std::size_t room = shared.size() * sizeof shared[0];
  BlockState state;
  state.kernel = launch.kernel;
  state.index = index;
  state.blocks = launch.blocks;
  state.threads = launch.threads;
  state.shared = static_cast<std::byte*>(std::align(16, launch.shared_bytes, place, room));
  state.exchange = exchange.data();
  const auto thread = [&](int t) {
    Block block(state, t);
    launch.body(block);
  };
  if (launch.waits) {
    run_fibers(launch.threads, seed, launch.kernel, thread);
  } else {
    for (int t = 0; t < launch.threads; ++t) thread(t);
  }
}

/// As nvcc has compiled it.
void run_compiled(const Launch& launch, std::uint64_t seed) {
  const CompiledKernel compiled = find_compiled_kernel(*launch.type);
  if (compiled.kernel->parameter_bytes != launch.object.size())
    complain(launch.kernel, "its parameters have another size");
  ptx::Launch of_ptx;
  of_ptx.program = compiled.program;
  of_ptx.kernel = compiled.kernel;
  of_ptx.parameters = launch.object.data();
  of_ptx.blocks = launch.blocks;
  of_ptx.threads = launch.threads;
  of_ptx.shared_bytes = launch.shared_bytes;
  of_ptx.seed = seed;
  of_ptx.is_device_memory = [](const void* data, std::size_t bytes) { return machine().memory.contains(data, bytes); };
  ptx::Amounts own;
  of_ptx.amounts = machine().counts_traffic ? &own : traffic_of(*compiled.kernel);
  try {
    if (leaves_out()) {
      run_and_leave_out(of_ptx, machine().allocated);
    } else {
      ptx::run(of_ptx);
    }
  } catch (const ptx::Error& error) {
    complain(launch.kernel, error.what());
  }
  for (const auto& [line, amount] : own) {
    Traffic& all = machine().traffic.back();
    all.bytes += amount.bytes;
    all.moved += ptx::kSector * amount.sectors;
  }
}

void run_blocks(const Launch& launch, int device) {
  Machine& all = machine();
  if (all.failing_kernel > 0 && --all.failing_kernel == 0) {
    all.errors[device] = cudaErrorIllegalAddress;
    return;
  }
  ++all.counts.launches;
  all.launches.emplace_back(launch.kernel);
  all.traffic.emplace_back();
  if (launch.type != nullptr && has_compiled_kernels()) {
    run_compiled(launch, all.work.random());
    return;
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(launch.blocks));
  for (std::size_t b = 0; b < order.size(); ++b) order[b] = static_cast<std::int64_t>(b);
  std::minstd_rand random(static_cast<std::uint32_t>(all.work.random()));
  std::shuffle(order.begin(), order.end(), random);
  for (const std::int64_t b : order) run_block(launch, b, random());
}

}  // namespace

void check_access(const char* kernel, const void* data, std::size_t bytes, std::size_t alignment) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignment != 0) complain(kernel, "an access is not aligned");
  if (!machine().memory.contains(data, bytes)) complain(kernel, "an access is not to the device's memory");
}

void check_range(const char* kernel, const void* data, std::size_t bytes, std::size_t alignment) {
  check_access(kernel, data, bytes, alignment);
  if (!ClosedMemory::has_buffers_at(data, bytes)) complain(kernel, "an access is to what no buffer has");
}

cudaError_t launch(Launch launch, cudaStream_t stream) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  if (launch.blocks < 1 || launch.blocks > kMaxBlocks || launch.threads < 1 || launch.threads > kMaxThreads ||
      launch.shared_bytes > kMaxSharedBytes) {
    return cudaErrorInvalidValue;
  }
  put(at(stream), [launch = std::move(launch), device = current_device_number()] { run_blocks(launch, device); });
  return cudaSuccess;
}

bool put_when(cudaStream_t stream, std::function<bool()> ready) {
  const std::lock_guard lock(machine().mutex);
  CUstream_st& own = at(stream);
  if (own.capture != nullptr) return false;
  auto ready_or_lost = [device = current_device_number(), ready = std::move(ready)] {
    return error_of(device) != cudaSuccess || ready();
  };
  machine().work.put(*own.line, [] {}, {}, std::move(ready_or_lost));
  return true;
}

std::recursive_mutex& machine_mutex() { return machine().mutex; }

void at_device(const std::function<void()>& body) {
  machine().memory.open();
  body();
  machine().memory.close();
}

int current_device_number() { return pushed_contexts.empty() ? own_device : pushed_contexts.back()->device; }

bool is_refused_beside_captures() {
  if (!is_refused()) return false;
  refuse();
  return true;
}

namespace {

int get_device(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= kDevices) return cudaErrorInvalidDevice;
  *device = ordinal;
  return 0;
}

int retain_primary_context(CUctx_st** context, int device) {
  static CUctx_st contexts[kDevices] = {{0}, {1}};
  *context = &contexts[device];
  machine().used_devices |= 1U << device;
  return 0;
}

int push_context(CUctx_st* context) {
  pushed_contexts.push_back(context);
  return 0;
}

int pop_context(CUctx_st** context) {
  if (pushed_contexts.empty()) complain("cuCtxPopCurrent", "there is no context to pop");
  *context = pushed_contexts.back();
  pushed_contexts.pop_back();
  return 0;
}

}  // namespace

const std::map<std::string, void*>& driver_symbols() {
  static const std::map<std::string, void*> all = [] {
    std::map<std::string, void*> symbols = {
        {"cuDeviceGet", reinterpret_cast<void*>(get_device)},
        {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(retain_primary_context)},
        {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(push_context)},
        {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(pop_context)}};
    add_module_symbols(symbols);
    return symbols;
  }();
  return all;
}

namespace {

const Control kControl = {
    [](std::uint64_t seed) { machine().work.set_seed(seed); },
    [] {
      Counts counts = machine().counts;
      counts.waits = machine().work.waits();
      return counts;
    },
    [](std::int64_t k) -> const char* {
      const auto& launches = machine().launches;
      return k < static_cast<std::int64_t>(launches.size()) ? launches[static_cast<std::size_t>(k)].c_str() : nullptr;
    },
    [] {
      machine().launches.clear();
      machine().traffic.clear();
    },
    []() -> void* {
      cudaStream_t stream = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      machine().streams.emplace_back(stream);
      return stream;
    },
    [](void* stream) { cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeGlobal); },
    [](void* stream) -> void* {
      cudaGraph_t graph = nullptr;
      cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
      machine().graphs.emplace_back(graph);
      return graph;
    },
    [](void* graph, void* stream) {
      cudaGraphExec_t exec = nullptr;
      cudaGraphInstantiate(&exec, static_cast<cudaGraph_t>(graph), 0);
      cudaGraphLaunch(exec, static_cast<cudaStream_t>(stream));
      cudaGraphExecDestroy(exec);
    },
    current_device_number,
    [](int device, std::uint64_t bytes) -> void* {
      const int before = std::exchange(own_device, device);
      const cudaStreamCaptureMode mode = std::exchange(capture_mode, cudaStreamCaptureModeRelaxed);
      void* data = nullptr;
      cudaMalloc(&data, bytes);
      capture_mode = mode;
      own_device = before;
      return data;
    },
    [](void* data) { cudaFree(data); },
    [](void* to, const void* from, std::uint64_t bytes) {
      cudaDeviceSynchronize();
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr);
      cudaDeviceSynchronize();
    },
    [](int device) { own_device = device; },
    library_symbol,
    hang_nccl,
    fail_nccl,
    nccl_communicators,
    [](void* stream, void (*function)(void*), void* argument) {
      const std::lock_guard lock(machine().mutex);
      put(at(static_cast<cudaStream_t>(stream)), [function, argument] { function(argument); });
    },
    [](void* later, void* earlier) {
      cudaEvent_t event = nullptr;
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      cudaEventRecord(event, static_cast<cudaStream_t>(earlier));
      cudaStreamWaitEvent(static_cast<cudaStream_t>(later), event, 0);
      cudaEventDestroy(event);
    },
    [] { return machine().used_devices.exchange(0); },
    block_nccl,
    [](std::int64_t k) { machine().failing_copy = k; },
    [](int major) { machine().compute_capability = major; },
    keep_nccl_busy,
    [](std::int64_t k) {
      const std::lock_guard lock(machine().mutex);
      machine().failing_kernel = k;
      if (k > 0) return;
      for (auto& error : machine().errors) error = cudaSuccess;
    },
    [](bool counts) { machine().counts_traffic = counts; },
    [](std::int64_t k) { return machine().traffic.at(static_cast<std::size_t>(k)); },
};

}  // namespace

}  // namespace gradstep::emulation

using namespace gradstep::emulation;

extern "C" __attribute__((visibility("default"))) const Control* gradstep_cuda_emulation() { return &kControl; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = machine().compute_capability;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device_number();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return cudaErrorInvalidDevice;
  own_device = device;
  use_device();
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    default:
      return "cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

cudaError_t cudaDeviceSynchronize() {
  use_device();
  if (are_captures()) return refuse();
  finish_all();
  return device_error();
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  Machine& all = machine();
  if (is_refused()) return refuse();
  ++all.counts.allocations;
  try {
    *data = all.memory.allocate(bytes);
  } catch (...) {
    return cudaErrorMemoryAllocation;
  }
  if (bytes == 0) return cudaSuccess;
  all.allocated[*data] = bytes;
  // Unwritten memory is not zero. No more than tables and counters take: closing takes time by the pages in use.
  at_device([&] { std::memset(*data, 0xa5, std::min<std::size_t>(bytes, 1 << 16)); });
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  use_device();
  Machine& all = machine();
  if (data == nullptr) return cudaSuccess;
  if (is_refused()) return refuse();
  finish_all();
  const std::lock_guard lock(all.mutex);
  const auto found = all.allocated.find(data);
  if (found == all.allocated.end()) return cudaErrorInvalidValue;
  all.memory.deallocate(data, found->second);
  all.allocated.erase(found);
  return device_error();
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned /*flags*/) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  Machine& all = machine();
  if (is_refused()) return refuse();
  ++all.counts.allocations;
  *data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  all.pinned[static_cast<const std::byte*>(*data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  use_device();
  Machine& all = machine();
  if (is_refused()) return refuse();
  finish_all();
  const std::lock_guard lock(all.mutex);
  all.pinned.erase(static_cast<const std::byte*>(data));
  std::free(data);
  return device_error();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  std::unique_lock lock(machine().mutex);
  Machine& all = machine();
  if (fails_copy()) return cudaErrorMemoryAllocation;
  const auto is_reachable = [&](const void* data) {
    return all.memory.contains(data, bytes) || is_pinned(data, bytes);
  };
  const bool is_paged = !is_reachable(to) || !is_reachable(from);
  if (is_paged && at(stream).capture != nullptr) return refuse();
  const bool is_local = all.memory.contains(to, bytes) && all.memory.contains(from, bytes);
  put(at(stream), [to, from, bytes, is_local] {
    if (bytes > 0) std::memcpy(to, from, bytes);
    if (is_local) return;
    ++machine().counts.copies;
    machine().counts.copied_bytes += static_cast<std::int64_t>(bytes);
  });
  lock.unlock();
  if (is_paged) finish(at(stream));  // pageable memory is waited for
  return device_error();
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  if (!machine().memory.contains(to, bytes)) return cudaErrorInvalidValue;
  if (fails_copy()) return cudaErrorMemoryAllocation;
  put(at(stream), [to, value, bytes] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  if (is_refused()) return refuse();
  *stream = new CUstream_st;
  (*stream)->line = &machine().work.add();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  use_device();
  finish(*stream);
  delete stream;
  return device_error();
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  use_device();
  const std::lock_guard lock(machine().mutex);
  if (is_refused() || at(stream).capture != nullptr) return refuse();
  const WorkQueues::Line& line = *at(stream).line;
  if (!line.is_empty()) let_time_go_on();
  if (const cudaError_t error = device_error()) return error;
  return line.is_empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  use_device();
  if (is_refused() || at(stream).capture != nullptr) return refuse();
  finish(at(stream));
  return device_error();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  CUstream_st& own = at(stream);
  if (event->capture != nullptr) {
    own.capture = event->capture;  // it joins
  } else if (own.capture != nullptr) {
    return refuse();
  } else {
    machine().work.put(*own.line, [] {}, event->point);
  }
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  CUgraph_st* const capture = at(stream).capture;
  *status = capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (capture == nullptr) return cudaSuccess;
  if (capture->is_spoiled) {  // and nothing more is said of it
    *status = cudaStreamCaptureStatusInvalidated;
    return cudaSuccess;
  }
  *id = capture->id;
  *graph = capture;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  *event = new CUevent_st;
  if (flags == cudaEventDefault) (*event)->moment = std::make_shared<std::chrono::steady_clock::time_point>();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  use_device();
  const std::lock_guard lock(machine().mutex);
  delete event;
  return device_error();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  CUstream_st& own = at(stream);
  event->capture = own.capture;
  if (own.capture != nullptr && event->moment == nullptr) return cudaSuccess;
  put(own, [moment = event->moment] {  // it has a turn of its own, on a stream that is idle, too
    if (moment != nullptr) *moment = std::chrono::steady_clock::now();
  });
  if (own.capture == nullptr) event->point = machine().work.end_of(*own.line);
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  use_device();
  std::swap(*mode, capture_mode);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  use_device();
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  if (is_refused()) return refuse();
  if (event->capture != nullptr) return cudaErrorCapturedEvent;
  WorkQueues& work = machine().work;
  if (work.is_reached(event->point)) return cudaSuccess;
  let_time_go_on();
  if (const cudaError_t error = device_error()) return error;
  return work.is_reached(event->point) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  use_device();
  if (is_refused()) return refuse();
  wait_until([point = event->point] { return machine().work.is_reached(point); });
  return device_error();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->moment == nullptr || end->moment == nullptr) return cudaErrorInvalidResourceHandle;
  *milliseconds = std::chrono::duration<float, std::milli>(*end->moment - *begin->moment).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  const std::lock_guard lock(machine().mutex);
  if (stream == nullptr) return refuse();  // the legacy stream is not captured
  stream->capture = new CUgraph_st;
  stream->capture->id = ++machine().last_capture;
  machine().captures.push_back(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard lock(machine().mutex);
  *graph = std::exchange(stream->capture, nullptr);
  if (*graph == nullptr) return cudaErrorStreamCaptureInvalidated;
  std::erase(machine().captures, *graph);
  if (!(*graph)->is_spoiled) return cudaSuccess;
  delete std::exchange(*graph, nullptr);
  return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long /*flags*/) {
  const std::lock_guard lock(machine().mutex);
  *exec = new CUgraphExec_st{graph->work, graph->objects};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (const cudaError_t error = device_error()) return error;
  const std::lock_guard lock(machine().mutex);
  put(at(stream), [work = exec->work, objects = exec->objects] {
    for (const auto& piece : work) piece();
  });
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(machine().mutex);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy, unsigned references,
                                 unsigned flags) {
  if (references != 1 || flags != cudaUserObjectNoDestructorSync) return cudaErrorInvalidValue;
  *object = new CUuserObject_st{std::shared_ptr<void>(data, destroy)};
  return cudaSuccess;
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references, unsigned flags) {
  const std::lock_guard lock(machine().mutex);
  if (graph == nullptr || references != 1 || flags != cudaGraphUserObjectMove) return cudaErrorInvalidValue;
  graph->objects.push_back(std::move(object->data));
  delete object;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const std::lock_guard lock(machine().mutex);
  delete exec;
  return cudaSuccess;
}
