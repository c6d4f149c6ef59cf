# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What the library is compiled with and does not need afterwards: fmt, nlohmann-json and xxHash, all headers only, as the
# targets fmt::fmt-header-only, nlohmann_json::nlohmann_json and gradstep_xxhash. They come from, in this order,
#
#   third_party/<name>  where packages that must be built offline carry them (scripts/dependencies carry); a clone has none
#   the system          by find_package and find_path
#   the pinned archive  of dependencies.json, compared with its SHA-256
#
# The archive of Gloo is asked for by its plugin alone (GRADSTEP_GLOO).

include(FetchContent)

set(GRADSTEP_DEPENDENCIES AUTO CACHE STRING
    "Where the headers of fmt, nlohmann-json and xxHash come from: SYSTEM, FETCH (pinned archives), or AUTO (the first found)")
set_property(CACHE GRADSTEP_DEPENDENCIES PROPERTY STRINGS AUTO SYSTEM FETCH)
set(GRADSTEP_DEPENDENCIES_MIRROR "" CACHE PATH
    "A folder with the pinned archives (scripts/dependencies mirror); if set, nothing is downloaded")
if(NOT GRADSTEP_DEPENDENCIES MATCHES "^(AUTO|SYSTEM|FETCH)$")
  message(FATAL_ERROR "GRADSTEP_DEPENDENCIES is '${GRADSTEP_DEPENDENCIES}', expected AUTO, SYSTEM or FETCH")
endif()

set(gradstep_pins_file ${CMAKE_CURRENT_LIST_DIR}/dependencies.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${gradstep_pins_file})
file(READ ${gradstep_pins_file} gradstep_pins)

# gradstep_archive(<name> <variable>): the archive of the mirror, else the address of the first that is pinned; and its
# SHA-256, in <variable>_sha256.
function(gradstep_archive name variable)
  string(JSON count LENGTH "${gradstep_pins}" ${name} archives)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    string(JSON file GET "${gradstep_pins}" ${name} archives ${index} file)
    string(JSON sha256 GET "${gradstep_pins}" ${name} archives ${index} sha256)
    if(GRADSTEP_DEPENDENCIES_MIRROR)
      set(location ${GRADSTEP_DEPENDENCIES_MIRROR}/${file})
      list(APPEND looked_for ${file})
    else()
      string(JSON location GET "${gradstep_pins}" ${name} archives ${index} url)
    endif()
    if(NOT GRADSTEP_DEPENDENCIES_MIRROR OR EXISTS ${location})
      if(GRADSTEP_DEPENDENCIES_MIRROR)
        # Compared here, because a download that does not match is tried again for more than a minute.
        file(SHA256 ${location} found)
        if(NOT found STREQUAL sha256)
          message(FATAL_ERROR "GRADSTEP_DEPENDENCIES_MIRROR: the SHA-256 of ${location} is ${found}, expected ${sha256}")
        endif()
      endif()
      set(${variable} ${location} PARENT_SCOPE)
      set(${variable}_sha256 ${sha256} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  list(JOIN looked_for " nor " looked_for)
  message(FATAL_ERROR "GRADSTEP_DEPENDENCIES_MIRROR: ${GRADSTEP_DEPENDENCIES_MIRROR} has neither ${looked_for}")
endfunction()

# gradstep_fetch(<name> <variable>): the folder of the unpacked archive. None of its CMake code is run.
function(gradstep_fetch name variable)
  gradstep_archive(${name} archive)
  FetchContent_Declare(gradstep_${name} URL ${archive} URL_HASH SHA256=${archive_sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON
                       SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(gradstep_${name})
  set(${variable} ${gradstep_${name}_SOURCE_DIR} PARENT_SCOPE)
endfunction()

# gradstep_headers(<name> <target>): an interface target of headers that are carried, or fetched if need be.
function(gradstep_headers name target)
  if(GRADSTEP_DEPENDENCIES STREQUAL "SYSTEM")
    message(FATAL_ERROR "GRADSTEP_DEPENDENCIES is SYSTEM, and the system's ${name} is not found")
  endif()
  string(JSON include GET "${gradstep_pins}" ${name} include)
  set(carried ${PROJECT_SOURCE_DIR}/third_party/${name})
  if(EXISTS ${carried})
    set(include ${carried}/include)
  else()
    gradstep_fetch(${name} source)
    cmake_path(APPEND source ${include} OUTPUT_VARIABLE include)
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE ${include})
  message(STATUS "${name}: ${include}")
endfunction()

# gradstep_look_in_system(<name> <variable>): whether to look there.
function(gradstep_look_in_system name variable)
  if(GRADSTEP_DEPENDENCIES STREQUAL "FETCH" OR
     (GRADSTEP_DEPENDENCIES STREQUAL "AUTO" AND EXISTS ${PROJECT_SOURCE_DIR}/third_party/${name}))
    set(${variable} OFF PARENT_SCOPE)
  else()
    set(${variable} ON PARENT_SCOPE)
  endif()
endfunction()

gradstep_look_in_system(fmt look)
if(look)
  find_package(fmt 9...<12 QUIET)
endif()
if(NOT TARGET fmt::fmt-header-only)
  gradstep_headers(fmt fmt::fmt-header-only)
endif()

gradstep_look_in_system(nlohmann_json look)
if(look)
  find_package(nlohmann_json 3.10 QUIET)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  gradstep_headers(nlohmann_json nlohmann_json::nlohmann_json)
endif()

gradstep_look_in_system(xxhash look)
if(look)
  find_path(GRADSTEP_XXHASH_INCLUDE_DIR xxhash.h)
  mark_as_advanced(GRADSTEP_XXHASH_INCLUDE_DIR)
endif()
if(look AND GRADSTEP_XXHASH_INCLUDE_DIR)
  add_library(gradstep_xxhash INTERFACE IMPORTED GLOBAL)
  target_include_directories(gradstep_xxhash INTERFACE ${GRADSTEP_XXHASH_INCLUDE_DIR})
else()
  gradstep_headers(xxhash gradstep_xxhash)
endif()
