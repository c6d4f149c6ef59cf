# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake --install: headers of C and C++, libgradstep.so.0, plugins, find_package(gradstep) and gradstep.pc; by components
# (runtime, dev, gloo, mpi, cuda) for packages of them.

include(CMakePackageConfigHelpers)

install(TARGETS gradstep gradstep_cpp EXPORT gradstepTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(plugins gloo mpi)
if(NOT GRADSTEP_CUDA STREQUAL "EMULATED")
  list(APPEND plugins cuda)
endif()
foreach(plugin ${plugins})
  if(TARGET gradstep_${plugin})
    install(TARGETS gradstep_${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gradstep COMPONENT ${plugin})
  endif()
endforeach()
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/c_api/gradstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/bindings/cpp/include/gradstep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev FILES_MATCHING PATTERN "*.hpp")

# For programs that open the library themselves. An archive of the library's sources alone has no examples.
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/include/gradstep_api.json DESTINATION ${CMAKE_INSTALL_DATADIR}/gradstep COMPONENT dev)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/examples/c/dlopen/gradstep_table.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradstep COMPONENT dev OPTIONAL)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gradstep)
install(EXPORT gradstepTargets NAMESPACE gradstep:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gradstepConfig.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/gradstepConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/gradstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradstepConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/gradstepConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# Relative to the file itself, so that an installed prefix may be moved.
file(RELATIVE_PATH GRADSTEP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/gradstep.pc.in ${CMAKE_CURRENT_BINARY_DIR}/gradstep.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gradstep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
