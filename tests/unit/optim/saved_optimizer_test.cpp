// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Saving in the middle and loading elsewhere: the steps that follow are those of the uninterrupted run.
#include "optim/saved_optimizer.h"

#include <fstream>

#include "core/file.h"
#include "optim/shampoo/shampoo.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"
#include "unit/ranks.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

gradstep_adam_options adam() {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.01;
  return o;
}

std::string save(Optimizer& optimizer) { return saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}); }

void load(Optimizer& optimizer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  load_optimizer(part, optimizer)();
}

/// Three steps, a save, and four more: by the optimizer itself, and by a new one on another number of threads that was
/// loaded with what was saved. `make(threads)` gives an optimizer of kShapes.
template <class Make>
void expect_resumes(const Make& make) {
  const auto run = [](Model<float>& model, Optimizer& optimizer, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t t = begin; t < end; ++t) {
      model.draw_gradients(t);
      model.step(optimizer);
    }
  };
  Model<float> model;
  auto first = make(1);
  run(model, *first, 0, 3);
  Model<float> resumed = model;
  auto second = make(3);
  load(*second, save(*first));
  EXPECT_EQ(second->step_count(), 3);
  run(model, *first, 3, 7);
  run(resumed, *second, 3, 7);
  for (std::size_t k = 0; k < kShapes.size(); ++k) EXPECT_EQ(model.params[k].values, resumed.params[k].values);
  EXPECT_EQ(save(*first), save(*second));
}

template <class Options>
void expect_rule_resumes(const Options& options) {
  expect_resumes([&](int threads) {
    return std::make_unique<FirstOrderOptimizer>(make_context(threads), make_rule(options), make_schema(kShapes));
  });
}

TEST(SavedOptimizer, EveryRuleAndStorageResumesWithTheSameBits) {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 0.1;
  sgd.momentum = 0.9;
  sgd.dampening = 0.5;
  sgd.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;  // the first gradient is remembered to have come
  expect_rule_resumes(sgd);
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  rmsprop.learning_rate = 0.01;
  rmsprop.momentum = 0.5;
  rmsprop.centered = 1;
  expect_rule_resumes(rmsprop);
  auto adagrad = default_options<gradstep_adagrad_options>();
  adagrad.learning_rate = 0.1;
  adagrad.initial_accumulator = 0.1;
  expect_rule_resumes(adagrad);
  for (const std::int32_t format :
       {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_BF16, GRADSTEP_STATE_DTYPE_INT8}) {
    auto o = adam();
    o.amsgrad = 1;
    o.state_dtype = format;
    o.stochastic_rounding = 1;
    expect_rule_resumes(o);
  }
}

TEST(SavedOptimizer, ShampooResumesWithTheSameBits) {
  for (const bool quantized : {false, true}) {
    auto o = default_shampoo_options();
    o.learning_rate = 0.1;
    o.block_size = 8;
    o.start_preconditioning_step = 1;
    o.preconditioning_compute_steps = 2;
    o.quantize_momentum = o.quantize_statistics = quantized ? 1 : 0;
    expect_resumes(
        [&](int threads) { return std::make_unique<Shampoo>(make_context(threads), o, make_schema(kShapes)); });
  }
}

TEST(SavedOptimizer, AParameterWithoutAGradientSoFarIsRemembered) {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 0.1;
  sgd.momentum = 0.9;
  sgd.dampening = 0.5;
  sgd.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;
  auto optimizer = make_optimizer(sgd);
  Model<float> model;
  model.draw_gradients(0);
  const auto p = Model<float>::tensors(model.params);
  auto g = Model<float>::tensors(model.grads);
  g[1].data = nullptr;
  host::step(*optimizer, p.data(), g.data(), nullptr, 2);
  auto other = make_optimizer(sgd);
  load(*other, save(*optimizer));
  EXPECT_EQ(other->state().flags(), (std::vector<std::uint8_t>{1, 0}));
}

TEST(SavedOptimizer, TheOrderOfParametersMayChange) {
  auto forward = make_optimizer(adam());
  Model<float> model;
  model.draw_gradients(0);
  model.step(*forward);
  const Schema schema = make_schema(kShapes);
  gradstep_parameter swapped[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    const Parameter& parameter = schema[1 - i];
    swapped[i].struct_size = sizeof swapped[i];
    swapped[i].name = parameter.name.c_str();
    swapped[i].shape = parameter.shape.data();
    swapped[i].ndim = static_cast<std::int32_t>(parameter.shape.size());
    swapped[i].dtype = to_dlpack(parameter.dtype);
    swapped[i].device = parameter.device;
  }
  FirstOrderOptimizer backward(make_context(), make_rule(adam()), Schema(swapped, 2));
  load(backward, save(*forward));
  const Array a = forward->state().view(0, "exp_avg");
  const Array b = backward.state().view(1, "exp_avg");
  ASSERT_EQ(a.size, b.size);
  EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(a.bytes())), 0);
}

