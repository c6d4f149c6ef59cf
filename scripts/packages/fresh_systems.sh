# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Environments that have nothing else of the project, for --check.

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

# no_file FOLDER PATTERN...: nothing of such a name is in its libraries and programs.
no_file() {
  local folder=$1 pattern
  shift
  for pattern in "$@"; do
    [ -z "$(find "$folder/usr/bin" "$folder/usr/lib" -name "$pattern" ! -type d -print -quit)" ] || die "$folder has $pattern"
  done
}

# run_with_proc FOLDER COMMAND...: in the system there, with a /proc that is gone again with the program.
run_with_proc() {
  as_root unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"
}

# run_offline FOLDER COMMAND...: the same, with no network but the loopback.
run_offline() {
  apt_install iproute2
  as_root unshare --mount --net sh -c \
    'ip link set lo up && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$@"
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
