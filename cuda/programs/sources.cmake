# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=<file> -DNAMES=<name,...> -DFILES=<file,...> -P sources.cmake
# writes a C++ source with the texts of the files, under their names.

string(REPLACE "," ";" names "${NAMES}")
string(REPLACE "," ";" files "${FILES}")
set(head "// Made by cuda/programs/sources.cmake.\n#include \"programs/sources.h\"\n\nnamespace gradstep::cuda {\n\n")
string(APPEND head "std::span<const SourceHeader> source_headers() {\n  static constexpr SourceHeader kHeaders[] = {\n")
file(WRITE "${OUTPUT}" "${head}")
foreach(name file IN ZIP_LISTS names files)
  file(READ "${file}" text)
  file(APPEND "${OUTPUT}" "{\"${name}\", R\"gradstep(")
  file(APPEND "${OUTPUT}" "${text}")
  file(APPEND "${OUTPUT}" ")gradstep\"},\n")
endforeach()
file(APPEND "${OUTPUT}" "  };\n  return kHeaders;\n}\n\n}  // namespace gradstep::cuda\n")
