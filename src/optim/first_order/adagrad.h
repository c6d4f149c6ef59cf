// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gradstep/optimizer.h"
#include "optim/first_order/update_rule.h"

namespace gradstep {

/// Throws for options out of range; hyper-parameters' ranges are checked where they are used.
std::unique_ptr<UpdateRule> make_adagrad(const gradstep_adagrad_options& options);

gradstep_adagrad_options default_adagrad_options();

}  // namespace gradstep
