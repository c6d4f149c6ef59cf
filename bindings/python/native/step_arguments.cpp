// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "step_arguments.h"

#include "errors.h"

namespace gradstep_python {

bool StepArguments::convert(PyObject* tuple) {
  if (tuple == Py_None) return true;
  given_ = true;
  if (!check_status(gradstep_step_options_init(&options_, sizeof options_))) return false;
  PyObject* grad_norm = nullptr;
  PyObject* found_inf = nullptr;
  int skip_nonfinite = 0;
  if (PyArg_ParseTuple(tuple, "dddpOO", &options_.grad_scale, &options_.max_norm, &options_.clip_value, &skip_nonfinite,
                       &grad_norm, &found_inf) == 0) {
    return false;
  }
  options_.skip_nonfinite = skip_nonfinite;
  if (grad_norm != Py_None) {
    if (!grad_norm_.convert(grad_norm, "grad_norm", Access::read)) return false;
    options_.grad_norm = grad_norm_.tensor();
  }
  if (found_inf != Py_None) {
    if (!found_inf_.convert(found_inf, "found_inf", Access::write)) return false;
    options_.found_inf = found_inf_.tensor();
  }
  result_.struct_size = sizeof result_;
  options_.result = &result_;
  return true;
}

PyObject* StepArguments::result() const {
  if (!given_) return ObjectRef::borrow(Py_None).release();
  const ObjectRef applied(PyBool_FromLong(result_.applied));
  return Py_BuildValue("(Odd)", applied.get(), result_.grad_norm, result_.clip_coefficient);
}

}  // namespace gradstep_python
