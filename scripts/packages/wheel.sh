# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The Python package for Linux with glibc 2.28 and Python 3.11, or later ones.

package_wheel() {
  use_manylinux
  local defines=() option
  for option in "${manylinux[@]}"; do defines+=("-Ccmake.define.${option#-D}"); done
  rm -rf "$work/wheel" "$out"/gradstep-*-manylinux*.whl
  PATH=$tools/bin:$PATH "$tools/bin/python" -m build --no-isolation --wheel --outdir "$work/wheel" \
    -Cbuild-dir="$work/manylinux" -Ccmake.define.GRADSTEP_BUILD_JAVA=OFF "${defines[@]}" "$source_tree" >"$work/wheel.log"
  # What needs more than the policy allows is an error; nothing is grafted, for nothing is needed.
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --plat "manylinux_2_28_$(uname -m)" --only-plat -w "$out" \
    "$work/wheel"/*.whl
}

# The library on a Debian 11, glibc 2.31, whose C++ runtime is taken away; the package on a Debian 12 without a compiler and
# libgloo, where NumPy needs the C++ runtime.
check_wheel() {
  local site=$work/wheel_site instruction_set
  instruction_set=$(expected_instruction_set)
  ensure_tools
  rm -rf "$site"
  installing "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$site" "$out"/gradstep-*-manylinux*.whl
  check_needs "$site/gradstep"
  system_root debian11 bullseye --include=python3-minimal,libpython3-stdlib
  as_root rm -f "$work"/debian11/usr/lib/*/libstdc++.so.6*
  run_in debian11 python3 /outside/outside_library.py /outside/site/gradstep/libgradstep_python.so.0 "$instruction_set"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --target "$site" --python-version 3.11 --only-binary=:all: numpy
  system_root debian12 bookworm --include=python3-minimal,libpython3-stdlib,libstdc++6
  no_file "$work/debian12" 'libgloo*' 'gcc*' 'g++*' 'cc'
  run_in debian12 env PYTHONPATH=/outside/site python3 /outside/outside.py "$instruction_set"
}
