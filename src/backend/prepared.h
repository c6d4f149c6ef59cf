// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend makes of a list and keeps with it: addresses on the device, scratch, work lists in its own form.
#pragma once

#include <cstddef>
#include <memory>

#include "core/held_bytes.h"

namespace gradstep {

/// Empty in a copy of what it belongs to. A change of the list forgets it.
class Prepared {
 public:
  Prepared() = default;
  Prepared(const Prepared& /*other*/) {}
  Prepared& operator=(const Prepared& other) {
    if (this != &other) form_.reset();
    return *this;
  }
  Prepared(Prepared&&) = default;
  Prepared& operator=(Prepared&&) = default;
  ~Prepared() = default;

  /// The form of the one backend that uses this, which is made at first.
  template <SaysBytes Form>
  Form& get() const {
    if (form_ == nullptr) {
      form_ = std::make_shared<Form>();
      bytes_ = bytes_of<Form>;
    }
    return *static_cast<Form*>(form_.get());
  }
  std::size_t bytes() const { return form_ != nullptr ? bytes_(form_.get()) : 0; }
  void forget() { form_.reset(); }

 private:
  template <class Form>
  static std::size_t bytes_of(const void* form) {
    return sizeof(Form) + held_bytes(*static_cast<const Form*>(form));
  }

  mutable std::shared_ptr<void> form_;
  mutable std::size_t (*bytes_)(const void* form) = nullptr;
};

}  // namespace gradstep
