# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Gradstep.jl with libgradstep and its Gloo plugin, for glibc 2.28 or later, in deps, where the package looks for them.

package_julia() {
  local package=$work/julia/Gradstep.jl library name
  build_manylinux gradstep gradstep_gloo
  rm -rf "$work/julia" "$out"/Gradstep.jl-*
  mkdir -p "$package"
  cp -r "$source_tree"/bindings/julia/Gradstep.jl/{Project.toml,ext,src} "$source_tree/LICENSE" "$package"
  library=$package/deps/$(uname -m)-linux-gnu
  mkdir -p "$library"
  cp "$manylinux_library/lib/libgradstep.so.0" "$manylinux_library/lib/libgradstep_gloo.so" "$library"
  for name in "$source_tree"/third_party/*; do
    install -Dm644 "$name/LICENCE" "$package/third_party/$(basename "$name")/LICENCE"
  done
  name=Gradstep.jl-$(scripts/version)-$(uname -m)-linux-gnu.tar.gz
  tar -C "$work/julia" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name" Gradstep.jl
}

# In a depot that has nothing but a registry without packages, or else Pkg would download the one of all packages.
check_julia() {
  local folder=$work/outside_julia instruction_set
  if ! ensure_julia; then
    echo "SKIPPED: there is no Julia 1.5 in the archive of Debian 11 any more"
    return "$skip_status"
  fi
  instruction_set=$(expected_instruction_set)
  rm -rf "$folder"
  mkdir -p "$folder/depot/registries/None"
  printf '%s\n' 'name = "None"' 'uuid = "5d1f5bd0-8d6f-4c4e-9d0e-3f6f4b1c2a77"' 'repo = ""' '[packages]' \
    >"$folder/depot/registries/None/Registry.toml"
  tar -C "$folder" -xzf "$out"/Gradstep.jl-*.tar.gz
  check_needs "$folder/Gradstep.jl"
  cp tests/package/outside.jl "$folder"
  (
    cd "$folder"
    export JULIA_DEPOT_PATH=$folder/depot LD_LIBRARY_PATH=$root/.cache/julia/usr/lib/x86_64-linux-gnu
    unset GRADSTEP_LIB
    julia=("$root/.cache/julia/usr/bin/julia" --startup-file=no)
    installing "${julia[@]}" -e 'using Pkg; Pkg.develop(PackageSpec(path = "Gradstep.jl"))' </dev/null
    "${julia[@]}" outside.jl "$instruction_set" "$folder/Gradstep.jl/deps/" </dev/null
    # The variable's library takes the place of the one that the package brings.
    mkdir elsewhere
    cp Gradstep.jl/deps/*/*.so* elsewhere
    GRADSTEP_LIB=$folder/elsewhere "${julia[@]}" outside.jl "$instruction_set" "$folder/elsewhere/" </dev/null
  )
}