TEST(SavedOptimizer, WhatDoesNotFitIsNamedAndChangesNothing) {
  auto optimizer = make_optimizer(adam());
  Model<float> model;
  model.draw_gradients(0);
  model.step(*optimizer);
  const std::string own = save(*optimizer);
  const auto refused = [&](gradstep_status status, const std::string& text, const std::string& bytes) {
    expect_error(status, text, [&] { load(*optimizer, bytes); });
    EXPECT_EQ(save(*optimizer), own);
  };
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 1;
  refused(GRADSTEP_ERR_MISMATCH, "that of sgd, the optimizer is adam", save(*make_optimizer(sgd)));
  auto o = adam();
  o.amsgrad = 1;
  refused(GRADSTEP_ERR_MISMATCH, "p0/max_exp_avg_sq", save(*make_optimizer(o)));
  o = adam();
  o.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
  refused(GRADSTEP_ERR_MISMATCH, "p0/exp_avg' is BF16", save(*make_optimizer(o)));
  FirstOrderOptimizer other_shape(make_context(), make_rule(adam()), make_schema({{7, 5}, {1001}}));
  refused(GRADSTEP_ERR_MISMATCH, "'p1' has shape (1001) in the saved state, expected (1000)", save(other_shape));
  FirstOrderOptimizer fewer(make_context(), make_rule(adam()), make_schema({{7, 5}}));
  refused(GRADSTEP_ERR_MISMATCH, "no parameter 'p1'", save(fewer));
  FirstOrderOptimizer more(make_context(), make_rule(adam()), make_schema({{7, 5}, {1000}, {3}}));
  refused(GRADSTEP_ERR_MISMATCH, "parameter 'p2', which is not here", save(more));
  auto poisoned = make_optimizer(adam());
  static_cast<float*>(poisoned->state().view(1, "exp_avg").data)[7] = std::numeric_limits<float>::quiet_NaN();
  SavedPart part = save_optimizer(*poisoned);
  for (SavedTensor& tensor : part.tensors) tensor.is_finite = false;  // as a file of another program
  refused(GRADSTEP_ERR_CORRUPT, "p1/exp_avg", saved_bytes("optimizer", {{"", part}}));
}

TEST(SavedOptimizer, ARuleWithoutStateStillKnowsItsModel) {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 1;
  FirstOrderOptimizer other(make_context(), make_rule(sgd), make_schema({{3}}));
  auto optimizer = make_optimizer(sgd);
  expect_error(GRADSTEP_ERR_MISMATCH, "'p0' has shape (7,5)", [&] { load(other, save(*optimizer)); });
}

TEST(SavedOptimizer, HyperParametersAreToldAndNotRestored) {
  auto optimizer = make_optimizer(adam());
  const StateFile file = read_bytes(save(*optimizer));
  EXPECT_NE(file.metadata().at("hyper_parameters").find("\"learning_rate\":0.01"), std::string::npos);
  auto o = adam();
  o.learning_rate = 0.5;
  auto other = make_optimizer(o);
  load(*other, save(*optimizer));
  EXPECT_EQ(other->get_value(0, "learning_rate"), 0.5);
}

/// Gradients by step, equal on every rank.
struct Replay {
  static const std::vector<std::vector<std::int64_t>>& shapes() {
    static const std::vector<std::vector<std::int64_t>> all = {{3 * kChunk + 5}, {10}, {kChunk}};
    return all;
  }
  Schema schema = make_schema(shapes());
  std::vector<std::vector<float>> params;
  std::vector<std::vector<float>> grads;

  Replay() {
    for (const Parameter& parameter : schema) {
      params.push_back(random_values<float>(static_cast<std::size_t>(parameter.size), 3));
      grads.emplace_back(params.back().size());
    }
  }
  void step(Optimizer& optimizer, std::uint32_t t) {
    std::vector<gradstep_tensor> p;
    std::vector<gradstep_tensor> g;
    for (std::size_t i = 0; i < params.size(); ++i) {
      grads[i] = random_values<float>(grads[i].size(), 17 * t + static_cast<std::uint32_t>(i));
      p.push_back(view_of(schema, i, params[i].data(), DType::f32));
      g.push_back(view_of(schema, i, grads[i].data(), DType::f32));
    }
    host::step(optimizer, p.data(), g.data(), nullptr, p.size());
  }
};

