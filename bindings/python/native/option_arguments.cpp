// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "option_arguments.h"

namespace gradstep_python {

bool OptionArguments::convert(PyObject* list) {
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = nullptr;
    PyObject* text = nullptr;
    gradstep_option option{};
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OdO", &name, &option.value, &text)) return false;
    TextArgument& own_name = texts_.emplace_back();
    TextArgument& own_text = texts_.emplace_back();
    if (!own_name.convert(name, "name") || !own_text.convert(text, "text")) return false;
    option.name = own_name.get();
    option.text = own_text.get();
    options_.push_back(option);
  }
  return true;
}

bool GroupArguments::convert(PyObject* list) {
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = nullptr;
    PyObject* options = nullptr;
    if (!PyArg_ParseTuple(PyList_GetItem(list, i), "OO", &name, &options)) return false;
    TextArgument& own_name = names_.emplace_back();
    OptionArguments& own_options = options_.emplace_back();
    if (!own_name.convert(name, "rule") || !own_options.convert(options)) return false;
    groups_.push_back({own_name.get(), own_options.data(), own_options.size()});
  }
  return true;
}

}  // namespace gradstep_python
