// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "programs/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/error.h"
#include "libraries/nvrtc.h"
#include "programs/sources.h"
#include "rules/text/print_cuda.h"

namespace gradstep::cuda {

namespace {

const char* type_of(ProgramKernel kernel) {
  switch (kernel) {
    case ProgramKernel::plain:
      return "Update<T, ProgramRule<T, Text>, PlainWay>";
    case ProgramKernel::staged:
      return "Update<T, ProgramRule<T, Text>, StagedWay>";
    case ProgramKernel::measure:
      break;
  }
  return "MeasureSums<T, ProgramRule<T, Text>>";
}

class NvrtcProgram {
 public:
  NvrtcProgram(const NvrtcFunctions& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const SourceHeader& header : source_headers()) {
      names.push_back(header.name);
      texts.push_back(header.text);
    }
    check(nvrtc.create(&program_, source.c_str(), "program.cu", static_cast<int>(names.size()), texts.data(),
                       names.data()),
          "nvrtcCreateProgram");
  }
  ~NvrtcProgram() { nvrtc_.destroy(&program_); }
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;

  void compile(const std::string& architecture) {
    const std::string option = "--gpu-architecture=" + architecture;
    // As cmake/GradstepCuda.cmake has them: the promise of equal bits rests on these.
    const char* const options[] = {"--std=c++20", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true",
                                   "--device-as-default-execution-space",
                                   // Functions of the compilers that formulas are written for.
                                   "-D__builtin_sqrtf=sqrtf", "-D__builtin_sqrt=sqrt", "-D__builtin_fabs=fabs",
                                   "-D__builtin_inf()=__longlong_as_double(0x7ff0000000000000LL)", option.c_str()};
    const int status = nvrtc_.compile(program_, static_cast<int>(std::size(options)), options);
    if (status == 0) return;
    fail(GRADSTEP_ERR_DEVICE, "nvrtcCompileProgram, for {}: {}\n{}", architecture, nvrtc_.error_string(status),
         read(nvrtc_.log_bytes, nvrtc_.log, "nvrtcGetProgramLog"));
  }
  std::string machine_code() const { return read(nvrtc_.cubin_bytes, nvrtc_.cubin, "nvrtcGetCUBIN"); }
  std::string ptx() const { return read(nvrtc_.ptx_bytes, nvrtc_.ptx, "nvrtcGetPTX"); }

 private:
  template <class Size, class Read>
  std::string read(Size bytes_of, Read write_to, const char* call) const {
    std::size_t bytes = 0;
    check(bytes_of(program_, &bytes), call);
    std::string text(bytes, '\0');
    check(write_to(program_, text.data()), call);
    return text;
  }

  void check(int status, const char* call) const {
    if (status != 0) fail(GRADSTEP_ERR_DEVICE, "{}: {}", call, nvrtc_.error_string(status));
  }

  const NvrtcFunctions& nvrtc_;
  NvrtcFunctions::Program program_ = nullptr;
};

}  // namespace

std::string program_source(const rules::text::Code& code, bool is_double, ProgramKernel kernel) {
  return fmt::format(
      "{}\nnamespace gradstep::cuda {{\n\nusing Kernel = {};\nGRADSTEP_PROGRAM_KERNEL(Kernel)\n\n"
      "}}  // namespace gradstep::cuda\n",
      rules::text::print_cuda(code, is_double), type_of(kernel));
}

std::string compile_program(const std::string& source, int major, int minor) {
  const NvrtcFunctions& nvrtc = nvrtc_functions();
  int count = 0;
  nvrtc.count_architectures(&count);
  std::vector<int> known(static_cast<std::size_t>(count));
  nvrtc.list_architectures(known.data());
  const int own = 10 * major + minor;
  int best = 0;
  for (const int architecture : known) {
    if (architecture <= own) best = std::max(best, architecture);
  }
  if (best == 0) fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "NVRTC knows no architecture up to {}.{}", major, minor);
  NvrtcProgram program(nvrtc, source);
  program.compile(fmt::format("{}_{}", best == own ? "sm" : "compute", best));
  return best == own ? program.machine_code() : program.ptx();
}

}  // namespace gradstep::cuda