TEST(SavedOptimizer, SavedOnFourRanksItResumesOnOneAndOnThree) {
  for (const std::int32_t format : {GRADSTEP_STATE_DTYPE_NATIVE, GRADSTEP_STATE_DTYPE_INT8}) {
    auto o = adam();
    o.state_dtype = format;
    Replay expected;
    FirstOrderOptimizer uninterrupted(make_context(), make_rule(o), expected.schema);
    for (std::uint32_t t = 0; t < 6; ++t) expected.step(uninterrupted, t);

    gradstep_sharding_options exchange{};
    exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    std::string bytes;
    std::vector<std::vector<float>> params;
    run_ranks(4, [&](Communicator& comm) {
      Replay replay;
      FirstOrderOptimizer optimizer(make_context(), make_rule(o), replay.schema);
      optimizer.attach(&comm, exchange);
      for (std::uint32_t t = 0; t < 3; ++t) replay.step(optimizer, t);
      // Every rank walks through the tensors; rank 0 writes.
      Memory memory;
      write_state_file(comm.rank() == 0 ? &memory : nullptr, "optimizer", {{"", save_optimizer(optimizer)}});
      if (comm.rank() == 0) {
        bytes = memory.bytes;
        params = replay.params;
      }
    });
    for (const std::int32_t ranks : {1, 3}) {
      run_ranks(ranks, [&](Communicator& comm) {
        Replay replay;
        replay.params = params;
        FirstOrderOptimizer optimizer(make_context(), make_rule(o), replay.schema);
        if (ranks > 1) optimizer.attach(&comm, exchange);
        Memory memory(bytes);
        const StateFile file(memory, false, own_parts(optimizer, ""));
        std::int64_t kept = 0;
        for (const auto& [key, tensor] : file.tensors()) kept += tensor.bytes;
        EXPECT_EQ(kept, bytes_held(optimizer)) << "a rank reads more than its own part";
        LoadedPart part(file, "");
        load_optimizer(part, optimizer)();
        for (std::uint32_t t = 3; t < 6; ++t) replay.step(optimizer, t);
        EXPECT_EQ(replay.params, expected.params) << ranks << " ranks";
      });
    }
  }
}

// Files of format 1 load for ever, and are written again as they were.
TEST(SavedOptimizer, GoldenFilesOfFormat1Load) {
  const auto golden = [](const char* name, auto options) {
    std::ifstream file(std::string(GRADSTEP_GOLDEN_DIR) + "/" + name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto loaded = make_optimizer(options);
    load(*loaded, bytes);
    EXPECT_EQ(loaded->step_count(), 2);
    EXPECT_EQ(save(*loaded), bytes) << name;
    // They are of the steps that this optimizer makes, by an earlier order of operations.
    Model<float> model;
    auto optimizer = make_optimizer(options);
    for (std::uint32_t t = 0; t < 2; ++t) {
      model.draw_gradients(t);
      model.step(*optimizer);
    }
    const std::vector<StoredState> own = optimizer->state().stored();
    const std::vector<StoredState> of_file = loaded->state().stored();
    for (std::size_t s = 0; s < own.size(); ++s) {
      if (own[s].array.dtype != DType::f32) continue;
      const auto* expected = static_cast<const float*>(own[s].array.data);
      const auto* found = static_cast<const float*>(of_file[s].array.data);
      for (std::int64_t i = 0; i < own[s].array.size; ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6) << name << ", " << own[s].name;
      }
    }
  };
  golden("adam_v1.safetensors", adam());
  auto coded = adam();
  coded.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  golden("adam_int8_octaves_v1.safetensors", coded);
  auto rmsprop = default_options<gradstep_rmsprop_options>();
  rmsprop.learning_rate = 0.01;
  rmsprop.momentum = 0.5;
  golden("rmsprop_momentum_v1.safetensors", rmsprop);
}

