// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives of a Python object. Buffers are lent to Python as memoryviews, which are released when the method
// returns: what Python keeps of them raises instead of dangling. Timeouts are seconds there and milliseconds here.
#include "host_communicator.h"

#include <cstring>
#include <memory>
#include <vector>

#include "errors.h"
#include "lent_view.h"

namespace gradstep_python {

namespace {

const char* format_of(std::int32_t type_code, std::int32_t bits) {
  if (type_code == GRADSTEP_TYPE_FLOAT) return bits == 64 ? "d" : "f";
  return bits == 64 ? "q" : "i";
}

const char* name_of_op(std::int32_t op) {
  return op == GRADSTEP_REDUCE_MAX ? "max" : op == GRADSTEP_REDUCE_MIN ? "min" : "sum";
}

double seconds(std::int64_t milliseconds) { return static_cast<double>(milliseconds) / 1000.0; }

gradstep_status finish(const ObjectRef& result) { return result ? GRADSTEP_OK : keep_peer_exception(); }

/// Copies an object with the buffer protocol to `receive`; an error if it has not exactly `bytes` bytes.
bool copy_bytes(PyObject* object, void* receive, std::int64_t bytes, const char* what) {
  Py_buffer view{};
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) return false;
  const bool fits = view.len == bytes;
  if (fits && bytes > 0) std::memcpy(receive, view.buf, static_cast<std::size_t>(bytes));
  if (!fits) {
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes, expected %lld", what, view.len, static_cast<long long>(bytes));
  }
  PyBuffer_Release(&view);
  return fits;
}

struct HostCollectives {
  PyObject* object;
  std::int32_t rank;
  std::int32_t world_size;
};

PyObject* object_of(void* user) { return static_cast<HostCollectives*>(user)->object; }

gradstep_status all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void*,
                           std::int64_t timeout_ms) {
  const GilLock lock;
  const LentView data(send, bytes);
  if (!data.get()) return finish({});
  ObjectRef result = call_method(object_of(user), "all_gather", "Od", data.get(), seconds(timeout_ms));
  if (!result) return finish(result);
  const std::int32_t world_size = static_cast<HostCollectives*>(user)->world_size;
  const ObjectRef items(PySequence_Fast(result.get(), "all_gather: expected a sequence of buffers"));
  if (!items) return finish(items);
  if (PySequence_Size(items.get()) != world_size) {
    PyErr_Format(PyExc_ValueError, "all_gather: %zd buffers, expected %d", PySequence_Size(items.get()), world_size);
    return finish({});
  }
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    const ObjectRef item(PySequence_GetItem(items.get(), rank));
    if (!item || !copy_bytes(item.get(), static_cast<char*>(receive) + rank * bytes, bytes, "all_gather")) {
      return finish({});
    }
  }
  return GRADSTEP_OK;
}

gradstep_status all_reduce(void* user, void* data, std::int64_t count, std::int32_t type_code, std::int32_t bits,
                           std::int32_t op, void*, std::int64_t timeout_ms) {
  const GilLock lock;
  const LentView view(data, count * (bits / 8), format_of(type_code, bits));
  if (!view.get()) return finish({});
  return finish(call_method(object_of(user), "all_reduce", "Osd", view.get(), name_of_op(op), seconds(timeout_ms)));
}

gradstep_status reduce_scatter(void* user, const void* send, void* receive, std::int64_t count, std::int32_t type_code,
                               std::int32_t bits, std::int32_t op, void*, std::int64_t timeout_ms) {
  const GilLock lock;
  const std::int64_t bytes = count * (bits / 8);
  const char* format = format_of(type_code, bits);
  const LentView input(const_cast<void*>(send), bytes * static_cast<HostCollectives*>(user)->world_size, format);
  const LentView output(receive, bytes, format);
  if (!input.get() || !output.get()) return finish({});
  return finish(call_method(object_of(user), "reduce_scatter", "OOsd", input.get(), output.get(), name_of_op(op),
                            seconds(timeout_ms)));
}

gradstep_status broadcast(void* user, void* data, std::int64_t bytes, std::int32_t root, void*,
                          std::int64_t timeout_ms) {
  const GilLock lock;
  const LentView view(data, bytes, nullptr);
  if (!view.get()) return finish({});
  return finish(
      call_method(object_of(user), "broadcast", "Oid", view.get(), static_cast<int>(root), seconds(timeout_ms)));
}

gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void*,
                     std::int64_t timeout_ms) {
  const GilLock lock;
  const LentView view(data, bytes);
  if (!view.get()) return finish({});
  return finish(call_method(object_of(user), "send", "Oid", view.get(), static_cast<int>(to), seconds(timeout_ms)));
}

gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t timeout_ms) {
  const GilLock lock;
  const LentView view(data, bytes, nullptr);
  if (!view.get()) return finish({});
  return finish(call_method(object_of(user), "recv", "Oid", view.get(), static_cast<int>(from), seconds(timeout_ms)));
}

/// None for the caller's own place and for what has no bytes.
bool append_view(PyObject* list, const LentView* view) {
  return PyList_Append(list, view != nullptr ? view->get() : Py_None) == 0;
}

