# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# GRADSTEP_DEBIAN, cpack: libgradstep0, libgradstep-dev, and for each plugin that was built a package of its own, for the Debian that
# this runs on. Configure with -DCMAKE_INSTALL_PREFIX=/usr, from which the multiarch folder follows.

set(GRADSTEP_DEBIAN_MAINTAINER "The gradstep authors <authors@gradstep.invalid>" CACHE STRING
    "The maintainer of the Debian packages: name and address")
mark_as_advanced(GRADSTEP_DEBIAN_MAINTAINER)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The gradstep authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package's own is the first line of its description
set(CPACK_PACKAGE_CONTACT ${GRADSTEP_DEBIAN_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # of who is linked with the library, the dependency on it
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL)

# What every package has in its /usr/share/doc.
set(debian_folder ${CMAKE_CURRENT_BINARY_DIR}/debian)
set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP debian_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian_copyright.in ${debian_folder}/copyright @ONLY)
file(WRITE ${debian_folder}/changelog "gradstep (${debian_version}) unstable; urgency=medium

  * Release ${PROJECT_VERSION}.

 -- ${GRADSTEP_DEBIAN_MAINTAINER}  ${debian_date}
")
file(ARCHIVE_CREATE OUTPUT ${debian_folder}/changelog.Debian.gz PATHS ${debian_folder}/changelog FORMAT raw COMPRESSION GZip
     COMPRESSION_LEVEL 9)

# gradstep_debian_package(<component> <name> <section> <depends> <what the summary adds> <what the package has>)
macro(gradstep_debian_package component name section depends added has)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  string(CONCAT CPACK_DEBIAN_${upper}_DESCRIPTION "distributed optimizers for the arrays of any framework${added}\n"
         "gradstep turns gradients into parameter updates on buffers that its host\n"
         "owns: gradient accumulation, synchronisation over several ranks, and\n"
         "optimizers from SGD to Shampoo, behind a C API.\n\n${has}")
  install(FILES ${debian_folder}/copyright ${debian_folder}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endmacro()

set(same_version "libgradstep0 (= ${debian_version})")
gradstep_debian_package(runtime libgradstep0 libs "" "" "This package has the library.")
gradstep_debian_package(dev libgradstep-dev libdevel "${same_version}" " (development)"
                        "This package has the headers of C and C++, and the files that CMake and\npkg-config find the library by.")
if(TARGET gradstep_gloo)
  gradstep_debian_package(gloo libgradstep0-gloo libs "${same_version}" " (Gloo)"
                          "This package has the plugin that connects processes over TCP.")
endif()
if(TARGET gradstep_mpi)
  gradstep_debian_package(mpi libgradstep0-mpi libs "${same_version}" " (MPI)"
                          "This package has the plugin that connects the processes of an MPI job.")
endif()

file(WRITE ${debian_folder}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${debian_folder}/triggers)

include(CPack)
