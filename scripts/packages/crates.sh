# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The crates; gradstep-sys brings the library's sources, and the headers that they are compiled with.

package_crates() {
  local workspace=$source_tree/bindings/rust source=$source_tree/bindings/rust/gradstep-sys/source
  mkdir -p "$source/bindings"
  cp -r "$source_tree"/{CMakeLists.txt,LICENSE,cmake,include,src,third_party} "$source"
  cp -r "$source_tree"/bindings/{CMakeLists.txt,cpp} "$source/bindings"
  for crate in gradstep-sys gradstep; do cp "$source_tree/LICENSE" "$workspace/$crate"; done
  rm -f "$out"/gradstep*.crate
  # Built by the check; the working tree around is not what is packaged.
  (cd "$workspace" && CARGO_TARGET_DIR=$work/crates cargo package --quiet --locked --no-verify --allow-dirty \
    --package gradstep-sys --package gradstep </dev/null)
  cp "$work"/crates/package/gradstep{,-sys}-"$(scripts/version)".crate "$out"
}

# Built without a network on a Debian 13, whose Rust is the oldest that is promised, from the crates alone.
check_crates() {
  local system=$work/debian13_rust project=$work/outside_rust crate instruction_set
  instruction_set=$(expected_instruction_set)
  rm -rf "$project"
  cp -r tests/package/rust "$project"
  for crate in gradstep gradstep-sys; do
    mkdir -p "$project/crates/$crate"
    tar -C "$project/crates/$crate" --strip-components 1 -xzf "$out/$crate-$(scripts/version).crate"
    [ -s "$project/crates/$crate/LICENSE" ] || die "$crate lacks its licence"
  done
  [ -s "$project/crates/gradstep-sys/source/third_party/fmt/LICENCE" ] || die "gradstep-sys lacks licences"
  mkdir "$project/.cargo"
  (cd "$project" && cargo vendor --quiet vendor </dev/null >/dev/null)
  printf '%s\n' '[source.crates-io]' 'replace-with = "vendored"' '[source.vendored]' 'directory = "vendor"' \
    >"$project/.cargo/config.toml"
  system_root debian13_rust trixie --include=cargo,g++,cmake,make
  no_file "$system" 'libgradstep*' 'pkg-config'
  as_root rm -rf "$system/outside"
  as_root cp -r "$project" "$system/outside"
  installing run_offline "$system" sh -c 'cd /outside && HOME=/outside cargo build --quiet --offline --release'
  run_offline "$system" sh -c 'cd /outside && HOME=/outside cargo run --quiet --offline --release "$1"' sh "$instruction_set"
}
