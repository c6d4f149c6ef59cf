# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What scripts/package --check does with each package: it is used in an environment that has nothing else of the project,
# by the programs of tests/package that are named outside.

# What the library has to choose here, by the kernel's list of what the processor has.
expected_instruction_set() {
  case " $(grep -m1 '^flags' /proc/cpuinfo) " in
  *" avx2 "*" avx512f "*) echo avx512 ;;
  *" avx2 "*) echo avx2 ;;
  *) echo baseline ;;
  esac
}

# system_root NAME SUITE [MMDEBSTRAP ARGUMENT...]: a Debian system of its own in $work/NAME, made once.
system_root() {
  local root_folder=$work/$1 suite=$2
  shift 2
  [ ! -e "$root_folder/.complete" ] || return 0
  apt_install mmdebstrap
  rm -rf "$root_folder"
  as_root mmdebstrap --quiet --mode=root --variant=essential "$@" "$suite" "$root_folder" "$(debian_mirror)"
  touch "$root_folder/.complete"
}

debian_mirror() {
  [ -n "${GRADSTEP_DEBIAN_MIRROR:-}" ] && echo "$GRADSTEP_DEBIAN_MIRROR" && return
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1
}

# Binaries of a folder need the C library alone, of 2.28 or before, and export no C++ runtime.
check_needs() {
  local file needed newest
  while IFS= read -r -d '' file; do
    needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
      grep -vE '^(lib(c|m|pthread|dl|rt)\.so\.[0-9]|ld-linux.*|libgradstep_python\.so\.0)$' || true)
    [ -z "$needed" ] || die "$file needs $needed"
    newest=$(readelf -V "$file" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -V | tail -n 1)
    printf '2.28\n%s\n' "$newest" | sort -V -C -r || die "$file needs glibc $newest"
    echo "$(basename "$file"): $(stat -c %s "$file") bytes, glibc $newest or later"
  done < <(find "$1" -name '*.so*' -type f -print0)
}

# The library on a Debian 11, glibc 2.31, whose C++ runtime is taken away; the package on a Debian 12 without a compiler and
# libgloo, where NumPy needs the C++ runtime.
check_wheel() {
  local site=$work/wheel_site instruction_set
  instruction_set=$(expected_instruction_set)
  ensure_tools
  rm -rf "$site"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$site" "$out"/gradstep-*.whl
  check_needs "$site/gradstep"
  system_root debian11 bullseye --include=python3-minimal,libpython3-stdlib
  as_root rm -f "$work"/debian11/usr/lib/*/libstdc++.so.6*
  run_in debian11 python3 /outside/outside_library.py /outside/site/gradstep/libgradstep_python.so.0 "$instruction_set"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --target "$site" --python-version 3.11 --only-binary=:all: numpy
  system_root debian12 bookworm --include=python3-minimal,libpython3-stdlib,libstdc++6
  no_file "$work/debian12" 'libgloo*' 'gcc*' 'g++*' 'cc'
  run_in debian12 env PYTHONPATH=/outside/site python3 /outside/outside.py "$instruction_set"
}

# no_file FOLDER PATTERN...: nothing of such a name is in its libraries and programs.
no_file() {
  local folder=$1 pattern
  shift
  for pattern in "$@"; do
    [ -z "$(find "$folder/usr/bin" "$folder/usr/lib" -name "$pattern" ! -type d -print -quit)" ] || die "$folder has $pattern"
  done
}

# run_in NAME COMMAND...: in a system of system_root, with the wheel and the programs at /outside.
run_in() {
  local system=$work/$1
  shift
  as_root rm -rf "$system/outside"
  as_root mkdir "$system/outside"
  as_root cp -r "$work/wheel_site" "$system/outside/site"
  as_root cp tests/package/outside*.py "$system/outside"
  as_root chroot "$system" "$@"
}
