// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A callback runs on the thread that is inside gradstep, or on a thread of gradstep's own (a host communicator that
// says any_thread). Its exception is kept with its text, which travels with the status, and by which the failing call
// finds it; only the text of an interrupt does not travel, so that one is found by its thread. Everything here is
// guarded by the interpreter lock.
#include "errors.h"

#include <algorithm>
#include <string_view>
#include <thread>
#include <vector>

namespace gradstep_python {

namespace {

// Never freed: callbacks may still fail while the interpreter shuts down.
PyObject* exception_classes = nullptr;

struct KeptException {
  std::thread::id thread;
  std::string text;
  PyObject* exception;
  bool interrupt;

  bool explains(gradstep_status status, std::string_view reported) const {
    return reported.ends_with(text) ||
           (interrupt && status == GRADSTEP_ERR_ABORTED && thread == std::this_thread::get_id());
  }
};

std::vector<KeptException>& kept_exceptions() {
  static auto* kept = new std::vector<KeptException>;
  return *kept;
}

// More than these can only be left behind by communicators that are no longer asked.
constexpr std::size_t kMostKept = 64;

/// Takes the current Python exception out of the interpreter, with its traceback.
ObjectRef fetch_exception() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return ObjectRef(value);
}

void raise_object(PyObject* exception) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception); }

std::string describe(PyObject* exception) {
  const std::string text = text_of(exception);
  return text.empty() ? type_name_of(exception) : type_name_of(exception) + ": " + text;
}

void drop(std::vector<KeptException>::iterator entry) {
  PyObject* exception = entry->exception;
  kept_exceptions().erase(entry);
  Py_DECREF(exception);
}

/// Forgets an exception of this thread whose call did not fail after all.
void drop_own_exception() {
  auto& kept = kept_exceptions();
  const auto own =
      std::find_if(kept.begin(), kept.end(),
                   [id = std::this_thread::get_id()](const KeptException& entry) { return entry.thread == id; });
  if (own != kept.end()) drop(own);
}

bool raise_kept_exception(gradstep_status status, std::string_view text) {
  auto& kept = kept_exceptions();
  auto found = kept.end();
  for (auto entry = kept.begin(); entry != kept.end(); ++entry) {
    if (!entry->explains(status, text)) continue;
    found = entry;
    if (entry->thread == std::this_thread::get_id()) break;  // ranks that are threads may fail with one text
  }
  if (found == kept.end()) return false;
  raise_object(found->exception);
  drop(found);
  return true;
}

gradstep_status keep(bool interrupt) {
  ObjectRef exception = fetch_exception();
  // As it comes back from C, where text ends at a NUL.
  const std::string text = exception ? describe(exception.get()).c_str() : "a callback failed";
  if (exception) {
    drop_own_exception();
    auto& kept = kept_exceptions();
    if (kept.size() >= kMostKept) drop(kept.begin());
    kept.push_back({std::this_thread::get_id(), text, exception.release(), interrupt});
  }
  gradstep_set_last_error(text.c_str());
  return GRADSTEP_ERR_CALLBACK;
}

}  // namespace

void set_exception_classes(PyObject* by_status) {
  PyObject* old = exception_classes;
  Py_INCREF(by_status);
  exception_classes = by_status;
  Py_XDECREF(old);
}

bool raise_error(gradstep_status status, const std::string& text) {
  const ObjectRef key(PyLong_FromLong(status));
  PyObject* type =
      exception_classes != nullptr && key ? PyDict_GetItemWithError(exception_classes, key.get()) : nullptr;
  const ObjectRef message(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  if (message) PyErr_SetObject(type != nullptr ? type : PyExc_RuntimeError, message.get());
  return false;
}

bool raise_error_from_current(gradstep_status status, const std::string& text) {
  ObjectRef cause = fetch_exception();
  raise_error(status, cause ? text + ": " + describe(cause.get()) : text);
  const ObjectRef raised = fetch_exception();
  if (!raised) return false;
  if (cause) PyException_SetCause(raised.get(), cause.release());
  raise_object(raised.get());
  return false;
}

bool check_status(gradstep_status status) {
  const bool kept = !kept_exceptions().empty();
  if (status == GRADSTEP_OK) {
    if (kept) drop_own_exception();
    return true;
  }
  const std::string text = gradstep_last_error();
  if (kept && raise_kept_exception(status, text)) return false;
  return raise_error(status, text);
}

gradstep_status keep_peer_exception() {
  const ObjectRef exception = fetch_exception();
  gradstep_status status = GRADSTEP_ERR_CALLBACK;
  if (exception) {
    const ObjectRef own = optional_attribute(exception.get(), "status");
    if (own && PyLong_Check(own.get())) {
      status = static_cast<gradstep_status>(PyLong_AsLong(own.get()));
    } else if (PyErr_GivenExceptionMatches(exception.get(), PyExc_TimeoutError) != 0) {
      status = GRADSTEP_ERR_TIMEOUT;
    } else if (PyErr_GivenExceptionMatches(exception.get(), PyExc_ConnectionError) != 0) {
      status = GRADSTEP_ERR_PEER_LOST;
    }
    raise_object(exception.get());
  }
  keep_exception();
  return status < 0 ? status : GRADSTEP_ERR_CALLBACK;
}

gradstep_status keep_exception() { return keep(false); }

void keep_interrupt() { keep(true); }

}  // namespace gradstep_python
