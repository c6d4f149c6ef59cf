// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/graft.h"

#include "device/chunk.h"
#include "device/reduce.h"
#include "kernels/convert.h"
#include "kernels/direction_device.h"
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
      const float present = block.load(static_cast<const float*>(tensor.value) + i);
      block.store(tensor.master + i, tensor.is_half != 0 ? kernels::followed<kernels::Float16>(master, present)
                                                         : kernels::followed<kernels::BFloat16>(master, present));
    });
  }
};

template <class T>
struct WriteDirections {
  static constexpr const char* kName = "write_directions";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;
  Graft graft;
  const GraftScales* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0 || !is_in<T>(tensor)) return;
    const GroupItem& group = *block.checked(batch.groups + tensor.group);
    const T scale = kernels::is_normalized(graft) ? static_cast<T>(block.checked(scales + chunk.item)->gradient) : T{1};
    if (graft == Graft::adam) {
      write(block, tensor, chunk, scale, rules::Direction<T, rules::Adam>(group.direction));
    } else if (kernels::is_rmsprop(graft)) {
      write(block, tensor, chunk, scale, rules::Direction<T, rules::RmsProp>(group.direction));
    } else if (kernels::is_adagrad(graft)) {
      write(block, tensor, chunk, scale, rules::Direction<T, rules::AdaGrad>(group.direction));
    } else {
      write(block, tensor, chunk, scale, rules::SignDirection<T>{});
    }
  }

  template <class Rule>
  GRADSTEP_DEVICE static void write(Block& block, const TensorItem& tensor, const Chunk& chunk, T scale,
                                    const Rule& rule) {
    const auto* gradient = static_cast<const T*>(tensor.gradient);
    auto* direction = static_cast<T*>(tensor.direction);
    for_each_element(block, chunk, [&](std::int64_t i) {
      block.store(direction + i, direct<T>(block, rule, tensor, block.load(gradient + i) * scale, i));
    });
  }
};

template <class T>
struct SquareTensors {
  static constexpr const char* kName = "square_tensors";
  static constexpr int kThreads = 256;
  using Shared = Teams<kThreads>::Shared;

  TensorBatch batch;
  bool of_gradients;  ///< and of nothing else
  double* squares;
  double* preconditioned_squares;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Teams<kThreads> teams(block);
    const bool exists = teams.chunk < batch.chunks.count;
    const Chunk chunk = exists ? block.load(batch.chunks.chunks + teams.chunk) : Chunk{0, 0, 0};
    const TensorItem* tensor = exists ? block.checked(batch.tensors + chunk.item) : nullptr;
    const bool is_own = exists && is_in<T>(*tensor);
    const bool takes_part = is_own && tensor->takes_part != 0;
    square(block, teams, takes_part ? of_gradients ? tensor->gradient : tensor->input : nullptr, chunk,
           is_own ? squares : nullptr);
    if (of_gradients) return;
    const bool has_both = takes_part && tensor->preconditioned != 0;
    square(block, teams, has_both ? tensor->preconditioned_gradient : nullptr, chunk,
           is_own ? preconditioned_squares : nullptr);
  }

  /// x NULL = zeros; to NULL = another launch's.
  GRADSTEP_DEVICE void square(Block& block, const Teams<kThreads>& teams, const void* numbers, const Chunk& chunk,
                              double* to) const {
    const auto* x = static_cast<const T*>(numbers);
    double sum = 0;
    if (x != nullptr) {
      for_each_of_lane(
          block, chunk.length, [&](std::int64_t i) { return block.load(x + chunk.offset + i); },
          [&](std::int64_t, T value) { sum = add_product<T>(sum, value, value); });
    }
    sum = teams.fold(block, sum, block.template shared<Shared>());
    if (to != nullptr && teams.is_first) block.store(to + teams.chunk, sum);
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
        fold_by_block(block, partials + tensor.first_chunk, tensor.chunks, block.shared<Shared>().trees));
  }
};

template <class T>
struct FinishTensors {
  static constexpr const char* kName = "finish_shampoo";
  static constexpr int kThreads = kChunkThreads;

  TensorBatch batch;
  const GraftScales* scales;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(batch.chunks.chunks + block.index());
    const TensorItem& tensor = *block.checked(batch.tensors + chunk.item);
    if (tensor.takes_part == 0 || !is_in<T>(tensor)) return;
    const kernels::FinishConstants<T> c = kernels::finish_of_tensor(
        block.checked(batch.groups + tensor.group)->template in<T>().grafted, *block.checked(scales + chunk.item));
    auto* to = static_cast<T*>(tensor.outcome);
    for_each_element(block, chunk, [&](std::int64_t i) { block.store(to + i, outcome(block, tensor, c, i)); });
  }

  GRADSTEP_DEVICE static T outcome(const Block& block, const TensorItem& tensor, const kernels::FinishConstants<T>& c,
                                   std::int64_t i) {
    const kernels::FinishForm form{c.selects_preconditioned, c.nesterov, c.adds};
    const bool is_narrow = tensor.narrow_momenta != 0;
    const StateNumbers<T> momentum(tensor, tensor.momentum, is_narrow, kMomentumStream);
    const StateNumbers<T> diagonal(tensor, tensor.diagonal_momentum, is_narrow, kDiagonalMomentumStream);
    const T p = block.load(static_cast<const T*>(tensor.value) + i);
    const T u = block.load(static_cast<const T*>(tensor.input) + i);
    if (tensor.preconditioned == 0) {
      const StateNumbers<T>& own = diagonal.exists() ? diagonal : momentum;
      T n = own.load(block, i);
      const T result = kernels::finish_plain(form, u, p, n, c);
      own.store(block, i, n);
      return result;
    }
    const T direction = block.load(static_cast<const T*>(tensor.preconditioned_gradient) + i);
    T m = momentum.load(block, i);
    if (!diagonal.exists()) {
      const T result = kernels::finish_shared(form, u, direction, p, m, c);
      momentum.store(block, i, m);
      return result;
    }
    T n = diagonal.load(block, i);
    const T result = kernels::finish_both(form, u, direction, p, m, n, c);
    momentum.store(block, i, m);
    diagonal.store(block, i, n);
    return result;
  }
};

}  // namespace

void follow_masters(const TensorBatch& batch, const CudaQueue& queue) {
  launch(queue, batch.chunks.count, FollowMasters{batch});
}

void graft(const TensorBatch& batch, Graft graft, const GraftScratch& scratch, const CudaQueue& queue) {
  const auto measure = [&](bool of_gradients) {
    for_each_arithmetic(batch, [&](auto type) {
      using Kernel = SquareTensors<decltype(type)>;
      launch(queue, parts_of(batch.chunks.count, Teams<Kernel::kThreads>::kCount),
             Kernel{batch, of_gradients, scratch.squares, scratch.preconditioned_squares});
    });
    launch(queue, batch.tensor_count,
           SetScales{batch, graft, of_gradients, scratch.squares, scratch.preconditioned_squares, scratch.scales});
  };
  if (kernels::is_normalized(graft)) measure(/*of_gradients=*/true);
  if (!kernels::is_plain(graft)) {
    for_each_arithmetic(batch, [&](auto type) {
      launch(queue, batch.chunks.count, WriteDirections<decltype(type)>{batch, graft, scratch.scales});
    });
  }
  measure(/*of_gradients=*/false);
}

void finish(const TensorBatch& batch, const GraftScales* scales, const CudaQueue& queue) {
  for_each_arithmetic(
      batch, [&](auto type) { launch(queue, batch.chunks.count, FinishTensors<decltype(type)>{batch, scales}); });
}

}  // namespace gradstep::cuda
