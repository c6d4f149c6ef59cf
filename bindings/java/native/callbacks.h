// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What gradstep calls, in Java. Every function attaches its thread, and what Java throws ends there: as a status whose
// call then throws with that exception as its cause.
#ifndef GRADSTEP_JAVA_CALLBACKS_H
#define GRADSTEP_JAVA_CALLBACKS_H

#include <jni.h>

#include <cstddef>
#include <cstdint>

#include "gradstep/gradstep.h"

namespace gradstep_java {

/// Drops a global reference.
void release_object(void* object);

gradstep_status call_schedule(void* user, std::int64_t step, double* value);
gradstep_status write_to_stream(void* user, const void* data, std::size_t size);
gradstep_status read_from_stream(void* user, void* data, std::size_t size, std::size_t* got);

/// Gives a context that is about to be created its log (may be null) and its interrupt: the one given, and that of the
/// waiting thread.
void lend_callbacks(JNIEnv* env, jobject log, jobject interrupt, gradstep_context_options* options);

/// gradstep_comm_create with the bytes of an id, which may be null.
gradstep_status create_communicator(JNIEnv* env, gradstep_context* context, gradstep_comm_options* options,
                                    jbyteArray id, gradstep_comm** out);

/// gradstep_comm_create_local_ex for as many ranks as the array has room for; their addresses go into it.
gradstep_status create_local_communicators(JNIEnv* env, gradstep_context* context, const gradstep_comm_options* options,
                                           jlongArray addresses);

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_CALLBACKS_H
