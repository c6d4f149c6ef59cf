// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// gradstep_step_options from a tuple (grad_scale, max_norm, clip_value, skip_nonfinite, disjoint, wants_result,
// grad_norm, found_inf, grad_scale_tensor, outcome), where the last four are arrays or None; and the step's result as a
// tuple (applied, grad_norm, clip_coefficient).
#pragma once

#include "gradstep/optimizer.h"
#include "tensor_arguments.h"

namespace gradstep_python {

class StepArguments {
 public:
  /// None leaves the options out.
  bool convert(PyObject* tuple);
  gradstep_step_options* options() { return given_ ? &options_ : nullptr; }
  /// A new reference; None if no result was wanted.
  PyObject* result() const;

 private:
  bool given_ = false;
  gradstep_step_options options_{};
  gradstep_step_result result_{};
  TensorArgument grad_norm_;
  TensorArgument found_inf_;
  TensorArgument grad_scale_tensor_;
  TensorArgument outcome_;
};

}  // namespace gradstep_python
