# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The library for Windows and macOS in archives: headers of C and C++, what find_package(gradstep) reads, and licences.

# pack_archive PRESET SYSTEM [CMAKE ARGUMENT...]: leaves gradstep-VERSION-SYSTEM.zip. $notice, where it is set, becomes its
# file NOTICE; ${licences[NAME]} is the file with the licence of a runtime that is linked in.
pack_archive() {
  local preset=$1 build=$work/$1 name=gradstep-$(scripts/version)-$2 licence
  local folder=$work/archives/$name
  configure_preset "$preset" -S "$source_tree" -B "$build" -DGRADSTEP_BUILD_TESTS=OFF -DGRADSTEP_DEPENDENCIES_MIRROR="$dependencies" "${@:3}"
  cmake --build "$build" --target gradstep >"$build.log"
  rm -rf "$folder" "$out/$name.zip"
  cmake --install "$build" --prefix "$folder" >>"$build.log"
  cp "$source_tree/LICENSE" "$folder"
  for licence in "$source_tree"/third_party/{fmt,nlohmann_json,xxhash}/LICENCE; do
    install -Dm644 "$licence" "$folder/third_party/$(basename "$(dirname "$licence")")/LICENCE"
  done
  for licence in "${!licences[@]}"; do
    install -Dm644 "${licences[$licence]}" "$folder/third_party/$licence/LICENCE"
  done
  [ ! -v notice ] || printf '%s\n' "$notice" >"$folder/NOTICE"
  (cd "$work/archives" && zip -qry "$out/$name.zip" "$name")
}

# build_outside SYSTEM TOOLCHAIN [CMAKE ARGUMENT...]: a foreign project, of what is in the archive alone; in
# $work/outside_SYSTEM, the archive's folder in $unpacked.
build_outside() {
  local name=gradstep-$(scripts/version)-$1 build=$work/outside_$1
  unpacked=$work/unpacked/$name
  rm -rf "$unpacked" "$build"
  mkdir -p "$work/unpacked"
  unzip -q "$out/$name.zip" -d "$work/unpacked"
  [ -s "$unpacked/LICENSE" ] && [ -s "$unpacked/third_party/fmt/LICENCE" ] || die "$name.zip lacks licences"
  cmake -G Ninja -S tests/package/outside -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/$2.cmake" \
    -Dgradstep_DIR="$unpacked/lib/cmake/gradstep" "${@:3}" >"$build.log"
  cmake --build "$build" --target outside >>"$build.log"
}

# windows_licences: sets $licences. GCC's runtime is under the GPL with the runtime library exception. The licence of
# mingw-w64 has that of winpthreads, too.
windows_licences() {
  licences=([gcc]=/usr/share/doc/gcc-mingw-w64-base/copyright [mingw-w64]=/usr/share/doc/mingw-w64-x86-64-dev/copyright)
}

package_windows() {
  local -A licences
  apt_install "${windows_packages[@]}"
  windows_licences
  pack_archive windows windows-x86_64
}

# The project's program runs under wine.
check_windows() {
  local found
  build_outside windows-x86_64 windows
  grep -q 'GCC RUNTIME LIBRARY EXCEPTION' "$unpacked/third_party/gcc/LICENCE" &&
    grep -q winpthreads "$unpacked/third_party/mingw-w64/LICENCE" || die "the archive lacks licences of runtimes"
  cp "$unpacked/bin/libgradstep.dll" "$work/outside_windows-x86_64"
  found=$(WINEDEBUG=-all WINEPREFIX=$work/wine /usr/lib/wine/wine64 "$work/outside_windows-x86_64/outside.exe" | tr -d '\r')
  [ "$found" = "$(scripts/version)" ] || die "the program printed '$found', expected '$(scripts/version)'"
}

# macos_licences: sets $licences, and $notice to a warning. LLVM's C++ runtime is under the Apache licence with LLVM's
# exception. zig has routines for its compiler.
macos_licences() {
  local zig
  zig=$(dirname "$GRADSTEP_ZIG")
  licences=([libcxx]=$zig/lib/libcxx/LICENSE.TXT [libcxxabi]=$zig/lib/libcxxabi/LICENSE.TXT
    [libunwind]=$zig/lib/libunwind/LICENSE.TXT [zig]=$zig/LICENSE)
  notice='Compiled on Linux by the clang of zig, and never run on a Mac.'
}

package_macos() {
  local processor notice
  local -A licences
  apt_install "${macos_packages[@]}"
  use_zig
  macos_licences
  for processor in arm64 x86_64; do
    pack_archive "macos_$processor" "macos-$processor" -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER=
  done
}

# The project's program links. Nothing here can run it. Macs with Apple's processors load no library without a signature.
check_macos() {
  local processor library
  use_zig
  for processor in arm64 x86_64; do
    build_outside "macos-$processor" macos -DGRADSTEP_MACOS_PROCESSOR="$processor"
    library=$unpacked/lib/libgradstep.0.dylib
    tests/abi/exports "$library" "$unpacked/include"
    tests/abi/needed "$library"
    [ "$processor" != arm64 ] || tests/abi/signature "$library"
    grep -q LLVM "$unpacked/third_party/libcxx/LICENCE" || die "the archive lacks licences of runtimes"
  done
}
