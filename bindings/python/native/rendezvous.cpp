// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous.h"

#include <cstring>

#include "errors.h"
#include "gradstep/rendezvous.h"

namespace gradstep_python {

namespace {

void release_store(void* user) {
  if (!Py_IsInitialized()) return;
  const GilLock lock;
  Py_DECREF(static_cast<PyObject*>(user));
}

gradstep_status store_set(void* user, const char* key, const void* data, std::size_t len) {
  const GilLock lock;
  const ObjectRef result = call_method(static_cast<PyObject*>(user), "set", "sy#", key, static_cast<const char*>(data),
                                       static_cast<Py_ssize_t>(len));
  return result ? GRADSTEP_OK : keep_peer_exception();
}

gradstep_status store_get(void* user, const char* key, void* data, std::size_t* len, std::int64_t timeout_ms) {
  const GilLock lock;
  const ObjectRef value =
      call_method(static_cast<PyObject*>(user), "get", "sd", key, static_cast<double>(timeout_ms) / 1000.0);
  Py_buffer view{};
  if (!value || PyObject_GetBuffer(value.get(), &view, PyBUF_SIMPLE) != 0) return keep_peer_exception();
  const auto size = static_cast<std::size_t>(view.len);
  const bool fits = size <= *len;
  if (fits && size > 0) std::memcpy(data, view.buf, size);
  PyBuffer_Release(&view);
  *len = size;
  return fits ? GRADSTEP_OK : GRADSTEP_ERR_INVALID_ARGUMENT;
}

/// Calls call(complete options) without the GIL.
template <class Call>
gradstep_status with_rendezvous(const gradstep_comm_options* options, const Rendezvous& rendezvous, Call call) {
  gradstep_comm_options complete = *options;
  complete.engine = rendezvous.engine;
  complete.store_path = rendezvous.store_path;
  complete.network_interface = rendezvous.network_interface;
  Py_buffer id{};
  if (rendezvous.id != Py_None) {
    if (PyObject_GetBuffer(rendezvous.id, &id, PyBUF_SIMPLE) != 0) return keep_exception();
    complete.id = id.buf;
    complete.id_len = static_cast<std::size_t>(id.len);
  }
  gradstep_store store{};
  if (rendezvous.store != Py_None) {
    Py_INCREF(rendezvous.store);
    store = {sizeof store, 0, rendezvous.store, store_set, store_get, release_store};
    complete.store = &store;
  }
  gradstep_status status = GRADSTEP_OK;
  {
    const GilRelease released;
    status = call(complete);
  }
  if (id.obj != nullptr) PyBuffer_Release(&id);
  return status;
}

}  // namespace

gradstep_status create_communicator(gradstep_context* context, const gradstep_comm_options* options,
                                    const Rendezvous& rendezvous, gradstep_comm** out) {
  return with_rendezvous(options, rendezvous, [&](const gradstep_comm_options& complete) {
    return gradstep_comm_create(context, &complete, out);
  });
}

gradstep_status count_newcomers(gradstep_comm* comm, const gradstep_comm_options* options, const Rendezvous& rendezvous,
                                int32_t* pending) {
  return with_rendezvous(options, rendezvous, [&](const gradstep_comm_options& complete) {
    return gradstep_rendezvous_pending(comm, &complete, pending);
  });
}

}  // namespace gradstep_python
