// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What Python needs beside the header: structs with Python objects behind their pointers, communicators made of Python
// objects, and functions whose array is only read, so that it need not be writable.
%exception gradstep_python::ScheduleArguments::ScheduleArguments {
  $action
  if (!result->valid()) {
    delete result;
    SWIG_fail;
  }
}

namespace gradstep_python {
class ScheduleArguments : public gradstep_schedule {
 public:
  ScheduleArguments(PyObject* boundaries, PyObject* values, PyObject* function);
};
class ContextArguments : public gradstep_context_options {
 public:
  ContextArguments(PyObject* log, PyObject* interrupt, const char* lapack_library);
};
void set_exception_classes(PyObject* by_status);
PyObject* describe_array(PyObject* array);
PyObject* device_of_array(PyObject* array);
PyObject* export_view(PyObject* view, PyObject* owner);
PyObject* lend_array(PyObject* array, const char* name);
}  // namespace gradstep_python

%inline %{
static gradstep_status create_communicator(gradstep_context* context, const gradstep_comm_options* options,
                                           const char* engine, PyObject* id, PyObject* store, const char* store_path,
                                           const char* network_interface, gradstep_comm** out) {
  return gradstep_python::create_communicator(context, options, {engine, id, store, store_path, network_interface}, out);
}

static gradstep_status rendezvous_pending(gradstep_comm* comm, const gradstep_comm_options* options,
                                          const char* engine, PyObject* id, PyObject* store, const char* store_path,
                                          const char* network_interface, int32_t* count) {
  return gradstep_python::count_newcomers(comm, options, {engine, id, store, store_path, network_interface},
                                          count);
}

static gradstep_status create_host_communicator(gradstep_context* context, PyObject* collectives,
                                                const gradstep_comm_options* options, gradstep_comm** out) {
  return gradstep_python::create_host_communicator(context, collectives, options, out);
}

static gradstep_status wrap_mpi_communicator(gradstep_context* context, uint64_t comm_address,
                                             const gradstep_comm_options* options, gradstep_comm** out) {
  const gradstep_python::GilRelease released;
  return gradstep_comm_wrap_mpi_ex(context, reinterpret_cast<const void*>(comm_address), options, out);
}

static gradstep_status attach_nccl_communicator(gradstep_comm* comm, int32_t device, uint64_t nccl_comm,
                                                gradstep_comm** out) {
  const gradstep_python::GilRelease released;
  return gradstep_comm_attach_nccl(comm, device, reinterpret_cast<void*>(nccl_comm), out);
}

static gradstep_status create_local_communicators(gradstep_context* context, const gradstep_comm_options* options,
                                                  int32_t world_size, gradstep_comm** out) {
  const gradstep_python::GilRelease released;
  return gradstep_comm_create_local_ex(context, world_size, options, out);
}

static gradstep_status send_to(gradstep_comm* comm, const gradstep_tensor* source, int32_t to, void* stream) {
  const gradstep_python::GilRelease released;
  return gradstep_comm_send(comm, source, to, stream);
}

static gradstep_status set_optimizer_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                           const gradstep_tensor* value, void* stream) {
  const gradstep_python::GilRelease released;
  return gradstep_optimizer_set_state(optimizer, index, name, value, stream);
}

static gradstep_status set_optimizer_tensor(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                            const gradstep_tensor* value) {
  const gradstep_python::GilRelease released;
  return gradstep_optimizer_set_tensor(optimizer, group, name, value);
}
%}
