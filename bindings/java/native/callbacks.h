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

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_CALLBACKS_H
