// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/graft.h"

#include "device/chunk.h"
#include "device/reduce.h"
#include "kernels/convert.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

using kernels::Graft;
using kernels::GraftScales;

struct FollowMasters {
  static constexpr const char* kName = "follow_masters";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.master == nullptr) return;
    for_each_element(block, chunk, [&](std::int64_t i) {
      const float master = block.load(tensor.master + i);
      const float present = block.load(tensor.value + i);
      block.store(tensor.master + i, tensor.is_half != 0 ? kernels::followed<kernels::Float16>(master, present)
                                                         : kernels::followed<kernels::BFloat16>(master, present));
    });
  }
};

struct WriteDirections {
  static constexpr const char* kName = "write_directions";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;
  Graft graft;
  const GraftScales* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0) return;
    const GroupItem& group = *block.checked(batch.groups + tensor.group);
    const float scale = kernels::is_normalized(graft) ? block.checked(scales + chunk.item)->gradient : 1.0F;
    for_each_element(block, chunk, [&](std::int64_t i) {
      block.store(tensor.direction + i, direction(block, tensor, group, scale, i));
    });
  }

  GRADSTEP_DEVICE float direction(const Block& block, const TensorItem& tensor, const GroupItem& group, float scale,
                                  std::int64_t i) const {
    const float g = block.load(tensor.gradient + i);
    if (graft == Graft::sqrt_n) return kernels::sign(g);
    float& v = *block.checked(tensor.statistics + i);
    if (graft == Graft::adam) return kernels::moment_direction(g, group.moments, *block.checked(tensor.exp_avg + i), v);
    return kernels::divide_by_root(g, scale, group.root, v);
  }
};

/// A chunk has a thread for each of the lanes of its sum.
struct SquareTensors {
  static constexpr const char* kName = "square_tensors";
  static constexpr int kThreads = 128;
  static constexpr bool kWaits = true;
  static constexpr int kSums = kernels::kGraftLanes;
  static constexpr int kTeams = kThreads / kSums;

  TensorBatch batch;
  bool of_gradients;  ///< and of nothing else
  double* squares;
  double* preconditioned_squares;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t c = block.index() * kTeams + block.thread() / kSums;
    const bool is_own = c < batch.chunks.count;
    const Chunk chunk = is_own ? block.load(batch.chunks.chunks + c) : Chunk{0, 0, 0};
    const TensorItem* tensor = is_own ? block.checked(batch.tensors + chunk.item) : nullptr;
    const bool takes_part = is_own && tensor->takes_part != 0;
    const float* input = takes_part ? of_gradients ? tensor->gradient : tensor->input : nullptr;
    const double sum = sum_of_squares(block, input, chunk);
    if (is_own && block.thread() % kSums == 0) block.store(squares + c, sum);
    if (of_gradients) return;
    const float* p = takes_part && tensor->preconditioned != 0 ? tensor->preconditioned_gradient : nullptr;
    const double preconditioned = sum_of_squares(block, p, chunk);
    if (is_own && block.thread() % kSums == 0) block.store(preconditioned_squares + c, preconditioned);
  }

  /// By all threads of a warp. x NULL = zeros.
  GRADSTEP_DEVICE static double sum_of_squares(Block& block, const float* x, const Chunk& chunk) {
    double sum = 0;
    for (std::int64_t k = block.thread() % kSums; x != nullptr && k < chunk.length; k += kSums) {
      const auto value = static_cast<double>(block.load(x + chunk.offset + k));
      sum += value * value;
    }
    for (int mask = 1; mask < kSums; mask *= 2) sum += block.shuffle_xor(sum, mask);
    return sum;
  }
};

/// A block has a tensor.
struct SetScales {
  static constexpr const char* kName = "set_scales";
  static constexpr int kThreads = 128;
  struct Shared {
    double trees[kThreads];
  };

  TensorBatch batch;
  Graft graft;
  bool of_gradients;
  const double* squares;
  const double* preconditioned_squares;
  GraftScales* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const TensorItem& tensor = *block.checked(batch.tensors + block.index());
    const double norm = norm_of(block, tensor, squares);
    const double preconditioned = of_gradients ? 0 : norm_of(block, tensor, preconditioned_squares);
    if (block.thread() != 0) return;
    GraftScales& own = *block.checked(scales + block.index());
    if (of_gradients) {
      own.gradient = kernels::normalizing_scale(norm);
      return;
    }
    GraftScales next;
    if (kernels::is_normalized(graft)) next.gradient = own.gradient;
    kernels::set_scales(graft, block.checked(batch.groups + tensor.group)->clip_scaled_norm, tensor.size,
                        tensor.preconditioned != 0, norm, preconditioned, next);
    own = next;
  }

  GRADSTEP_DEVICE static double norm_of(Block& block, const TensorItem& tensor, const double* partials) {
    return kernels::square_root(
        fold_by_block<double, kThreads>(block, tensor.chunks, block.shared<Shared>().trees,
                                        [&](std::int64_t c) { return block.load(partials + tensor.first_chunk + c); }));
  }
};

struct FinishTensors {
  static constexpr const char* kName = "finish_shampoo";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;
  const GraftScales* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0) return;
    const kernels::FinishConstants c = kernels::finish_of_tensor(block.checked(batch.groups + tensor.group)->finish,
                                                                 *block.checked(scales + chunk.item));
    for_each_element(block, chunk,
                     [&](std::int64_t i) { block.store(tensor.outcome + i, outcome(block, tensor, c, i)); });
  }

  GRADSTEP_DEVICE static float outcome(const Block& block, const TensorItem& tensor, const kernels::FinishConstants& c,
                                       std::int64_t i) {
    const kernels::FinishForm form{c.selects_preconditioned, c.nesterov, c.adds};
    const float p = block.load(tensor.value + i);
    const float u = block.load(tensor.input + i);
    float* m = tensor.momentum;
    float* n = tensor.diagonal_momentum;
    if (tensor.preconditioned == 0) {
      return kernels::finish_plain(form, u, p, *block.checked((n != nullptr ? n : m) + i), c);
    }
    const float direction = block.load(tensor.preconditioned_gradient + i);
    if (n == nullptr) return kernels::finish_shared(form, u, direction, p, *block.checked(m + i), c);
    return kernels::finish_both(form, u, direction, p, *block.checked(m + i), *block.checked(n + i), c);
  }
};

}  // namespace

void follow_masters(const TensorBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, FollowMasters{batch});
}

void graft(const TensorBatch& batch, Graft graft, const GraftScratch& scratch, const CudaQueue& queue) {
  const auto measure = [&](bool of_gradients) {
    launch(queue, parts_of(batch.chunks.count, SquareTensors::kTeams),
           SquareTensors{batch, of_gradients, scratch.squares, scratch.preconditioned_squares});
    launch(queue, batch.tensor_count,
           SetScales{batch, graft, of_gradients, scratch.squares, scratch.preconditioned_squares, scratch.scales});
  };
  if (kernels::is_normalized(graft)) measure(/*of_gradients=*/true);
  if (!kernels::is_plain(graft)) launch(queue, batch.chunks.count, WriteDirections{batch, graft, scratch.scales});
  measure(/*of_gradients=*/false);
}

void finish(const TensorBatch& batch, const GraftScales* scales, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, FinishTensors{batch, scales});
}

}  // namespace gradstep::cuda
