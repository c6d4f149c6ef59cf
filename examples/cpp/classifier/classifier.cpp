// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Four ranks, each a thread with a quarter of the points and a replica of the model, learn which of three clouds a
// point of the plane belongs to: softmax regression by AdamW, two micro-batches to an update, gradients averaged over
// ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <random>
#include <sstream>
#include <thread>

namespace {

constexpr int kRanks = 4;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kPoints = 64;  // in a micro-batch
constexpr int kUpdates = 200;

struct Point {
  std::array<float, 2> x;
  std::size_t label;
};

/// Clouds of unit width around three corners of a triangle.
class Clouds {
 public:
  explicit Clouds(unsigned seed) : random_(seed) {}
  std::vector<Point> draw(std::size_t n) {
    constexpr float kCentres[kClasses][2] = {{0, 3}, {-3, -2}, {3, -2}};
    std::vector<Point> points;
    for (std::size_t i = 0; i < n; ++i) {
      const float* centre = kCentres[i % kClasses];
      points.push_back({{centre[0] + noise_(random_), centre[1] + noise_(random_)}, i % kClasses});
    }
    return points;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<float> noise_;
};

/// logits = weight x + bias.
struct Model {
  std::vector<float> weight = std::vector<float>(kClasses * 2);
  std::vector<float> bias = std::vector<float>(kClasses);

  [[nodiscard]] std::array<float, kClasses> probabilities(const Point& point) const {
    std::array<float, kClasses> p{};
    float sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      p[c] = std::exp(weight[2 * c] * point.x[0] + weight[2 * c + 1] * point.x[1] + bias[c]);
      sum += p[c];
    }
    for (float& each : p) each /= sum;
    return p;
  }

  /// The mean gradient of the cross-entropy over the points.
  void gradients(const std::vector<Point>& points, Model& into) const {
    std::fill(into.weight.begin(), into.weight.end(), 0.0F);
    std::fill(into.bias.begin(), into.bias.end(), 0.0F);
    for (const Point& point : points) {
      const auto p = probabilities(point);
      for (std::size_t c = 0; c < kClasses; ++c) {
        const float error = (p[c] - (c == point.label ? 1.0F : 0.0F)) / static_cast<float>(points.size());
        into.weight[2 * c] += error * point.x[0];
        into.weight[2 * c + 1] += error * point.x[1];
        into.bias[c] += error;
      }
    }
  }

  [[nodiscard]] double accuracy(const std::vector<Point>& points) const {
    const auto right = std::count_if(points.begin(), points.end(), [this](const Point& point) {
      const auto p = probabilities(point);
      return p[point.label] == *std::max_element(p.begin(), p.end());
    });
    return static_cast<double>(right) / static_cast<double>(points.size());
  }
};

/// What a rank does, from its model to the state that is saved at the end.
std::string train(const gradstep::Context& context, gradstep::Communicator& comm, Model& model) {
  // docs:begin handles
  const gradstep::Parameters parameters = {{.name = "weight", .shape = {kClasses, 2}},
                                           {.name = "bias", .shape = {kClasses}, .group = 1}};
  gradstep::Optimizer adamw(context, gradstep::AdamWOptions{.learning_rate = 0.1, .weight_decay = 0.01}, parameters);
  adamw.set_value("weight_decay", 0, /*group=*/1);
  const gradstep::Accumulator accumulator(context, {.mode = gradstep::AccumulationMode::kMean, .steps = 2}, parameters);
  const gradstep::Reducer reducer(context, comm, {}, parameters);
  gradstep::Updater updater(context, adamw, &accumulator, &reducer, {.max_norm = 1});
  // docs:end handles
  // docs:begin schedule
  adamw.set_value("learning_rate", [](std::int64_t t) { return 0.1 / (1 + 0.02 * static_cast<double>(t)); });
  // docs:end schedule
  // docs:begin push
  Model gradient;
  const gradstep::TensorList params = {gradstep::Tensor(model.weight, {kClasses, 2}), model.bias};
  const gradstep::ConstTensorList grads = {gradstep::ConstTensor(gradient.weight, {kClasses, 2}), gradient.bias};
  Clouds clouds(static_cast<unsigned>(1 + comm.rank()));
  // docs:begin loop
  while (adamw.step_count() < kUpdates) {
    model.gradients(clouds.draw(kPoints), gradient);
    updater.push(params, grads);
  }
  // docs:end loop
  // docs:end push
  std::ostringstream state;
  adamw.save(state);
  return state.str();
}

}  // namespace

int main() try {
  // docs:begin ranks
  const gradstep::Context context({.num_threads = 1});
  std::vector<gradstep::Communicator> comms = gradstep::Communicator::local(context, kRanks);
  std::vector<Model> models(kRanks);
  std::vector<std::string> states(kRanks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] { states[rank] = train(context, comms[rank], models[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  // docs:end ranks
  const double accuracy = models[0].accuracy(Clouds(100).draw(3000));
  std::printf("gradstep %s: %d updates on %d ranks, %.1f %% of new points are right\n", gradstep::version().c_str(),
              kUpdates, kRanks, 100 * accuracy);
  for (std::size_t rank = 1; rank < kRanks; ++rank) {
    if (models[rank].weight != models[0].weight || states[rank] != states[0]) {
      std::fprintf(stderr, "rank %zu has other numbers than rank 0\n", rank);
      return EXIT_FAILURE;
    }
  }
  // docs:begin errors
  try {
    const auto adam = gradstep::Optimizer::adam(context, {.learning_rate = 0.1, .beta1 = 2}, {});
  } catch (const gradstep::InvalidArgument& error) {
    std::printf("%s: %s\n", error.status_name(), error.what());
  }
  // docs:end errors
  return accuracy > 0.95 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
