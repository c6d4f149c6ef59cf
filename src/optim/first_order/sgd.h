// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gradstep/optimizer.h"
#include "optim/first_order/update_rule.h"

namespace gradstep {

/// Throws for options out of range; hyper-parameters' ranges are checked where they are used.
std::unique_ptr<UpdateRule> make_sgd(const gradstep_sgd_options& options);

gradstep_sgd_options default_sgd_options();

}  // namespace gradstep
