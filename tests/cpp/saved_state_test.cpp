// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <gradstep/gradstep.hpp>
#include <sstream>

namespace gradstep {
namespace {

const Parameters kSchema = {{.shape = {2}}};

Optimizer momentum_of_one_step(const Context& context) {
  auto sgd = Optimizer::sgd(context, {.learning_rate = 1, .momentum = 0.5}, kSchema);
  std::vector<float> value(2);
  const std::vector<float> gradient{1, 2};
  sgd.step(TensorList{value}, ConstTensorList{gradient});
  return sgd;
}

TEST(CppSavedState, WhatAStreamTookIsWhatALoadGives) {
  const Context context;
  const auto saved = momentum_of_one_step(context);
  std::stringstream stream;
  saved.save(stream);
  auto loaded = Optimizer::sgd(context, {.learning_rate = 1, .momentum = 0.5}, kSchema);
  loaded.load(stream);
  EXPECT_EQ(loaded.step_count(), 1);
  EXPECT_EQ(loaded.state(0, "momentum_buffer").as<const float>()[1], 2);
}

TEST(CppSavedState, AFileIsWrittenAndRead) {
  const Context context;
  const auto path = std::filesystem::temp_directory_path() / ("gradstep_cpp_" + std::to_string(::getpid()));
  momentum_of_one_step(context).save_file(path);
  auto loaded = Optimizer::sgd(context, {.learning_rate = 1, .momentum = 0.5}, kSchema);
  loaded.load_file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.step_count(), 1);
  EXPECT_THROW(loaded.load_file(path), IoError);
}

TEST(CppSavedState, AFlippedByteIsFoundAndNothingIsLoaded) {
  const Context context;
  std::stringstream stream;
  momentum_of_one_step(context).save(stream);
  std::string bytes = stream.str();
  bytes[bytes.size() - 30] ^= 1;
  std::istringstream changed(bytes);
  auto loaded = Optimizer::sgd(context, {.learning_rate = 1, .momentum = 0.5}, kSchema);
  EXPECT_THROW(loaded.load(changed), Corrupt);
  EXPECT_EQ(loaded.step_count(), 0);
}

TEST(CppSavedState, AStreamThatTakesNothingMoreFailsTheSave) {
  const Context context;
  std::ostringstream full;
  full.setstate(std::ios::badbit);
  EXPECT_THROW(momentum_of_one_step(context).save(full), CallbackError);
}

TEST(CppSavedState, AWindowIsResumed) {
  const Context context;
  const std::vector<float> gradient{1, 2};
  const ConstTensorList grads{gradient};
  Accumulator saved(context, {.mode = AccumulationMode::kSum, .steps = 2}, kSchema);
  saved.add(grads);
  std::stringstream stream;
  saved.save(stream);
  Accumulator loaded(context, {.mode = AccumulationMode::kSum, .steps = 2}, kSchema);
  loaded.load(stream);
  EXPECT_TRUE(loaded.add(grads));
  EXPECT_EQ(loaded.gradients()[0].as<const float>()[1], 4);
}

}  // namespace
}  // namespace gradstep
