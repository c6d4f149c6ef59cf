// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, and the driver's modules, on the emulated device: a source is compiled by the host's compiler into a shared
// library, whose path is its image. A kernel is its function gradstep_program (cuda/device/program.h).
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/emulation/device.h"

struct nvrtc_program {
  std::filesystem::path folder;
  std::string log;
  std::string image;
};

struct CUmod_st {
  void* library;
};

struct CUfunc_st {
  void (*run)(gradstep::emulation::Block& block, const void* kernel);
  std::size_t bytes;
};

namespace gradstep::emulation {

namespace {

constexpr int kInvalidInput = 3;
constexpr int kInvalidOption = 5;
constexpr int kCompilation = 6;
constexpr int kDriverInvalidValue = 1;
constexpr int kInvalidImage = 200;
constexpr int kNotFound = 500;

int version(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

int count_architectures(int* count) {
  *count = 2;
  return 0;
}

int list_architectures(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  return 0;
}

void write(const std::filesystem::path& path, const char* text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

int create(nvrtc_program** program, const char* source, const char* name, int headers, const char* const* texts,
           const char* const* names) {
  std::string folder = std::filesystem::temp_directory_path() / "gradstep_program_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return kInvalidInput;
  *program = new nvrtc_program{folder, {}, {}};
  write((*program)->folder / name, source);
  for (int k = 0; k < headers; ++k) {
    // The host's compiler has the standard library's.
    if (std::strchr(names[k], '/') != nullptr) write((*program)->folder / names[k], texts[k]);
  }
  return 0;
}

/// This library's, whose functions a program calls.
std::string own_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&own_path), &info);
  return info.dli_fname;
}

int compile(nvrtc_program* program, int options, const char* const* texts) {
  bool is_exact = false;
  bool is_known = false;
  for (int k = 0; k < options; ++k) {
    is_exact = is_exact || std::strcmp(texts[k], "--fmad=false") == 0;
    is_known = is_known || std::strcmp(texts[k], "--gpu-architecture=sm_90") == 0;
  }
  if (!is_exact || !is_known) return kInvalidOption;
  const std::filesystem::path image = program->folder / "program.so";
  const std::string log = program->folder / "log";
  const std::string command =
      std::string(GRADSTEP_EMULATION_COMPILER) + " -x c++ -std=c++20 -O1 -w -fPIC -shared -ffp-contract=off -I'" +
      program->folder.string() +
      "' -I'" GRADSTEP_EMULATION_TESTS "' -I'" GRADSTEP_EMULATION_TESTS "/cuda/emulation/include' '" +
      (program->folder / "program.cu").string() + "' -x none '" + own_path() + "' -o '" + image.string() + "' >'" +
      log + "' 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  program->log = text.str();
  program->image = image;
  return status == 0 ? 0 : kCompilation;
}

int log_bytes(nvrtc_program* program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return 0;
}

int log(nvrtc_program* program, char* text) {
  std::memcpy(text, program->log.c_str(), program->log.size() + 1);
  return 0;
}

/// It is loaded when it is read: the folder goes with the program.
int image_bytes(nvrtc_program* /*program*/, std::size_t* bytes) {
  *bytes = sizeof(void*);
  return 0;
}

int image(nvrtc_program* program, char* image) {
  void* const library = dlopen(program->image.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kCompilation;
  std::memcpy(image, &library, sizeof library);
  return 0;
}

int destroy(nvrtc_program** program) {
  std::filesystem::remove_all((*program)->folder);
  delete *program;
  *program = nullptr;
  return 0;
}

const char* error_string(int result) { return result == kCompilation ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }

int load_module(CUmod_st** module, const void* image) {
  if (is_refused_beside_captures()) return kDriverInvalidValue;
  void* library = nullptr;
  std::memcpy(&library, image, sizeof library);
  if (library == nullptr) return kInvalidImage;
  *module = new CUmod_st{library};
  return 0;
}

int find_kernel(CUfunc_st** kernel, CUmod_st* module, const char* name) {
  void* const run = dlsym(module->library, name);
  void* const bytes = dlsym(module->library, (std::string(name) + "_bytes").c_str());
  if (run == nullptr || bytes == nullptr) return kNotFound;
  *kernel = new CUfunc_st{reinterpret_cast<void (*)(Block&, const void*)>(run), *static_cast<std::size_t*>(bytes)};
  return 0;
}

int launch_kernel(CUfunc_st* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                  unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream_st* stream, void** parameters,
                  void** extra) {
  if (grid_y * grid_z * block_y * block_z != 1 || extra != nullptr) return kDriverInvalidValue;
  const auto* const first = static_cast<const std::byte*>(parameters[0]);
  const auto run = [run = kernel->run, object = std::vector<std::byte>(first, first + kernel->bytes)](Block& block) {
    run(block, object.data());
  };
  return launch({"program", grid_x, static_cast<int>(block_x), shared_bytes, /*waits=*/true, run}, stream);
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

const std::map<std::string, void*>& nvrtc_symbols() {
  static const std::map<std::string, void*> all = {{"nvrtcVersion", address_of(version)},
                                                   {"nvrtcGetNumSupportedArchs", address_of(count_architectures)},
                                                   {"nvrtcGetSupportedArchs", address_of(list_architectures)},
                                                   {"nvrtcCreateProgram", address_of(create)},
                                                   {"nvrtcCompileProgram", address_of(compile)},
                                                   {"nvrtcGetProgramLogSize", address_of(log_bytes)},
                                                   {"nvrtcGetProgramLog", address_of(log)},
                                                   {"nvrtcGetCUBINSize", address_of(image_bytes)},
                                                   {"nvrtcGetCUBIN", address_of(image)},
                                                   {"nvrtcGetPTXSize", address_of(image_bytes)},
                                                   {"nvrtcGetPTX", address_of(image)},
                                                   {"nvrtcDestroyProgram", address_of(destroy)},
                                                   {"nvrtcGetErrorString", address_of(error_string)}};
  return all;
}

void add_module_symbols(std::map<std::string, void*>& driver) {
  driver["cuModuleLoadData"] = address_of(load_module);
  driver["cuModuleGetFunction"] = address_of(find_kernel);
  driver["cuLaunchKernel"] = address_of(launch_kernel);
}

}  // namespace gradstep::emulation
