// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Some ranks of a wider channel, as a world of their own: what split gives where the engine cannot split itself, which
// is so for those that hosts lend.
#pragma once

#include <memory>
#include <vector>

#include "comm/engine.h"

namespace gradstep {

/// Rank i of the group is rank members[i] of `channel`, which has point to point and whose own rank is a member. The
/// group keeps the channel; its other ranks need not. It has no dup, so what is made of it shares its channel.
std::shared_ptr<Engine> make_split_engine(std::shared_ptr<Engine> channel, std::vector<std::int32_t> members);

}  // namespace gradstep
