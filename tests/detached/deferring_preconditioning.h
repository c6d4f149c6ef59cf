// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's part of a DeferringBackend.
#pragma once

#include <functional>
#include <memory>

#include "backend/preconditioning.h"

namespace gradstep::test {

using PutInto = std::function<void(Queue& queue, std::function<void()> work)>;

std::unique_ptr<Preconditioning> defer(std::unique_ptr<Preconditioning> inner, PutInto put_into);

}  // namespace gradstep::test
