# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# gradstep_libgloo: what the plugin uses of Gloo, connections over TCP, as a static library of the pinned sources.

gradstep_fetch(gloo gloo_source)

# Gloo's own configuration, with the one transport.
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${gloo_source}/CMakeLists.txt line REGEX "^set\\(GLOO_VERSION_${part} ")
  string(REGEX MATCH "[0-9]+" GLOO_VERSION_${part} "${line}")
endforeach()
set(GLOO_HAVE_TRANSPORT_TCP ON)
set(gloo_generated ${CMAKE_CURRENT_BINARY_DIR}/gloo)
configure_file(${gloo_source}/gloo/config.h.in ${gloo_generated}/gloo/config.h)

file(GLOB gloo_sources CONFIGURE_DEPENDS ${gloo_source}/gloo/transport/*.cc ${gloo_source}/gloo/transport/tcp/*.cc)
add_library(gradstep_libgloo STATIC ${gloo_sources} ${gloo_source}/gloo/context.cc ${gloo_source}/gloo/types.cc
            ${gloo_source}/gloo/common/linux.cc ${gloo_source}/gloo/common/logging.cc ${gloo_source}/gloo/common/utils.cc)
target_include_directories(gradstep_libgloo SYSTEM PUBLIC ${gloo_source} ${gloo_generated})
target_compile_options(gradstep_libgloo PRIVATE -w)  # its warnings are its authors' to heed
