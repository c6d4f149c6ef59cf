// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A Python object (gradstep.HostCollectives) in the place of a host's collectives.
#pragma once

#include "gradstep/comm.h"
#include "python_object.h"

namespace gradstep_python {

/// Makes a communicator from an object with rank, world_size, all_gather and any of the optional methods.
gradstep_status create_host_communicator(gradstep_context* context, PyObject* collectives,
                                         const gradstep_comm_options* options, gradstep_comm** out);

}  // namespace gradstep_python