gradstep_status exchange(void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                         const std::int64_t* receive_bytes, void*, std::int64_t timeout_ms) {
  const GilLock lock;
  const auto* collectives = static_cast<HostCollectives*>(user);
  std::vector<std::unique_ptr<LentView>> views;
  const ObjectRef outgoing(PyList_New(0));
  const ObjectRef incoming(PyList_New(0));
  if (!outgoing || !incoming) return finish({});
  for (std::int32_t peer = 0; peer < collectives->world_size; ++peer) {
    LentView* out = nullptr;
    LentView* in = nullptr;
    if (peer != collectives->rank && send_bytes[peer] > 0) {
      out = views.emplace_back(std::make_unique<LentView>(send[peer], send_bytes[peer])).get();
    }
    if (peer != collectives->rank && receive_bytes[peer] > 0) {
      in = views.emplace_back(std::make_unique<LentView>(receive[peer], receive_bytes[peer], nullptr)).get();
    }
    if ((out != nullptr && !out->get()) || (in != nullptr && !in->get())) return finish({});
    if (!append_view(outgoing.get(), out) || !append_view(incoming.get(), in)) return finish({});
  }
  return finish(call_method(object_of(user), "exchange", "OOd", outgoing.get(), incoming.get(), seconds(timeout_ms)));
}

gradstep_status barrier(void* user, void*, std::int64_t timeout_ms) {
  const GilLock lock;
  return finish(call_method(object_of(user), "barrier", "d", seconds(timeout_ms)));
}

gradstep_status poll(void* user) {
  const GilLock lock;
  return finish(call_method(object_of(user), "poll", nullptr));
}

void abort_calls(void* user) {
  const GilLock lock;
  if (!call_method(object_of(user), "abort", nullptr)) PyErr_WriteUnraisable(object_of(user));
}

void release_collectives(void* user) {
  auto* collectives = static_cast<HostCollectives*>(user);
  if (Py_IsInitialized()) {
    const GilLock lock;
    Py_DECREF(collectives->object);
  }
  delete collectives;
}

bool read_int(PyObject* object, const char* name, std::int32_t* out) {
  const ObjectRef attribute(PyObject_GetAttrString(object, name));
  if (!attribute) return false;
  *out = static_cast<std::int32_t>(PyLong_AsLong(attribute.get()));
  return PyErr_Occurred() == nullptr;
}

std::int32_t read_flag(PyObject* object, const char* name) {
  const ObjectRef attribute = optional_attribute(object, name);
  return attribute && PyObject_IsTrue(attribute.get()) == 1 ? 1 : 0;
}

/// `function` if the object has a method of that name, else NULL.
template <class Function>
Function* if_offered(PyObject* object, const char* name, Function* function) {
  const ObjectRef method = optional_attribute(object, name);
  return method && PyCallable_Check(method.get()) != 0 ? function : nullptr;
}

/// What the object offers, with a user that owns a reference to it; NULL with a Python exception if it cannot be used.
std::unique_ptr<HostCollectives> lend(PyObject* collectives, gradstep_comm_vtable* table);

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
  const GilLock lock;
  const ObjectRef copy = call_method(object_of(user), "dup", "d", seconds(timeout_ms));
  if (!copy) return finish(copy);
  auto lent = lend(copy.get(), out);
  if (!lent) return finish({});
  *out_user = lent.release();
  return GRADSTEP_OK;
}

std::unique_ptr<HostCollectives> lend(PyObject* collectives, gradstep_comm_vtable* table) {
  if (!read_int(collectives, "rank", &table->rank) || !read_int(collectives, "world_size", &table->world_size)) {
    return nullptr;
  }
  table->any_thread = read_flag(collectives, "any_thread");
  table->rank_ordered = read_flag(collectives, "rank_ordered");
  table->all_gather = if_offered(collectives, "all_gather", all_gather);
  table->all_reduce = if_offered(collectives, "all_reduce", all_reduce);
  table->reduce_scatter = if_offered(collectives, "reduce_scatter", reduce_scatter);
  table->broadcast = if_offered(collectives, "broadcast", broadcast);
  table->send = if_offered(collectives, "send", send);
  table->recv = if_offered(collectives, "recv", recv);
  table->exchange = if_offered(collectives, "exchange", exchange);
  table->barrier = if_offered(collectives, "barrier", barrier);
  table->poll = if_offered(collectives, "poll", poll);
  table->dup = if_offered(collectives, "dup", dup);
  table->abort = if_offered(collectives, "abort", abort_calls);
  table->release = release_collectives;
  auto lent = std::make_unique<HostCollectives>(HostCollectives{collectives, table->rank, table->world_size});
  Py_INCREF(collectives);
  return lent;
}

}  // namespace

gradstep_status create_host_communicator(gradstep_context* context, PyObject* collectives,
                                         const gradstep_comm_options* options, gradstep_comm** out) {
  gradstep_comm_vtable table{};
  table.struct_size = sizeof table;
  std::unique_ptr<HostCollectives> lent = lend(collectives, &table);
  if (!lent) return keep_exception();
  const GilRelease released;
  return gradstep_comm_create_host_ex(context, &table, lent.release(), options, out);
}

}  // namespace gradstep_python
