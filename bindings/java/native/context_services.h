// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a context asks of its host: a log, an interrupt, threads and memory.
#ifndef GRADSTEP_JAVA_CONTEXT_SERVICES_H
#define GRADSTEP_JAVA_CONTEXT_SERVICES_H

#include <jni.h>

#include "gradstep/context.h"

namespace gradstep_java {

/// Java objects of the interfaces in org.gradstep.Context; each may be null. The interrupt of the waiting Java thread
/// is asked for even if there is no other.
struct ContextServices {
  jobject log;
  jobject interrupt;
  jobject parallel_for;
  jobject allocator;
};

/// gradstep_context_create with these; the context then keeps them.
gradstep_status create_context(JNIEnv* env, gradstep_context_options* options, const ContextServices& services,
                               gradstep_context** out);

}  // namespace gradstep_java

#endif  // GRADSTEP_JAVA_CONTEXT_SERVICES_H
