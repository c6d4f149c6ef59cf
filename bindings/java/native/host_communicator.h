// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A Java object (org.gradstep.HostCollectives) in the place of a host's collectives.
#ifndef GRADSTEP_JAVA_HOST_COMMUNICATOR_H
#define GRADSTEP_JAVA_HOST_COMMUNICATOR_H

#include <jni.h>

#include "gradstep/comm.h"

namespace gradstep_java {

/// gradstep_comm_create_host_ex with those collectives that the object's class overrides.
gradstep_status create_host_communicator(JNIEnv* env, gradstep_context* context, jobject collectives,
                                         const gradstep_comm_options* options, gradstep_comm** out);

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_HOST_COMMUNICATOR_H
