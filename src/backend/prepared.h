// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend makes of a list and keeps with it: addresses on the device, scratch, work lists in its own form.
#pragma once

#include <memory>

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
  template <class Form>
  Form& get() const {
    if (form_ == nullptr) form_ = std::make_shared<Form>();
    return *static_cast<Form*>(form_.get());
  }
  void forget() { form_.reset(); }

 private:
  mutable std::shared_ptr<void> form_;
};

}  // namespace gradstep
