#SPDX - FileCopyrightText : 2026 The gradstep authors
#SPDX - License - Identifier : Apache - 2.0
#
#cmake - DOUTPUT = < file> - DNAMES = < name, ...> - DFILES = < file, \
         ...> - P sources.cmake : a C++ source with the texts of the files, under
#their names.

string(REPLACE
       ","
       ";" names "${NAMES}") string(REPLACE
                                    ","
                                    ";" files "${FILES}")
    set(source
        "// Made by cuda/programs/sources.cmake.\n#include \"programs/sources.h\"\n\nnamespace gradstep::cuda {\n\n")
        string(APPEND source
               "std::span<const SourceHeader> source_headers() {\n  static constexpr SourceHeader kHeaders[] = {\n")
            foreach (name file IN ZIP_LISTS names files) file(READ "${file}" text)
                string(APPEND source "{\"${name}\", R\"gradstep(${text})gradstep\"},\n") endforeach()
                    string(APPEND source "  };\n  return kHeaders;\n}\n\n}  // namespace gradstep::cuda\n")
                        file(WRITE
                             "${OUTPUT}"
                             "${source}")
