// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How arguments of the C API look in Python. Typemaps go by the names of arguments, which the headers keep consistent.
%{
#include "array_results.h"
#include "callbacks.h"
#include "errors.h"
#include "file_stream.h"
#include "host_communicator.h"
#include "option_arguments.h"
#include "rendezvous.h"
#include "step_arguments.h"
#include "tensor_arguments.h"
#include "text_arguments.h"

using gradstep_python::Access;
%}

// Lists of arrays, whose common length is n. One object serves all lists of a call: `_global_` names are shared.
%define %tensor_list(NAME, ACCESS)
%typemap(in) const gradstep_tensor* NAME (gradstep_python::TensorArguments _global_tensors) {
  if (!_global_tensors.add($input, "$1_name", ACCESS, &$1)) SWIG_fail;
}
%enddef
%tensor_list(params, Access::write_without_updates)
%tensor_list(grads, Access::read)
%tensor_list(updates, Access::write)
%tensor_list(results, Access::write)
%tensor_list(tensors, Access::write)
%typemap(in, numinputs=0) size_t n (gradstep_python::TensorArguments _global_tensors) ""
%typemap(check) size_t n {
  if (!_global_tensors.finish(&$1)) SWIG_fail;
}
// Where another typemap takes n.
%typemap(check) (const gradstep_parameter* parameters, size_t n) ""
%typemap(check) (gradstep_tensor* tensors_out, size_t n) ""

%define %tensor_argument(NAME, ACCESS)
%typemap(in) const gradstep_tensor* NAME (gradstep_python::TensorArgument array) {
  if (!array.convert($input, "$1_name", ACCESS)) SWIG_fail;
  $1 = array.tensor();
}
%enddef
%tensor_argument(tensor, Access::write)
%tensor_argument(source, Access::read)
%tensor_argument(value, Access::read)
%tensor_argument(input, Access::read)
%tensor_argument(output, Access::write)
%tensor_argument(grad, Access::read)

%typemap(in) (const gradstep_parameter* parameters, size_t n) (gradstep_python::SchemaArguments schema) {
  if (!schema.convert($input)) SWIG_fail;
  $1 = schema.parameters();
  $2 = schema.size();
}

%typemap(in) (const gradstep_rows* rows, size_t n_rows) (gradstep_python::RowsArguments row_list) {
  if (!row_list.convert($input)) SWIG_fail;
  $1 = row_list.data();
  $2 = row_list.size();
}

%typemap(in) (const gradstep_option* options, size_t option_count) (gradstep_python::OptionArguments named) {
  if (!named.convert($input)) SWIG_fail;
  $1 = const_cast<gradstep_option*>(named.data());
  $2 = named.size();
}

%typemap(in) (const gradstep_group_rule* groups, size_t group_count) (gradstep_python::GroupArguments by_group) {
  if (!by_group.convert($input)) SWIG_fail;
  $1 = const_cast<gradstep_group_rule*>(by_group.data());
  $2 = by_group.size();
}

// Names, and paths.
%typemap(in) const char* (gradstep_python::TextArgument given) {
  if (!given.convert($input, "$1_name")) SWIG_fail;
  $1 = const_cast<char*>(given.get());
}
%typemap(freearg) const char* ""
%define %path_argument(NAME, LABEL)
%typemap(in) const char* NAME (gradstep_python::TextArgument given) {
  if (!given.convert_path($input, LABEL)) SWIG_fail;
  $1 = const_cast<char*>(given.get());
}
%enddef
%path_argument(lapack_library, "lapack_library")
%path_argument(path, "path")
%path_argument(store_path, "store")

%typemap(in) const int64_t* counts (std::vector<int64_t> numbers) {
  if (!gradstep_python::read_numbers($input, PyLong_AsLongLong, &numbers)) SWIG_fail;
  $1 = numbers.data();
}

