# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts share. Source it from a bash script in this folder:  source "$(dirname "$0")/lib.sh"
#
# Everything here can be run again at any time and does only what is missing: Debian packages are installed if absent,
# the virtual environment .venv is made once, the Python package is built anew only when its sources have changed.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv

# Debian packages by what they are for.
build_packages=(g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libgloo-dev libopenmpi-dev libxxhash-dev ccache)
test_packages=(openmpi-bin libgtest-dev libcmocka-dev libdlpack-dev libeigen3-dev pkg-config binutils clang-19
  libclang-rt-19-dev libc++-19-dev llvm-19 qemu-user abigail-tools)
lint_packages=(clang-format-19 clang-tidy-19 git)
python_packages=(python3 python3-venv python3-dev swig)
aarch64_packages=(g++-aarch64-linux-gnu qemu-user mmdebstrap)
windows_packages=(g++-mingw-w64-x86-64-posix wine64 googletest zip unzip)
macos_packages=(llvm-19 zip unzip)
rust_packages=(libclang1-19) # bindgen, which the test of the bindings runs
java_packages=(default-jdk-headless maven swig)

# What the Python tests need beside gradstep, PyTorch and JAX; the second line is for the demo.
python_test_requirements=(numpy pytest pytest-xdist mpi4py ml_dtypes mypy==2.4.1 safetensors expecttest
  scikit-learn matplotlib rich tqdm)

# tests/fuzz has a corpus and a program fuzz_NAME for each; how many inputs scripts/test tries, about half a minute's.
declare -A fuzz_inputs=([calls]=20000 [rule_text]=20000 [state_reader]=6000 [store]=20000)

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# apt_install PACKAGE...: installs those that are missing.
apt_install() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null
}

