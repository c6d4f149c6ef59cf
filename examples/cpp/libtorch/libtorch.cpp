// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A module of LibTorch learns the product of two inputs by gradstep's AdamW, which steps the module's own memory: two
// micro-batches to an update, clipped by norm. torch::optim::AdamW trains a copy, and both must stay equal to 1e-4.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <gradstep/libtorch.hpp>

namespace {

constexpr int kUpdates = 300, kMicroBatches = 2, kPoints = 64;
constexpr double kLearningRate = 0.01, kMaxNorm = 1, kLargestError = 1e-4, kLargestLoss = 0.02;

torch::nn::Sequential new_model() {
  torch::manual_seed(1);
  return torch::nn::Sequential(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Linear(32, 1));
}

torch::Tensor new_points() { return torch::rand({kPoints, 2}) * 2 - 1; }

torch::Tensor loss_of(torch::nn::Sequential& model, const torch::Tensor& points) {
  return torch::mse_loss(model->forward(points), points.prod(1, /*keepdim=*/true));
}

void train_by_gradstep(torch::nn::Sequential& model) {
  // docs:begin handles
  const gradstep::Context context;
  const gradstep::TensorList params = gradstep::tensors_of(model->parameters());
  const gradstep::Parameters parameters = gradstep::parameters_of(model->named_parameters());
  gradstep::Optimizer adamw(context, gradstep::AdamWOptions{.learning_rate = kLearningRate, .weight_decay = 0.01},
                            parameters);
  const gradstep::Accumulator accumulator(context, {.mode = gradstep::AccumulationMode::kMean, .steps = kMicroBatches},
                                          parameters);
  gradstep::Updater updater(context, adamw, &accumulator, nullptr, {.max_norm = kMaxNorm});
  // docs:end handles
  // docs:begin train
  while (adamw.step_count() < kUpdates) {
    model->zero_grad();
    loss_of(model, new_points()).backward();
    updater.push(params, gradstep::grads_of(model->parameters()));
  }
  // docs:end train
}

void train_by_libtorch(torch::nn::Sequential& model) {
  torch::optim::AdamW adamw(model->parameters(), torch::optim::AdamWOptions(kLearningRate).weight_decay(0.01));
  for (int update = 0; update < kUpdates; ++update) {
    model->zero_grad();
    for (int i = 0; i < kMicroBatches; ++i) (loss_of(model, new_points()) / kMicroBatches).backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), kMaxNorm);
    adamw.step();
  }
}

}  // namespace

int main() try {
  torch::set_num_threads(1);
  torch::nn::Sequential model = new_model();
  train_by_gradstep(model);
  torch::nn::Sequential reference = new_model();
  train_by_libtorch(reference);
  double error = 0;
  for (std::size_t i = 0; i < model->parameters().size(); ++i) {
    error = std::max(error, (model->parameters()[i] - reference->parameters()[i]).abs().max().item<double>());
  }
  const double loss = loss_of(model, new_points()).item<double>();
  std::printf("%d updates: loss %.4f, largest difference to torch::optim::AdamW %.1e\n", kUpdates, loss, error);
  return error < kLargestError && loss < kLargestLoss ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