// Step options in, step result out: tuples, see gradstep_python::StepArguments.
%typemap(in) const gradstep_step_options* options (gradstep_python::StepArguments step) {
  if (!step.convert($input)) SWIG_fail;
  $1 = step.options();
}
%typemap(argout) const gradstep_step_options* options {
  $result = gradstep_python::append_result($result, step$argnum.result());
}

%typemap(in) const gradstep_stream* stream (gradstep_python::FileStream file) {
  $1 = const_cast<gradstep_stream*>(file.over($input));
}

%typemap(in) void* stream {
  $1 = $input == Py_None ? nullptr : PyLong_AsVoidPtr($input);
  if (PyErr_Occurred()) SWIG_fail;
}

// References that the call will release are taken when no argument can fail any more.
%typemap(check) const gradstep_schedule* schedule {
  gradstep_python::keep_callables($1);
}
%typemap(check) const gradstep_context_options* options {
  gradstep_python::keep_callables($1);
}
%typemap(check) const gradstep_accumulator_options* options {
  if ($1 != nullptr) gradstep_python::keep_callables($1->schedule);
}

// Results.
%define %output(TYPE, NAME, CONVERT)
%typemap(in, numinputs=0) TYPE* NAME (TYPE value = 0) {
  $1 = &value;
}
%typemap(argout) TYPE* NAME {
  $result = gradstep_python::append_result($result, CONVERT(*$1));
}
%enddef
%output(int32_t, all_yes, PyBool_FromLong)
%output(int32_t, applied_out, PyBool_FromLong)
%output(int32_t, done, PyBool_FromLong)
%output(int32_t, ready_out, PyBool_FromLong)
%output(int32_t, count, PyLong_FromLong)
%output(int32_t, local_rank, PyLong_FromLong)
%output(int32_t, rank, PyLong_FromLong)
%output(int32_t, world_size, PyLong_FromLong)
%output(gradstep_status, status, PyLong_FromLong)
%output(int64_t, bytes, PyLong_FromLongLong)
%output(int64_t, count, PyLong_FromLongLong)
%output(int64_t, skipped, PyLong_FromLongLong)
%output(size_t, count, PyLong_FromSize_t)
%output(double, value, PyFloat_FromDouble)
%output(double, weight, PyFloat_FromDouble)

%typemap(in, numinputs=0) const char** name (const char* found = nullptr) {
  $1 = const_cast<char**>(&found);
}
%typemap(argout) const char** name {
  $result = gradstep_python::append_result($result, PyUnicode_FromString(*$1));
}

%define %handle(TYPE)
%typemap(in, numinputs=0) TYPE** out (TYPE* handle = nullptr) {
  $1 = &handle;
}
%typemap(argout) TYPE** out {
  $result = gradstep_python::append_result(
      $result, *$1 != nullptr ? SWIG_NewPointerObj(*$1, $*1_descriptor, 0) : SWIG_Py_Void());
}
%enddef
%handle(gradstep_accumulator)
%handle(gradstep_comm)
%handle(gradstep_context)
%handle(gradstep_optimizer)
%handle(gradstep_reducer)
%handle(gradstep_updater)

%typemap(in) (int32_t world_size, gradstep_comm** out) (std::vector<gradstep_comm*> handles) {
  $1 = static_cast<int32_t>(PyLong_AsLong($input));
  if (PyErr_Occurred()) SWIG_fail;
  handles.resize($1 > 0 ? static_cast<std::size_t>($1) : 1);
  $2 = handles.data();
}
%typemap(argout) (int32_t world_size, gradstep_comm** out) {
  PyObject* list = PyList_New(0);
  for (gradstep_comm* handle : handles$argnum) {
    const gradstep_python::ObjectRef item(SWIG_NewPointerObj(handle, $*2_descriptor, 0));
    if (list == nullptr || PyList_Append(list, item.get()) != 0) SWIG_fail;
  }
  $result = gradstep_python::append_result($result, list);
}

