# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -D PROGRAM=... -D PREFIX=... -D LABEL=... -D TIMEOUT=... -D LEFT_OUT=... -D OUTPUT=... -P discover_suites.cmake
#
# Writes what ctest includes: one test for each suite of a GoogleTest program, without the tests that match LEFT_OUT
# (GoogleTest's syntax).

execute_process(COMMAND ${PROGRAM} --gtest_list_tests "--gtest_filter=-${LEFT_OUT}" OUTPUT_VARIABLE listed
                COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
string(REPLACE "\n" ";" lines "${listed}")
set(script "")
foreach(line ${lines})
  if(line MATCHES "^([^ ]+)\\.( .*)?$") # a suite; its tests are indented
    set(suite ${CMAKE_MATCH_1})
    string(APPEND script "add_test([=[${PREFIX}.${suite}]=] \"${PROGRAM}\" \"--gtest_filter=${suite}.*-${LEFT_OUT}\")\n"
           "set_tests_properties([=[${PREFIX}.${suite}]=] PROPERTIES LABELS \"${LABEL}\" TIMEOUT ${TIMEOUT})\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "${script}")
