# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What every target of the project is compiled with: warnings, sanitizers, and the arithmetic that the determinism
# promise rests on (no contraction into FMA; docs/numerics.md).

add_library(gradstep_compile_options INTERFACE)
target_compile_options(gradstep_compile_options INTERFACE
  -ffp-contract=off
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns about std::string's own operator+ (its bug 105651)
  $<$<BOOL:${GRADSTEP_WARNINGS_AS_ERRORS}>:-Werror>)

if(GRADSTEP_SANITIZE)
  target_compile_options(gradstep_compile_options INTERFACE -fsanitize=${GRADSTEP_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(gradstep_compile_options INTERFACE -fsanitize=${GRADSTEP_SANITIZE})
endif()
