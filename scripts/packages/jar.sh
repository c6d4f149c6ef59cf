# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The Maven artifact, in a repository of files: the jar with the JNI library for glibc 2.28 or later and its Gloo plugin,
# the jars of its sources and its Javadoc, and the POM.

maven_repository=$root/build/packages/maven

package_jar() {
  apt_install "${java_packages[@]}"
  build_manylinux gradstep_java gradstep_gloo -- -DGRADSTEP_BUILD_JAVA=ON
  rm -rf "$maven_repository" "$manylinux_library/java/target"
  [ "$(newest_jdk)" ] || say "jar: there is no JDK 22 or later, so it has no segments"
  JAVA_HOME=$(newest_jdk) mvn -q -B -ntp -f "$source_tree/bindings/java/pom.xml" \
    "-Dgradstep.build=$manylinux_library" -Dmaven.test.skip=true -Dmaven.install.skip=true \
    "-DaltDeploymentRepository=packages::file://$maven_repository" deploy </dev/null
}

# A foreign project takes the artifact from the repository, into a local one that is empty; then its program runs
# on a Debian 12 that has a Java runtime and no compiler.
check_jar() {
  local instruction_set project=$work/outside_java system=$work/debian12_java version folder jar
  instruction_set=$(expected_instruction_set)
  version=$(scripts/version)
  folder=$maven_repository/org/gradstep/gradstep/$version
  jar=$folder/gradstep-$version.jar
  for file in "$jar" "${jar%.jar}"-{sources,javadoc}.jar "${jar%.jar}.pom"; do
    [ -s "$file" ] || die "the repository has no $(basename "$file")"
  done
  rm -rf "$project"
  cp -r tests/package/java "$project"
  mkdir "$project/opened"
  (cd "$project/opened" && jar -xf "$jar" && [ -s META-INF/LICENSE ] && [ -s META-INF/third_party/fmt/LICENCE ]) ||
    die "the jar lacks licences"
  check_needs "$project/opened"
  mvn -q -B -ntp -f "$project/pom.xml" "-Dmaven.repo.local=$project/local" "-Dgradstep.repository=file://$maven_repository" \
    "-Dgradstep.instruction_set=$instruction_set" verify </dev/null
  system_root debian12_java bookworm --include=openjdk-17-jre-headless
  no_file "$system" 'libgloo*' 'gcc' 'gcc-*' 'g++*' 'cc' 'javac' 'libstdc++.a'
  as_root rm -rf "$system/outside"
  as_root mkdir "$system/outside"
  as_root cp "$jar" "$project/target/outside.jar" "$system/outside"
  # Java finds its libraries by /proc.
  run_with_proc "$system" java -cp "/outside/$(basename "$jar"):/outside/outside.jar" outside.Outside "$instruction_set"
}
