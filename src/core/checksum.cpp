// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/checksum.h"

// Everything inside this file: the library needs no libxxhash.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gradstep {

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh3); }
Checksum::~Checksum() = default;

void Checksum::add(const void* data, std::size_t size) { XXH3_64bits_update(&state_->xxh3, data, size); }

std::uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->xxh3); }

}  // namespace gradstep
