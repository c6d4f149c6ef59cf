// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The calls that a run is made of: each chooses its arguments and returns what the function returned.
#pragma once

#include <cstdlib>
#include <cstring>

#include "host.h"

namespace gradstep::fuzz {

// creations.cpp
gradstep_status make_context(Host& host);
gradstep_status make_optimizer(Host& host);
gradstep_status make_accumulator(Host& host);
gradstep_status make_comm(Host& host);
gradstep_status make_reducer(Host& host);
gradstep_status make_updater(Host& host);
gradstep_status destroy_one(Host& host);

// uses.cpp
gradstep_status step(Host& host);
gradstep_status ask_optimizer(Host& host);
gradstep_status change_optimizer(Host& host);
gradstep_status use_accumulator(Host& host);
gradstep_status use_reducer(Host& host);
gradstep_status use_updater(Host& host);
gradstep_status save_or_load(Host& host);

// other_uses.cpp
gradstep_status use_comm(Host& host);
gradstep_status use_tensor_list(Host& host);
gradstep_status use_parameter_list(Host& host);
gradstep_status compute_number(Host& host);

/// Options as their init leaves them, then with a few words of any value. Bytes [skip, skip_end) are pointers.
template <class Options>
Options options_of(Host& host, gradstep_status (*init)(Options*, std::size_t), std::size_t skip = sizeof(Options),
                   std::size_t skip_end = sizeof(Options)) {
  HostileValues& values = host.values();
  Options options;
  if (init(&options, sizeof options) != GRADSTEP_OK) std::abort();
  auto* bytes = reinterpret_cast<unsigned char*>(&options);
  for (std::size_t changes = values.below(5); changes-- > 0;) {
    const std::size_t at = 4 + 4 * values.below((sizeof options - 4) / 4);
    const bool is_wide = at % 8 == 0 && at + 8 <= sizeof options && !values.once_in(3);
    const std::size_t size = is_wide ? 8 : 4;
    if (at < skip_end && at + size > skip) continue;
    if (!is_wide) {
      const std::int32_t value = values.int32();
      std::memcpy(bytes + at, &value, size);
    } else if (values.once_in(2)) {
      const std::int64_t value = values.int64();
      std::memcpy(bytes + at, &value, size);
    } else {
      const double value = values.number();
      std::memcpy(bytes + at, &value, size);
    }
  }
  options.struct_size = host.struct_size(sizeof options);
  return options;
}

}  // namespace gradstep::fuzz
