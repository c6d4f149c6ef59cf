// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where ranks meet, given as Java objects.
#ifndef GRADSTEP_JAVA_RENDEZVOUS_H
#define GRADSTEP_JAVA_RENDEZVOUS_H

#include <jni.h>

#include "gradstep/comm.h"

namespace gradstep_java {

/// gradstep_comm_create with the bytes of an id and an org.gradstep.Rendezvous.Store; each may be null.
gradstep_status create_communicator(JNIEnv* env, gradstep_context* context, gradstep_comm_options* options,
                                    jbyteArray id, jobject store, gradstep_comm** out);

/// gradstep_rendezvous_pending, likewise; comm may be null.
gradstep_status count_newcomers(JNIEnv* env, gradstep_comm* comm, gradstep_comm_options* options, jbyteArray id,
                                jobject store, int32_t* pending);

/// gradstep_comm_create_local_ex for as many ranks as the array has room for; their addresses go into it.
gradstep_status create_local_communicators(JNIEnv* env, gradstep_context* context, const gradstep_comm_options* options,
                                           jlongArray addresses);

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_RENDEZVOUS_H
