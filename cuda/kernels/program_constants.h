// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The constants of programs, on the device.
#pragma once

#include <algorithm>
#include <vector>

#include "rules/text/code.h"
#include "runtime/table.h"

namespace gradstep::cuda {

template <>
inline constexpr bool kHasNoPadding<rules::text::Constant> =
    sizeof(rules::text::Constant) == sizeof(double) + 4 * sizeof(std::int16_t) + 8;

struct DeviceProgram {
  const rules::text::Constant* constants = nullptr;  ///< NULL = no program
  std::int32_t count = 0;
  // Places of hyper-parameters; -1 = there is none.
  std::int32_t learning_rate = -1;
  std::int32_t weight_decay = -1;
  std::int32_t unused = 0;
};

/// A table of the constants of a list's programs, sent.
class ProgramConstants {
 public:
  /// Items have a `program`, or are pointers to one; NULL = none.
  template <class Items>
  ProgramConstants(Table& table, const Items& items, CudaQueue& queue) : table_(table) {
    table.begin(queue);
    for (const auto& item : items) add(program_of(item));
    table.send();
  }

  DeviceProgram of(const rules::text::Code* program) const {
    if (program == nullptr) return {};
    const auto own = std::find(programs_.begin(), programs_.end(), program);
    return {table_.at(sections_[static_cast<std::size_t>(own - programs_.begin())]), program->constant_count,
            program->learning_rate, program->weight_decay};
  }

 private:
  static const rules::text::Code* program_of(const rules::text::Code* program) { return program; }
  template <class Item>
  static const rules::text::Code* program_of(const Item& item) {
    return item.program;
  }

  void add(const rules::text::Code* program) {
    if (program == nullptr || std::find(programs_.begin(), programs_.end(), program) != programs_.end()) return;
    programs_.push_back(program);
    sections_.push_back(table_.add(program->constants, static_cast<std::size_t>(program->constant_count)));
  }

  Table& table_;
  std::vector<const rules::text::Code*> programs_;
  std::vector<Table::Section<rules::text::Constant>> sections_;
};

}  // namespace gradstep::cuda
