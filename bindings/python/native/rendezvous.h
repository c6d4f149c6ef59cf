// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicators that meet through bytes, a directory or a Python object (gradstep.Store).
#pragma once

#include "gradstep/comm.h"
#include "python_object.h"

namespace gradstep_python {

/// What a rendezvous is made of besides the plain numbers of its options. Strings may be NULL; id and store None.
struct Rendezvous {
  const char* engine;
  PyObject* id;
  PyObject* store;
  const char* store_path;
  const char* network_interface;
};

/// gradstep_rendezvous_pending; comm may be NULL.
gradstep_status count_newcomers(gradstep_comm* comm, const gradstep_comm_options* options, const Rendezvous& rendezvous,
                                int32_t* pending);

gradstep_status create_communicator(gradstep_context* context, const gradstep_comm_options* options,
                                    const Rendezvous& rendezvous, gradstep_comm** out);

}  // namespace gradstep_python
