// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// RAII for references to Python objects and for holding the interpreter lock.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <string>
#include <utility>
#include <vector>

namespace gradstep_python {

/// Stops this thread for good, if Python has started it; else returns.
void stop_thread_of_python();

/// body(), which may wait for the interpreter lock. When the interpreter has begun to end, CPython before 3.14 ends a
/// daemon thread that asks for the lock by unwinding its stack: through destructors, which would touch objects without
/// the lock, and through `noexcept` and catch (...), which end the process. Such a thread stops here instead, as it
/// does from 3.14 on. A thread of gradstep's own is not stopped, for gradstep waits for it at exit.
template <class Body>
auto stopping_at_exit(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    stop_thread_of_python();
    throw;
  }
}

/// An owned reference, or nothing. Used only while the interpreter lock is held.
class ObjectRef {
 public:
  ObjectRef() = default;
  /// Takes over a new reference.
  explicit ObjectRef(PyObject* object) : object_(object) {}
  ObjectRef(ObjectRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ObjectRef& operator=(ObjectRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ObjectRef(const ObjectRef&) = delete;
  ObjectRef& operator=(const ObjectRef&) = delete;
  ~ObjectRef() { Py_XDECREF(object_); }

  static ObjectRef borrow(PyObject* object) {
    Py_XINCREF(object);
    return ObjectRef(object);
  }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Holds the interpreter lock on whatever thread it is constructed.
class GilLock {
 public:
  GilLock();
  GilLock(const GilLock&) = delete;
  GilLock& operator=(const GilLock&) = delete;
  ~GilLock();

 private:
  bool is_first_;  // the thread is none of Python's
  PyGILState_STATE state_;
};

/// Gives the interpreter lock away for as long as it lives.
class GilRelease {
 public:
  GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    stopping_at_exit([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// callable(...), with arguments as Py_BuildValue makes them. Empty with a Python error.
template <class... Arguments>
ObjectRef call(PyObject* callable, const char* format, Arguments... arguments) {
  return ObjectRef(stopping_at_exit([&] { return PyObject_CallFunction(callable, format, arguments...); }));
}

/// object.method(...), in the same way.
template <class... Arguments>
ObjectRef call_method(PyObject* object, const char* method, const char* format, Arguments... arguments) {
  return ObjectRef(stopping_at_exit([&] { return PyObject_CallMethod(object, method, format, arguments...); }));
}

/// str(object) as UTF-8; "?" if that fails. Leaves no Python error behind.
std::string text_of(PyObject* object);

/// The name of the object's type, for messages.
std::string type_name_of(PyObject* object);

/// object.name, or an empty reference without a Python error if there is no such attribute.
ObjectRef optional_attribute(PyObject* object, const char* name);

/// Appends the numbers of a sequence, each read by `convert` (PyLong_AsLongLong, PyFloat_AsDouble), or nothing for
/// None. False with a Python error.
template <class Number, class Convert>
bool read_numbers(PyObject* sequence, const Convert& convert, std::vector<Number>* out) {
  if (sequence == Py_None) return true;
  const ObjectRef iterator(PyObject_GetIter(sequence));
  if (!iterator) return false;
  while (const auto item = ObjectRef(PyIter_Next(iterator.get()))) {
    out->push_back(convert(item.get()));
    if (PyErr_Occurred() != nullptr) return false;
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace gradstep_python
