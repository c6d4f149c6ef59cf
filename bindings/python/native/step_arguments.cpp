// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "step_arguments.h"

#include "errors.h"

namespace gradstep_python {

namespace {

/// *field = the array's tensor; None leaves it NULL.
template <class Tensor>
bool convert_optional(PyObject* array, const char* name, Access access, TensorArgument& argument, Tensor** field) {
  if (array == Py_None) return true;
  if (!argument.convert(array, name, access)) return false;
  *field = argument.tensor();
  return true;
}

}  // namespace

bool StepArguments::convert(PyObject* tuple) {
  if (tuple == Py_None) return true;
  given_ = true;
  if (!check_status(gradstep_step_options_init(&options_, sizeof options_))) return false;
  int skip_nonfinite = 0;
  int disjoint = 0;
  int wants_result = 0;
  PyObject* grad_norm = nullptr;
  PyObject* found_inf = nullptr;
  PyObject* grad_scale_tensor = nullptr;
  PyObject* outcome = nullptr;
  if (PyArg_ParseTuple(tuple, "dddpppOOOO", &options_.grad_scale, &options_.max_norm, &options_.clip_value,
                       &skip_nonfinite, &disjoint, &wants_result, &grad_norm, &found_inf, &grad_scale_tensor,
                       &outcome) == 0) {
    return false;
  }
  options_.skip_nonfinite = skip_nonfinite;
  options_.disjoint = disjoint;
  result_.struct_size = sizeof result_;
  if (wants_result != 0) options_.result = &result_;
  return convert_optional(grad_norm, "grad_norm", Access::read, grad_norm_, &options_.grad_norm) &&
         convert_optional(found_inf, "found_inf", Access::write, found_inf_, &options_.found_inf) &&
         convert_optional(grad_scale_tensor, "grad_scale_tensor", Access::read, grad_scale_tensor_,
                          &options_.grad_scale_tensor) &&
         convert_optional(outcome, "outcome", Access::write, outcome_, &options_.outcome);
}

PyObject* StepArguments::result() const {
  if (options_.result == nullptr) return ObjectRef::borrow(Py_None).release();
  const ObjectRef applied(PyBool_FromLong(result_.applied));
  return Py_BuildValue("(Odd)", applied.get(), result_.grad_norm, result_.clip_coefficient);
}

}  // namespace gradstep_python
