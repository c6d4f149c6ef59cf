// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "programs/programs.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "device/measure_sums.h"
#include "libraries/driver.h"
#include "runtime/device.h"

namespace gradstep::cuda {

/// A program in whose kernels there is room for any.
struct AnyProgram {
  static constexpr bool kIsProgram = true;
  static constexpr int kSums = rules::kMaxSums;
};

namespace {

/// Leaked, as other things of the process are: threads of gradstep's own may outlive static destructors.
struct Programs {
  std::mutex mutex;
  std::map<std::tuple<int, int, std::string>, std::string> images;  // by compute capability and source
  std::map<std::pair<int, std::string>, CUfunc_st*> functions;      // by device and source
  std::map<std::tuple<int, bool, ProgramKernel, std::uint64_t>, CUfunc_st*> known;

  static Programs& instance() {
    static auto* all = new Programs;
    return *all;
  }
};

CUfunc_st* load(const std::string& image, int device) {
  const BesideCapture beside(device);  // it loads code
  const OnPrimaryContext current(device);
  const DriverFunctions& driver = driver_functions();
  CUmod_st* module = nullptr;
  check_driver(driver.load_module(&module, image.data()), "cuModuleLoadData");
  CUfunc_st* function = nullptr;
  check_driver(driver.find_kernel(&function, module, "gradstep_program"), "cuModuleGetFunction");
  return function;
}

/// A kernel object is its arguments.
template <class Kernel, class Arguments>
void launch(CUfunc_st* function, Arguments arguments, std::int64_t blocks, const CudaQueue& queue) {
  static_assert(sizeof(Kernel) == sizeof(Arguments));
  static_assert(shared_bytes<Kernel>() <= 48 * 1024, "more needs an attribute of the function");
  if (blocks == 0) return;
  const OnPrimaryContext current(queue.device());
  void* parameters[] = {&arguments};
  check_driver(driver_functions().launch(function, static_cast<unsigned>(blocks), 1, 1, Kernel::kThreads, 1, 1,
                                         shared_bytes<Kernel>(), queue.stream(), parameters, nullptr),
               "cuLaunchKernel");
}

}  // namespace

CUfunc_st* compiled_program(const rules::text::Code& code, bool is_double, ProgramKernel kernel, int device) {
  Programs& all = Programs::instance();
  const std::lock_guard lock(all.mutex);
  CUfunc_st*& known = all.known[{device, is_double, kernel, code.id}];
  if (known != nullptr) return known;
  const std::string source = program_source(code, is_double, kernel);
  CUfunc_st*& function = all.functions[{device, source}];
  if (function == nullptr) {
    const int major = attribute_of(device, cudaDevAttrComputeCapabilityMajor);
    const int minor = attribute_of(device, cudaDevAttrComputeCapabilityMinor);
    std::string& image = all.images[{major, minor, source}];
    if (image.empty()) image = compile_program(source, major, minor);
    function = load(image, device);
  }
  return known = function;
}

void launch_update(const rules::text::Code& code, bool is_double, bool is_plain, const UpdateArguments& arguments,
                   std::int64_t blocks, const CudaQueue& queue) {
  const ProgramKernel kernel = is_plain ? ProgramKernel::plain : ProgramKernel::staged;
  launch<Update<float, AnyProgram, PlainWay>>(compiled_program(code, is_double, kernel, queue.device()), arguments,
                                              blocks, queue);
}

void launch_measure(const rules::text::Code& code, bool is_double, const MeasureArguments& arguments,
                    const CudaQueue& queue) {
  CUfunc_st* const function = compiled_program(code, is_double, ProgramKernel::measure, queue.device());
  if (is_double) {
    launch<MeasureSums<double, AnyProgram>>(function, arguments, arguments.count, queue);
  } else {
    launch<MeasureSums<float, AnyProgram>>(function, arguments, arguments.count, queue);
  }
}

}  // namespace gradstep::cuda
