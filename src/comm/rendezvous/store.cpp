// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/store.h"

#include <algorithm>

#include "core/error.h"
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

}  // namespace gradstep
