// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options of a rule by name, for one call: a list of tuples (name, number, text or None). Rules by group: a list of
// tuples (name, such a list).
#pragma once

#include <deque>
#include <vector>

#include "gradstep/rule.h"
#include "python_object.h"
#include "text_arguments.h"

namespace gradstep_python {

class OptionArguments {
 public:
  /// False with a Python error.
  bool convert(PyObject* list);
  const gradstep_option* data() const { return options_.data(); }
  std::size_t size() const { return options_.size(); }

 private:
  std::vector<gradstep_option> options_;
  std::deque<TextArgument> texts_;  // what options_ points at
};

class GroupArguments {
 public:
  /// False with a Python error.
  bool convert(PyObject* list);
  const gradstep_group_rule* data() const { return groups_.data(); }
  std::size_t size() const { return groups_.size(); }

 private:
  std::vector<gradstep_group_rule> groups_;
  std::deque<TextArgument> names_;  // what groups_ points at, as does
  std::deque<OptionArguments> options_;
};

}  // namespace gradstep_python