/// What the golden file without 'block_code', which has the dynamic code, decodes to, by the definition of Dettmers et
/// al. 2022, and for how many the new code is not exact.
std::vector<double> dynamic_numbers(const StateFile& file, const std::string& key, bool is_signed) {
  std::vector<double> numbers = {0};
  for (int decade = 0; decade < 7; ++decade) {
    const int cells = (is_signed ? 1 : 2) << decade;
    for (int cell = 0; cell < cells; ++cell) {
      numbers.push_back((0.1 + 0.9 * (cell + 0.5) / cells) * std::pow(10.0, decade - 6));
    }
  }
  const std::size_t magnitudes = numbers.size();
  for (std::size_t i = 1; is_signed && i < magnitudes; ++i) numbers.insert(numbers.begin(), -numbers[2 * i - 1]);
  numbers.push_back(1);
  const StateFile::Tensor& codes = file.tensors().at(key);
  const StateFile::Tensor& factors = file.tensors().at(key + ".scales");
  std::vector<double> decoded;
  for (std::int64_t i = 0; i < codes.bytes; ++i) {
    float factor = 0;
    std::memcpy(&factor, factors.data + i / 256 * 4, sizeof factor);
    decoded.push_back(numbers.at(std::to_integer<std::size_t>(codes.data[i])) * static_cast<double>(factor));
  }
  return decoded;
}

TEST(SavedOptimizer, CodesOfFilesThatDoNotNameTheirsAreRounded) {
  auto options = adam();
  options.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  FileSource source(std::string(GRADSTEP_GOLDEN_DIR) + "/adam_int8_v1.safetensors");
  const StateFile file(source, false);
  ASSERT_EQ(file.metadata().count("block_code"), 0U);
  auto loaded = make_optimizer(options);
  LoadedPart part(file, "");
  load_optimizer(part, *loaded)();
  EXPECT_EQ(loaded->step_count(), 2);
  for (const auto& [name, is_signed] : {std::pair("exp_avg", true), std::pair("exp_avg_sq", false)}) {
    const std::vector<double> expected = dynamic_numbers(file, "p1/" + std::string(name), is_signed);
    ASSERT_EQ(expected.size(), 1000U);
    std::vector<double> state(1000);
    Array host;
    host.data = state.data();
    host.size = 1000;
    host.dtype = DType::f64;
    loaded->state().get(1, name, host);
    for (std::size_t block = 0; block < 1000; block += 256) {
      double largest = 0;
      for (std::size_t i = block; i < std::min<std::size_t>(block + 256, 1000); ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        // docs/numerics.md: an eighth up to 14 octaves below the largest; the smallest are a 2^-14 of it.
        ASSERT_NEAR(state[i], expected[i], std::abs(expected[i]) / 8 + 1e-9) << name << ' ' << i;
      }
      const auto end = state.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(block + 256, 1000));
      const auto same = [&](double x) { return std::abs(std::abs(x) - largest) < 1e-6 * largest; };
      EXPECT_TRUE(std::any_of(state.begin() + static_cast<std::ptrdiff_t>(block), end, same)) << "kept exactly";
    }
  }
  // What was loaded is saved by the new code's name, and then loads without a change.
  const std::string saved = save(*loaded);
  EXPECT_NE(saved.find("\"block_code\":\"octaves\""), std::string::npos);
  auto again = make_optimizer(options);
  load(*again, saved);
  EXPECT_EQ(save(*again), saved);
}

TEST(SavedOptimizer, CodesThatAreNotKnownAreRefused) {
  auto options = adam();
  options.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  auto optimizer = make_optimizer(options);
  SavedPart part = save_optimizer(*optimizer);
  part.set("block_code", "of_a_later_version");
  const std::string bytes = saved_bytes("optimizer", {{"", part}});
  expect_error(GRADSTEP_ERR_UNSUPPORTED,
               "'block_code' is 'of_a_later_version', this version of gradstep reads 'octaves'",
               [&] { load(*optimizer, bytes); });
}

TEST(SavedOptimizer, LoadingIsInTheLog) {
  RecordedLog records;
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.1;
  FirstOrderOptimizer saved(make_context(), make_rule(options), make_schema(kShapes));
  FirstOrderOptimizer loaded(records.context(), make_rule(options), make_schema(kShapes));
  Model<float> model;
  model.draw_gradients(1);
  model.step(saved);
  const StateFile file = read_bytes(saved_bytes("optimizer", {{"", save_optimizer(saved)}}));
  LoadedPart part(file, "");
  load_optimizer(part, loaded)();
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "optimizer adam: loaded a state of 1 steps"), 1);
}

}  // namespace
}  // namespace gradstep::test
