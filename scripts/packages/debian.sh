# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Debian packages of the library and its plugins, for the Debian that this runs on.

package_debian() {
  apt_install "${build_packages[@]}" dpkg-dev file
  local build=$work/debian
  rm -f "$out"/*.deb
  rm -rf "$build/packages"
  configure_preset release -S "$source_tree" -B "$build" -DCMAKE_INSTALL_PREFIX=/usr -DGRADSTEP_DEBIAN=ON \
    -DGRADSTEP_DEPENDENCIES=SYSTEM -DGRADSTEP_BUILD_TESTS=OFF -DGRADSTEP_BUILD_EXAMPLES=OFF -DGRADSTEP_BUILD_BENCHMARKS=OFF -DGRADSTEP_BATCHES=ON
  cmake --build "$build" >"$build.log"
  (cd "$build" && cpack >>"$build.log" 2>&1)
  cp "$build"/packages/*.deb "$out"
}

# Installed by apt on a system that has a compiler and nothing of gradstep: a program by pkg-config, projects by CMake,
# two ranks over each plugin; and gone without a trace.
check_debian() {
  local system=$work/debian12_packages
  apt_install lintian
  # A package that is not Debian's closes no bug there; CPack calls ldconfig by itself, beside the trigger.
  lintian --allow-root --fail-on error,warning \
    --suppress-tags initial-upload-closes-no-bugs,maintscript-calls-ldconfig "$out"/*.deb
  system_root debian12_development bookworm --variant=apt --include=gcc,g++,libc6-dev,pkg-config,cmake,make,openmpi-bin,libgloo0
  as_root rm -rf "$system"
  as_root cp -a "$work/debian12_development" "$system"
  no_file "$system" 'libgradstep*'
  as_root mkdir "$system/outside"
  as_root cp -r "$out"/*.deb tests/package/outside tests/package/two_ranks tests/package/installed "$system/outside"
  installing run_with_proc "$system" sh -c 'apt-get install -q -y --no-install-recommends /outside/*.deb </dev/null'
  run_with_proc "$system" sh /outside/installed "$(scripts/version)"
  run_with_proc "$system" sh -c 'apt-get purge -q -y "libgradstep*" </dev/null'
  no_file "$system" 'libgradstep*'
}
