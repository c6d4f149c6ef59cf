// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes at all are read as saved state: each is taken or refused with a status that state.h names, and what is
// refused changes nothing. With libFuzzer (GRADSTEP_BUILD_FUZZERS, clang) it makes up bytes; built with replay.cpp it
// runs over the corpus.
//
// Byte 0 of the input chooses what is loaded and whether the checksum is looked at: without, the fuzzer gets past it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gradstep/gradstep.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "state_reader: %s: %s\n", what, gradstep_last_error());
  std::abort();
}

struct Input {
  const std::uint8_t* data;
  size_t size;
};

gradstep_status read_input(void* user, void* data, size_t size, size_t* got) {
  auto* input = static_cast<Input*>(user);
  *got = size < input->size ? size : input->size;
  if (*got > 0) std::memcpy(data, input->data, *got);
  input->data += *got;
  input->size -= *got;
  return GRADSTEP_OK;
}

gradstep_status write_text(void* user, const void* data, size_t size) {
  static_cast<std::string*>(user)->append(static_cast<const char*>(data), size);
  return GRADSTEP_OK;
}

/// One small model: an optimizer and an accumulator in the middle of a window.
struct Handles {
  gradstep_context* context = nullptr;
  gradstep_optimizer* optimizer = nullptr;
  gradstep_accumulator* accumulator = nullptr;
  gradstep_updater* updater = nullptr;

  Handles() {
    static const int64_t shape[] = {3};
    gradstep_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    parameter.name = "w";
    parameter.shape = shape;
    parameter.ndim = 1;
    parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    parameter.device = {GRADSTEP_DEVICE_CPU, 0};
    gradstep_context_options context_options;
    gradstep_adam_options adam;
    gradstep_accumulator_options accumulate;
    require(gradstep_context_options_init(&context_options, sizeof context_options) == GRADSTEP_OK, "context options");
    context_options.num_threads = 1;
    require(gradstep_context_create(&context_options, &context) == GRADSTEP_OK, "context");
    require(gradstep_adam_options_init(&adam, sizeof adam) == GRADSTEP_OK, "adam options");
    adam.learning_rate = 0.1;
    require(gradstep_optimizer_create_adam(context, &adam, &parameter, 1, &optimizer) == GRADSTEP_OK, "adam");
    require(gradstep_accumulator_options_init(&accumulate, sizeof accumulate) == GRADSTEP_OK, "accumulator options");
    accumulate.steps = 2;
    require(gradstep_accumulator_create(context, &accumulate, &parameter, 1, &accumulator) == GRADSTEP_OK,
            "accumulator");
    require(gradstep_updater_create(context, optimizer, accumulator, nullptr, nullptr, &updater) == GRADSTEP_OK,
            "updater");
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    gradstep_updater_destroy(updater);
    gradstep_accumulator_destroy(accumulator);
    gradstep_optimizer_destroy(optimizer);
    gradstep_context_destroy(context);
  }

  std::string saved() {
    std::string text;
    gradstep_stream stream{};
    stream.struct_size = sizeof stream;
    stream.user = &text;
    stream.write = write_text;
    require(gradstep_updater_save(updater, &stream) == GRADSTEP_OK, "save");
    return text;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  static Handles handles;
  if (size == 0) return 0;
  Input input{data + 1, size - 1};
  gradstep_stream stream{};
  stream.struct_size = sizeof stream;
  stream.user = &input;
  stream.read = read_input;
  gradstep_load_options options{};
  options.struct_size = sizeof options;
  options.allow_unchecked = (data[0] >> 2) & 1;
  const std::string before = handles.saved();
  gradstep_status status = GRADSTEP_OK;
  switch (data[0] & 3) {
    case 0:
      status = gradstep_optimizer_load(handles.optimizer, &stream, &options);
      break;
    case 1:
      status = gradstep_accumulator_load(handles.accumulator, &stream, &options);
      break;
    default:
      status = gradstep_updater_load(handles.updater, &stream, &options);
      break;
  }
  require(status == GRADSTEP_OK || status == GRADSTEP_ERR_CORRUPT || status == GRADSTEP_ERR_MISMATCH ||
              status == GRADSTEP_ERR_UNSUPPORTED,
          gradstep_status_name(status));
  const std::string after = handles.saved();
  require(status == GRADSTEP_OK || after == before, "a refused file changed something");
  return 0;
}
