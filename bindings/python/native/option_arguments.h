// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Options of a rule by name, for one call: a list of tuples (name, number, text or None).
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

}  // namespace gradstep_python
