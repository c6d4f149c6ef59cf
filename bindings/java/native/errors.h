// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#ifndef GRADSTEP_JAVA_ERRORS_H
#define GRADSTEP_JAVA_ERRORS_H

#include <jni.h>

#include "gradstep/base.h"

namespace gradstep_java {

/// NUL-terminated text as an array of bytes without the NUL; NULL for NULL, and with a Java exception if there is no
/// memory.
jbyteArray to_bytes(JNIEnv* env, const char* text);

/// Throws the Java exception for a status, with this thread's gradstep_last_error() as text.
void raise(JNIEnv* env, gradstep_status status);

/// OK unless a callback has thrown. Its exception is kept for the call that fails by it, and its status returned:
/// CALLBACK unless it is one that says another (Failures.status).
gradstep_status finish(JNIEnv* env);

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_ERRORS_H
