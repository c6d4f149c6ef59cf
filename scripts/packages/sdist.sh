# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The Python package's sources, with the headers that they are compiled with.

package_sdist() {
  ensure_tools
  rm -f "$out"/gradstep-*.tar.gz
  PATH=$tools/bin:$PATH "$tools/bin/python" -m build --no-isolation --sdist --outdir "$out" "$source_tree" >"$work/sdist.log"
}

# Built without a network on a Debian 12 that has a compiler, CMake and libgloo, and none of the headers; what pip builds with lies
# in a folder.
check_sdist() {
  local system=$work/debian12_build wheels=$work/sdist_wheels instruction_set
  instruction_set=$(expected_instruction_set)
  ensure_tools
  rm -rf "$wheels"
  "$tools/bin/pip" download --quiet --disable-pip-version-check --dest "$wheels" --only-binary=:all: --python-version 3.11 \
    'scikit-build-core>=1.0' 'swig>=4.2' numpy
  system_root debian12_build bookworm --include=python3-venv,python3-dev,g++,cmake,ninja-build,libgloo-dev
  no_file "$system" 'libgradstep*'
  [ ! -e "$system/usr/include/fmt" ] && [ ! -e "$system/usr/include/nlohmann" ] && [ ! -e "$system/usr/include/xxhash.h" ] ||
    die "$system has the headers that the sdist has to bring"
  as_root rm -rf "$system/outside"
  as_root mkdir "$system/outside"
  as_root cp -r "$wheels" "$system/outside/wheels"
  as_root cp "$out"/gradstep-*.tar.gz "$system/outside"
  as_root cp tests/package/outside.py "$system/outside"
  run_offline "$system" python3 -m venv /outside/venv
  installing run_offline "$system" sh -c 'env -u PIP_CERT /outside/venv/bin/pip install --quiet --no-index --find-links /outside/wheels \
    /outside/gradstep-*.tar.gz'
  run_offline "$system" /outside/venv/bin/python /outside/outside.py "$instruction_set"
}
