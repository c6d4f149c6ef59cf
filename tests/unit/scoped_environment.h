// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

namespace gradstep::test {

/// Sets an environment variable for the life of the object; a test that ran before or runs after sees what there was.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = std::make_unique<std::string>(before);
    set(value);
  }
  ~ScopedEnvironment() { set(before_ != nullptr ? before_->c_str() : nullptr); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  /// NULL: it is not set.
  void set(const char* value) const {
#if defined(_WIN32)
    _putenv_s(name_, value != nullptr ? value : "");
#else
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
#endif
  }

  const char* name_;
  std::unique_ptr<std::string> before_;
};

}  // namespace gradstep::test
