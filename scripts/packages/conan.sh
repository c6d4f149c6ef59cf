# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The package that Conan makes of conanfile.py, for the compiler that is here. The three libraries of headers are the system's,
# so that no recipe of others is needed.

conan_tools=$root/.cache/conan
conan_requirement=conan==2.34.0

# in_conan FOLDER ARGUMENT...: Conan with a home of its own.
in_conan() {
  local home=$1
  shift
  CONAN_HOME=$home "$conan_tools/bin/conan" "$@"
}

# conan_home FOLDER: one that has a profile and nothing else.
conan_home() {
  if [ "$(cat "$conan_tools/wanted" 2>/dev/null)" != "$conan_requirement" ]; then
    rm -rf "$conan_tools"
    python3 -m venv "$conan_tools"
    "$conan_tools/bin/pip" install --quiet --disable-pip-version-check "$conan_requirement"
    echo "$conan_requirement" >"$conan_tools/wanted"
  fi
  rm -rf "$1"
  in_conan "$1" profile detect >/dev/null 2>&1
  in_conan "$1" remote remove '*' >/dev/null 2>&1
  printf '%s\n' '[settings]' compiler.cppstd=20 '[platform_requires]' fmt/9.1.0 nlohmann_json/3.11.2 xxhash/0.8.1 \
    '[conf]' "user.gradstep:dependencies_mirror=$dependencies" >"$1/profiles/system"
}

package_conan() {
  local home=$work/conan
  apt_install "${build_packages[@]}"
  conan_home "$home"
  in_conan "$home" create "$source_tree" -pr:a default -pr:a system --test-folder= >"$home.log" 2>&1 || {
    tail -n 50 "$home.log" >&2
    return 1
  }
  rm -f "$out"/gradstep-conan-*
  in_conan "$home" cache save 'gradstep/*:*' --no-source --file "$out/gradstep-conan-$(scripts/version)-$(uname -m).tgz" >/dev/null 2>&1
}

# In another home, where the package is restored and nothing can be built.
check_conan() {
  local home=$work/conan_outside project=$work/conan_project
  conan_home "$home"
  installing in_conan "$home" cache restore "$out"/gradstep-conan-*.tgz
  rm -rf "$project"
  cp -r tests/package "$project"
  in_conan "$home" test "$project/outside" "gradstep/$(scripts/version)" -pr:a default -pr:a system
}
