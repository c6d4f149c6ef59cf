// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/store.h"

#include <algorithm>

#include "backend/context.h"
#include "comm/callbacks.h"
#include "core/options.h"

namespace gradstep {

namespace {

class HostStore final : public Store {
 public:
  explicit HostStore(const gradstep_store& store) : store_(read_struct("options.store", &store)) {
    if (store_.set == nullptr || store_.get == nullptr) {
      fail_argument("options.store.{}: is NULL", store_.set == nullptr ? "set" : "get");
    }
  }

  void set(const std::string& key, const void* data, std::size_t length) override {
    set_last_error("");
    check("set", key, store_.set(store_.user, key.c_str(), data, length));
  }

  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    set_last_error("");
    const gradstep_status status =
        store_.get(store_.user, key.c_str(), data, &length, std::max<std::int64_t>(1, deadline.remaining_ms()));
    if (status == GRADSTEP_ERR_TIMEOUT) return false;
    check("get", key, status);
    return true;
  }

 private:
  static void check(const char* function, const std::string& key, gradstep_status status) {
    if (status == GRADSTEP_OK) return;
    fail(GRADSTEP_ERR_CALLBACK, "options.store.{}('{}') returned {}: {}", function, key, status_name(status),
         std::string(last_error()));
  }

  gradstep_store store_;
};

}  // namespace

std::unique_ptr<Store> wrap_host_store(const gradstep_store& store) { return std::make_unique<HostStore>(store); }

StoreLoan::StoreLoan(Store& store, std::string prefix, const Context& context)
    : store_(store), prefix_(std::move(prefix)), context_(context) {
  loan_.struct_size = sizeof loan_;
  loan_.user = this;
  loan_.set = &StoreLoan::set_key;
  loan_.get = &StoreLoan::get_key;
}

gradstep_status StoreLoan::set_key(void* user, const char* key, const void* data, std::size_t length) {
  const StoreLoan& loan = *static_cast<const StoreLoan*>(user);
  return as_callback([&] { loan.store_.set(loan.prefix_ + key, data, length); });
}

gradstep_status StoreLoan::get_key(void* user, const char* key, void* data, std::size_t* length,
                                   std::int64_t timeout_ms) {
  const StoreLoan& loan = *static_cast<const StoreLoan*>(user);
  return as_callback([&] {
    const std::string full_key = loan.prefix_ + key;
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    const std::size_t capacity = *length;
    do {
      *length = capacity;
      const auto slice = std::min<std::int64_t>(deadline.remaining_ms(), kInterruptPoll.count());
      if (loan.store_.get(full_key, data, *length, Deadline::after_ms(slice))) return;
      if (loan.context_.interrupted()) fail(GRADSTEP_ERR_ABORTED, "the host interrupted the call");
    } while (!deadline.passed());
    fail(GRADSTEP_ERR_TIMEOUT, "the key '{}' did not appear until the deadline", full_key);
  });
}

}  // namespace gradstep
