// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/primary_context.h"

#include <map>
#include <mutex>

#include "libraries/driver.h"

namespace gradstep::cuda {

namespace {

/// By device.
struct Contexts {
  std::mutex mutex;
  std::map<int, CUctx_st*> retained;

  // Leaked: threads of gradstep's own may outlive static destructors.
  static Contexts& instance() {
    static auto* all = new Contexts;
    return *all;
  }
};

CUctx_st* primary_context(int device) {
  Contexts& all = Contexts::instance();
  const std::lock_guard lock(all.mutex);
  CUctx_st*& context = all.retained[device];
  if (context != nullptr) return context;
  const DriverFunctions& driver = driver_functions();
  int number = 0;
  check_driver(driver.get_device(&number, device), "cuDeviceGet");
  check_driver(driver.retain_primary_context(&context, number), "cuDevicePrimaryCtxRetain");
  return context;
}

}  // namespace

void push_primary_context(int device) {
  check_driver(driver_functions().push_context(primary_context(device)), "cuCtxPushCurrent");
}

void pop_primary_context() noexcept {
  CUctx_st* popped = nullptr;
  driver_functions().pop_context(&popped);
}

}  // namespace gradstep::cuda
