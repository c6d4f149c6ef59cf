// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Debian 12's libgloo-dev lacks this header, which others of its headers include. What they need of it are two types
// that hold one smart pointer each; their functions are libgloo's own.
#pragma once

#include <memory>

namespace gloo {

template <class T>
class NonOwningPtr final {
  std::shared_ptr<T> ptr_;
};

template <class T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
};

}  // namespace gloo