# newest_jdk: the folder of a JDK 22 or later, which has java.lang.foreign; nothing where there is none.
newest_jdk() {
  local home version found='' highest=21
  for home in "${JAVA_HOME:-/}" /usr/lib/jvm/*; do
    [ -x "$home/bin/javac" ] && [ -e "$home/release" ] || continue
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
    if [ "${version:-0}" -gt "$highest" ]; then found=$home highest=$version; fi
  done
  printf '%s' "$found"
}

# The compiler cache makes the second build quick; builds work without it. Asked for late: it may just have been installed.
use_ccache() {
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros # without which what includes a precompiled header is not cached
}

# configure_preset PRESET [CMAKE ARGUMENT...]: into build/PRESET, unless the arguments say otherwise.
configure_preset() {
  use_ccache
  (cd "$root" && cmake --preset "$@" >/dev/null)
}

# build_preset PRESET: everything, tests too, whose packages must be there. They are compiled in batches: half the time.
build_preset() {
  configure_preset "$1" -DGRADSTEP_BUILD_TESTS=ON -DGRADSTEP_BATCHES=TESTS
  (cd "$root" && cmake --build --preset "$1")
}

# ensure_venv REQUIREMENT...: makes .venv, and installs the requirements that were not installed by an earlier call.
ensure_venv() {
  local requirement key
  [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
  for requirement in "$@"; do
    key=$venv/.gradstep-has-$(printf '%s' "$requirement" | sha256sum | cut -c1-16)
    [ -e "$key" ] && continue
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$requirement"
    touch "$key"
  done
}

# A hash of everything that the Python package is built from.
python_sources_hash() {
  (cd "$root" && find CMakeLists.txt pyproject.toml cmake include src bindings -type f ! -name '*.pyc' -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c1-64)
}

# install_python_package: `pip install .` into .venv, unless what is installed is built from these very sources.
install_python_package() {
  local stamp=$venv/.gradstep-sources hash
  ensure_venv
  hash=$(python_sources_hash)
  if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$hash" ] && "$venv/bin/python" -c 'import gradstep' 2>/dev/null; then
    return 0
  fi
  say "building the Python package"
  use_ccache
  # With the compiler and the options of the release build, so that the compiler cache has most of it.
  CC=cc CXX=c++ "$venv/bin/pip" install --quiet --disable-pip-version-check --config-settings=build-dir="$root/build/python" \
    --config-settings=cmake.define.GRADSTEP_WARNINGS_AS_ERRORS=ON "$root"
  printf '%s' "$hash" >"$stamp"
}

# ensure_torch: PyTorch for the CPU into .venv.
ensure_torch() {
  ensure_venv
  "$venv/bin/python" -c 'import torch' 2>/dev/null && return 0
  say "installing PyTorch into .venv"
  "$root/benchmarks/install_peers" "$venv"
}

# Frameworks around PyTorch. They are installed without what they require, or else PyTorch's own requirements, gigabytes of
# libraries for CUDA, would come with them.
torch_frameworks=(accelerate==1.15.0 pytorch-lightning==2.6.6 torchmetrics==1.9.0 lightning-utilities==0.15.3)
torch_framework_requirements=(huggingface-hub 'fsspec[http]' packaging psutil pyyaml safetensors tqdm)

# ensure_torch_frameworks: into .venv, 40 MB.
ensure_torch_frameworks() {
  ensure_torch
  ensure_venv "${torch_framework_requirements[@]}"
  "$venv/bin/python" -c 'import accelerate, pytorch_lightning' 2>/dev/null ||
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "${torch_frameworks[@]}"
}

# What Julia 1.5.3 of Debian 11 needs beside the libraries of Debian 12. With the libunwind8 of Debian 12 its exceptions end the
# process, and other programs need that one: so these are unpacked into .cache/julia, and nothing is installed.
julia_packages=(julia libjulia1 julia-common libjulia-openblas64 libunwind8 libllvm9 libz3-4 libutf8proc2 libopenlibm3
  libdsfmt-19937-1 libpcre2-8-0 libgmp10 libmpfr6 libgit2-1.1 libmbedtls12 libmbedcrypto3 libmbedx509-0 libhttp-parser2.9
  libssh2-1 libcurl3-gnutls libffi7 libedit2 libtinfo6 libbsd0 libmd0 libgfortran5 libquadmath0)

# ensure_julia: Julia into .cache/julia; fails where the archive does not have it any more.
ensure_julia() {
  local julia=$root/.cache/julia work
  [ -e "$julia/.complete" ] && return 0
  say "unpacking Julia into .cache/julia"
  rm -rf "$julia"
  mkdir -p "$julia/apt/lists/partial" "$julia/apt/cache/archives/partial"
  work=$julia/apt
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bullseye main\n' \
    "${GRADSTEP_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/sources.list"
  : >"$work/status"
  printf 'Dir::Etc::SourceList "%s/sources.list"; Dir::Etc::SourceParts "/dev/null"; Dir::Etc::PreferencesParts "/dev/null";
Dir::State "%s"; Dir::State::status "%s/status"; Dir::Cache "%s/cache"; APT::Sandbox::User "";\n' \
    "$work" "$work" "$work" "$work" >"$work/apt.conf"
  APT_CONFIG=$work/apt.conf apt-get update -q -o APT::Update::Error-Mode=any </dev/null || return 1
  (cd "$work" && APT_CONFIG=$work/apt.conf apt-get download -q "${julia_packages[@]}" </dev/null) || return 1
  local package
  for package in "$work"/*.deb; do dpkg -x "$package" "$julia" || return 1; done
  rm -rf "$work"
  run_julia -e 'try; sqrt(-1.0); catch; end' || return 1
  touch "$julia/.complete"
}

# run_julia ARGUMENT...: with its compiled packages in .cache too.
run_julia() {
  JULIA_DEPOT_PATH=$root/.cache/julia_depot LD_LIBRARY_PATH=$root/.cache/julia/usr/lib/x86_64-linux-gnu \
    "$root/.cache/julia/usr/bin/julia" --startup-file=no "$@"
}
