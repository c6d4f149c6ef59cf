# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What every target of the project is compiled with: warnings, sanitizers, and the arithmetic that the determinism
# promise rests on (no contraction into FMA; docs/numerics.md).

# Which sources are compiled in batches (gradstep_compile_in_batches): the library's, and those of tests.
set(batches_of_library OFF)
set(batches_of_tests OFF)
if(GRADSTEP_SANITIZE OR GRADSTEP_BATCHES STREQUAL "TESTS")
  set(batches_of_tests ON)
endif()
if(GRADSTEP_SANITIZE OR (GRADSTEP_BATCHES AND NOT GRADSTEP_BATCHES STREQUAL "TESTS"))
  set(batches_of_library ON)
  set(batches_of_tests ON)
endif()

# gradstep_options(<name> <sanitizers> <batches>): an interface library of these options, for sources that are compiled in
# batches or not. Programs link all of GRADSTEP_SANITIZE, because the library in them may need it.
function(gradstep_options name sanitizers batches)
  set(shadow -Wshadow)
  if(batches)
    # What is hidden may be a neighbour's; what a header is to GCC, whose local types are in no other file, is a source here.
    set(shadow $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  add_library(${name} INTERFACE)
  target_compile_options(${name} INTERFACE
    -ffp-contract=off
    -Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wsign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
    $<$<C_COMPILER_ID:Clang>:-Wreserved-identifier>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>  # loops marked as independent are vectorised where that pays
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>  # libstdc++'s own std::stable_sort
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns about std::string's own operator+ (its bug 105651)
    $<$<BOOL:${GRADSTEP_WARNINGS_AS_ERRORS}>:-Werror>)
  if(sanitizers)
    target_compile_options(${name} INTERFACE -fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${name} INTERFACE -fsanitize=${GRADSTEP_SANITIZE}
                        $<$<LINK_LANG_AND_ID:C,Clang>:-fsanitize-link-c++-runtime>)
    target_link_libraries(${name} INTERFACE $<$<LINK_LANG_AND_ID:C,Clang>:stdc++>)  # that runtime's own need
  endif()
endfunction()

# Fuzzers are led by the coverage of what they feed (gradstep_coverage): it costs time at
# every comparison, and no other target has it.
string(REPLACE ",fuzzer-no-link" "" sanitizers "${GRADSTEP_SANITIZE}")
gradstep_options(gradstep_compile_options "${sanitizers}" ${batches_of_library})
add_library(gradstep_coverage INTERFACE)
set(no_coverage "")  # for sources that have no decisions that a fuzzer could lead to
if(NOT sanitizers STREQUAL "${GRADSTEP_SANITIZE}")
  target_compile_options(gradstep_coverage INTERFACE -fsanitize=fuzzer-no-link)
  set(no_coverage -fno-sanitize=fuzzer-no-link)
endif()

# Tests are compiled to be compiled quickly: what they test is compiled as it is delivered, or with all sanitizers. Their
# own undefined behaviour is left out: looking for it made a test five times slower to compile.
string(REPLACE ",undefined" "" test_sanitizers "${sanitizers}")
gradstep_options(gradstep_test_options "${test_sanitizers}" ${batches_of_tests})
if(GRADSTEP_SANITIZE)
  target_compile_options(gradstep_test_options INTERFACE $<IF:$<BOOL:$<TARGET_PROPERTY:GRADSTEP_OPTIMISED>>,-O1,-O0>)
  target_compile_definitions(gradstep_test_options INTERFACE GRADSTEP_SANITIZED)
else()
  target_compile_options(gradstep_test_options INTERFACE $<$<CONFIG:Release>:-O1>)
endif()

# gradstep_compile_in_batches(<target> [TESTS] [ALONE <pattern>]): under sanitizers, in packages, and TESTS wherever
# GRADSTEP_BATCHES says so, the sources of a folder together, because most of the time goes into headers and what is
# instantiated from them. Alone stay sources that match the pattern, whose local names are also their neighbours', and
# those with options of their own. In other builds all are compiled one by one, so that a missing include is found and a
# change costs one file.
function(gradstep_compile_in_batches target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTS" "ALONE" "")
  if(NOT batches_of_library AND NOT (arg_TESTS AND batches_of_tests))
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  if(arg_ALONE)
    list(FILTER sources EXCLUDE REGEX "${arg_ALONE}")
  endif()
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder "${folder}" NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "batch_${folder}")
  endforeach()
endfunction()