// Views: the number of tensors in, a list of what gradstep._arrays makes arrays of out.
%typemap(in) (gradstep_tensor* tensors_out, size_t n) (std::vector<gradstep_tensor> views) {
  $2 = PyLong_AsSize_t($input);
  if (PyErr_Occurred()) SWIG_fail;
  views.resize($2);
  $1 = views.data();
}
%typemap(argout) (gradstep_tensor* tensors_out, size_t n) {
  $result = gradstep_python::append_result($result, gradstep_python::describe_views(views$argnum));
}
%typemap(in, numinputs=0) gradstep_tensor* tensor_out (gradstep_tensor view = {}) {
  $1 = &view;
}
%typemap(argout) gradstep_tensor* tensor_out {
  $result = gradstep_python::append_result($result, gradstep_python::describe_view(*$1));
}

// Texts and bytes: the capacity in, the length and the text (None for capacity 0) out.
%define %text_result(POINTER, CONVERT)
%typemap(in) (POINTER buf, size_t cap, size_t* len) (std::vector<char> text, size_t needed = 0) {
  $2 = PyLong_AsSize_t($input);
  if (PyErr_Occurred()) SWIG_fail;
  text.resize($2);
  $1 = $2 > 0 ? text.data() : nullptr;
  $3 = &needed;
}
%typemap(argout) (POINTER buf, size_t cap, size_t* len) {
  $result = gradstep_python::append_result($result, PyLong_FromSize_t(needed$argnum));
  $result = gradstep_python::append_result($result, $1 != nullptr ? CONVERT : SWIG_Py_Void());
}
%enddef
%text_result(char*, PyUnicode_FromString(text$argnum.data()))
%text_result(void*, PyBytes_FromStringAndSize(text$argnum.data(), static_cast<Py_ssize_t>(needed$argnum)))

// Arrays of records: the capacity in, the records and their number out.
%define %records(TYPE)
%typemap(in) (TYPE* records, size_t record_size, size_t capacity, size_t* count)
    (std::vector<TYPE> records, size_t available = 0) {
  $3 = PyLong_AsSize_t($input);
  if (PyErr_Occurred()) SWIG_fail;
  records.resize($3);
  for (TYPE& record : records) record.struct_size = sizeof(TYPE);
  $1 = $3 > 0 ? records.data() : nullptr;
  $2 = sizeof(TYPE);
  $4 = &available;
}
%typemap(argout) (TYPE* records, size_t record_size, size_t capacity, size_t* count) {
  PyObject* list = PyList_New(0);
  for (const TYPE& record : records$argnum) {
    const gradstep_python::ObjectRef item(SWIG_NewPointerObj(new TYPE(record), $1_descriptor, SWIG_POINTER_OWN));
    if (list == nullptr || PyList_Append(list, item.get()) != 0) SWIG_fail;
  }
  $result = gradstep_python::append_result($result, list);
  $result = gradstep_python::append_result($result, PyLong_FromSize_t(available$argnum));
}
%enddef
%records(gradstep_bucket_statistics)
%records(gradstep_cost)
%records(gradstep_metric)
%records(gradstep_rule_option)

// These rules are made by their names.
%rename("$ignore", regextarget=1) "^gradstep_optimizer_create_(sgd|rmsprop|adagrad|adam)$";
%rename("$ignore", regextarget=1) "^gradstep_(sgd|rmsprop|adagrad|adam)_state_bytes$";

// Lists of Python objects take their place.
%rename("$ignore", regextarget=1) "^gradstep_(tensor|parameter)_list_";

// Declared again in python_adapters.i, with arguments that Python objects fit.
%ignore gradstep_comm_attach_nccl;
%ignore gradstep_comm_create;
%ignore gradstep_rendezvous_pending;
%ignore gradstep_comm_create_host;
%ignore gradstep_comm_create_host_ex;
%ignore gradstep_comm_create_local;
%ignore gradstep_comm_create_local_ex;
%ignore gradstep_comm_send;
%ignore gradstep_comm_unique_id;
%ignore gradstep_comm_wrap_mpi;
%ignore gradstep_comm_wrap_mpi_ex;
%ignore gradstep_optimizer_set_state;
%ignore gradstep_optimizer_set_tensor;
