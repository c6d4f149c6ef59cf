# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The objects of the loops define their table, or their one function, and nothing else that a linker could merge or prefer:
# a weak symbol would let an inline function compiled for AVX-512 serve a processor that has none. OBJECTS: the library's
# objects; NM: the tool.
foreach(object ${OBJECTS})
  if(NOT object MATCHES "/(loops|dense|products)_([a-z0-9_]+)\\.cpp")
    continue()
  endif()
  set(instruction_set ${CMAKE_MATCH_2})
  set(table_of_loops kLoops_${instruction_set})
  set(table_of_dense kDense)  # and the instruction set in CamelCase
  set(table_of_products multiply_${instruction_set})
  set(table ${table_of_${CMAKE_MATCH_1}})
  list(APPEND checked ${instruction_set})
  execute_process(COMMAND ${NM} --defined-only --extern-only ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  list(LENGTH symbols count)
  if(NOT count EQUAL 1 OR NOT symbols MATCHES " [DRT] .*${table}")
    string(REPLACE ";" "\n" text "${symbols}")
    message(FATAL_ERROR "${object} defines, beside its table:\n${text}")
  endif()
endforeach()
if(NOT checked)
  message(FATAL_ERROR "no object of the loops among: ${OBJECTS}")
endif()
message(STATUS "checked ${checked}")
