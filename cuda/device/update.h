// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that step the parameters of a list by one rule. `Rule` is a rules::Kernel, or a program
// (program_kernels.h).
#pragma once

#include <cstddef>
#include <type_traits>

#include "device/codes.h"
#include "device/kernel.h"
#include "device/update_items.h"
#include "kernels/stochastic_rounding.h"

namespace gradstep::cuda {

/// Rules whose constants are numbers of their item, and which say what the parameter becomes.
template <class Rule>
concept IsProgram = requires { Rule::kIsProgram; };

template <class Rule>
GRADSTEP_DEVICE Rule rule_of(const Block& block, const DeviceItem& item) {
  const rules::GroupConstants& constants = *block.checked(item.constants);
  if constexpr (IsProgram<Rule>) {
    return Rule(block, item.numbers, constants.usual);
  } else {
    return Rule(block.load(item.used) != 0 ? constants.usual : constants.first);
  }
}

/// What the parameter becomes, or its change.
template <class Rule, class T>
GRADSTEP_DEVICE T stepped(const Rule& rule, T p, T g, T* states, bool in_place) {
  if constexpr (IsProgram<Rule>) {
    return in_place ? rule.value(p, g, states) : rule(p, g, states);
  } else {
    const T delta = rule(p, g, states);
    return in_place ? p + delta : delta;
  }
}

/// A block has a chunk. Way::run(block, item, chunk, rule, scale, step) does it.
template <class T, class Rule, template <class, class> class Way>
struct Update {
  static constexpr const char* kName = "update";
  static constexpr int kThreads = 256;
  static constexpr int kResidentBlocks = Way<T, Rule>::kResidentBlocks;
  struct Shared {
    bool last;
  };

  UpdateArguments arguments;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(arguments.chunks + block.index());
    const DeviceItem& item = *block.checked(arguments.items + chunk.item);
    const kernels::StepScalars& s = *block.checked(arguments.scalars);
    if (s.gate != 0 && item.gradient.data != nullptr) {
      const Rule rule = rule_of<Rule>(block, item);
      const Scale scale{static_cast<T>(arguments.maximize ? -s.grad_multiplier : s.grad_multiplier),
                        static_cast<T>(arguments.clip_bound)};
      Way<T, Rule>::run(block, item, chunk, rule, scale, s.steps);
    } else if (item.update.data != nullptr) {
      for (std::int64_t i = block.thread(); i < chunk.length; i += kThreads) {
        write(block, item.update, chunk.offset + i, T{0});
      }
    }
    if (arguments.closes && is_last(block, arguments.ticket, block.shared<Shared>().last)) close(block);
  }

  struct Scale {
    T multiplier;
    T bound;
    GRADSTEP_DEVICE T operator()(T g) const { return kernels::clamp(g * multiplier, bound); }
  };

  /// All of the step has been done.
  GRADSTEP_DEVICE void close(Block& block) const {
    kernels::StepScalars& s = *block.checked(arguments.scalars);
    if (s.gate == 0) return;
    for (std::int64_t i = block.thread(); i < arguments.item_count && arguments.marks_items; i += kThreads) {
      const DeviceItem& item = *block.checked(arguments.items + i);
      if (item.gradient.data == nullptr) continue;
      block.store(item.used, std::uint8_t{1});
      if (item.count != nullptr) block.store(item.count, block.load(item.count) + 1);
    }
    if (block.thread() == 0) kernels::close_step(s);
  }
};

template <class T, class Rule>
struct PlainWay {
  static constexpr int kStates = Rule::kStates;
  /// Three states do not fit into the registers of four blocks, nor four into those of three; two blocks of so many
  /// have more bytes on their way than needed.
  static constexpr int kResidentBlocks = sizeof(T) != sizeof(float) ? (kStates > 3 ? 1 : 2)
                                         : kStates > 3              ? 2
                                         : kStates > 2              ? 3
                                                                    : 4;

  template <class Scale>
  GRADSTEP_DEVICE static void run(Block& block, const DeviceItem& item, const Chunk& chunk, const Rule& rule,
                                  const Scale& scale, std::int64_t /*step*/) {
    // To the compiler a store may change the item, whose addresses it would read again for each element.
    T* p = static_cast<T*>(item.param.data);
    const T* g = static_cast<const T*>(item.gradient.data);
    T* held[rules::kMaxStates] = {};
    for (int s = 0; s < kStates; ++s) held[s] = static_cast<T*>(item.states[s]);
    const auto four = [&](std::int64_t i) {
      auto p4 = block.load(reinterpret_cast<const Four<T>*>(p + i));
      const auto g4 = block.load(reinterpret_cast<const Four<T>*>(g + i));
      Four<T> s4[rules::kMaxStates];
      for (int s = 0; s < kStates; ++s) s4[s] = block.load(reinterpret_cast<const Four<T>*>(held[s] + i));
      for (int k = 0; k < 4; ++k) {
        T states[rules::kMaxStates];
        for (int s = 0; s < kStates; ++s) states[s] = s4[s].x[k];
        p4.x[k] = stepped(rule, p4.x[k], scale(g4.x[k]), states, /*in_place=*/true);
        for (int s = 0; s < kStates; ++s) s4[s].x[k] = states[s];
      }
      if constexpr (Rule::kWritesStates) {
        for (int s = 0; s < kStates; ++s) block.store(reinterpret_cast<Four<T>*>(held[s] + i), s4[s]);
      }
      block.store(reinterpret_cast<Four<T>*>(p + i), p4);
    };
    const auto one = [&](std::int64_t i) {
      T states[rules::kMaxStates];
      for (int s = 0; s < kStates; ++s) states[s] = block.load(held[s] + i);
      const T value = block.load(p + i);
      const T result = stepped(rule, value, scale(block.load(g + i)), states, /*in_place=*/true);
      if constexpr (Rule::kWritesStates) {
        for (int s = 0; s < kStates; ++s) block.store(held[s] + i, states[s]);
      }
      block.store(p + i, result);
    };
    walk(block, chunk, item.in_fours, four, one);
  }
};

/// Rounds two numbers, half a block apart, to values of a 16-bit type.
template <class Stored>
GRADSTEP_DEVICE void round_pair(std::uint32_t random, float& low, float& high) {
  low = kernels::to_float(kernels::round_stochastically<Stored>(low, random & 0xffffU));
  high = kernels::to_float(kernels::round_stochastically<Stored>(high, random >> 16));
}

/// Where elements [begin, begin + count) of an array lie that are the thread's, if it is not compact. The places that
/// were found last are kept: gradients mostly lie as their parameters do. They are in memory of the caller's, because
/// what is in one object with them would be in memory, too.
class OwnPlaces {
 public:
  GRADSTEP_DEVICE OwnPlaces(const Block& block, std::int64_t begin, std::int64_t count, std::int64_t (&places)[kOwn])
      : block_(block), begin_(begin), count_(count), places_(places) {}

  GRADSTEP_DEVICE const Block& block() const { return block_; }
  GRADSTEP_DEVICE std::int64_t begin() const { return begin_; }
  GRADSTEP_DEVICE std::int64_t count() const { return count_; }
  GRADSTEP_DEVICE int lane() const { return block_.thread() % kWarp; }

  GRADSTEP_DEVICE void find(const View& view) {
    if (view.layout == layout_) return;
    layout_ = view.layout;
    GRADSTEP_ROLLED
    for (int k = 0; k < kOwn; ++k) {
      const std::int64_t i = k * kWarp + lane();
      if (i < count_) places_[k] = place_of(block_, view, begin_ + i);
    }
  }
  GRADSTEP_DEVICE std::int64_t operator[](int k) const { return places_[k]; }

 private:
  const Block& block_;
  std::int64_t begin_;
  std::int64_t count_;
  std::int64_t* places_;
  const Layout* layout_ = nullptr;
};

/// body(k, where it lies) for the thread's elements, in the type that with_type(dtype, ...) calls for.
template <class WithType, class Body>
GRADSTEP_DEVICE void for_each_own_of(const View& view, OwnPlaces& own, WithType with_type, Body body) {
  if (view.layout == nullptr) {
    return with_type(view.dtype, [&](auto stored) {
      auto* first = at<decltype(stored)>(view, own.begin());
      for_each_own(own.lane(), own.count(), [&](int k, std::int64_t i) { body(k, first + i); });
    });
  }
  own.find(view);
  with_type(view.dtype, [&](auto stored) {
    for_each_own(own.lane(), own.count(), [&](int k, std::int64_t) { body(k, at<decltype(stored)>(view, own[k])); });
  });
}

template <class T>
GRADSTEP_DEVICE void load_gradients(const View& view, OwnPlaces& own, T* x) {
  const auto with_type = [](DType dtype, auto body) { with_stored_type(dtype, body); };
  for_each_own_of(view, own, with_type,
                  [&](int k, const auto* from) { x[k] = kernels::convert<T>(own.block().load(from)); });
}
template <class T>
GRADSTEP_DEVICE void load_parameters(const View& view, OwnPlaces& own, T* x) {
  const auto with_type = [](DType dtype, auto body) { with_parameter_type<T>(dtype, body); };
  for_each_own_of(view, own, with_type,
                  [&](int k, const auto* from) { x[k] = kernels::convert<T>(own.block().load(from)); });
}
/// Stores parameters, or updates.
template <class T>
GRADSTEP_DEVICE void store_parameters(const View& view, OwnPlaces& own, const T* x) {
  const auto with_type = [](DType dtype, auto body) { with_parameter_type<T>(dtype, body); };
  for_each_own_of(view, own, with_type, [&](int k, auto* to) {
    own.block().store(to, kernels::convert<std::remove_reference_t<decltype(*to)>>(x[k]));
  });
}

/// By blocks of 256 elements, one for each warp, whose numbers are in registers between loads and stores: all loads are
/// under way before the first number is needed, and no store comes before the last of them.
template <class T, class Rule>
struct StagedWay {
  static constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  static constexpr int kStates = Rule::kStates;
  /// For what is under way of eight elements, twice the registers of the plain way: with half the warps there are still
  /// more bytes on their way than the memory's latency asks for. Numbers in f64, and four states, take all registers.
  static constexpr int kResidentBlocks = kIsFloat && kStates <= 3 ? 2 : 1;

  template <class Scale>
  GRADSTEP_DEVICE static void run(Block& block, const DeviceItem& item, const Chunk& chunk, const Rule& rule,
                                  const Scale& scale, std::int64_t step) {
    const int warps = block.threads() / kWarp;
    constexpr std::int64_t kBlock = kernels::kCodeBlock;
    for (std::int64_t first = block.thread() / kWarp * kBlock; first < chunk.length; first += warps * kBlock) {
      const std::int64_t left = chunk.length - first;
      run_block(block, item, chunk.offset + first, left < kBlock ? left : kBlock, rule, scale, step);
    }
  }

  template <class Scale>
  GRADSTEP_DEVICE static void run_block(Block& block, const DeviceItem& item, std::int64_t begin, std::int64_t count,
                                        const Rule& rule, const Scale& scale, std::int64_t step) {
    const bool in_place = item.update.data == nullptr;
    T values[kOwn] = {};
    T gradients[kOwn] = {};
    T states[rules::kMaxStates][kOwn] = {};
    std::int64_t places[kOwn];
    OwnPlaces own(block, begin, count, places);
    load_gradients(item.gradient, own, gradients);
    load_values(item, own, values);
    if (!in_place) store_masters(item, own, values);
    GRADSTEP_UNROLL
    for (int s = 0; s < kStates; ++s) load_state(block, item, s, begin, count, states[s]);
    GRADSTEP_UNROLL
    for (int k = 0; k < kOwn; ++k) {
      T own_states[rules::kMaxStates];
      for (int s = 0; s < kStates; ++s) own_states[s] = states[s][k];
      values[k] = stepped(rule, values[k], scale(gradients[k]), own_states, in_place);
      for (int s = 0; s < kStates; ++s) states[s][k] = own_states[s];
    }
    if constexpr (kIsFloat) {
      if (item.stochastic) {
        const kernels::RoundingBits bits(item.random_key, step, item.first + begin);
        if (in_place && item.master == nullptr) round_values(block, item.param.dtype, bits, values);
        if (item.format == StateFormat::bf16) round_states(block, item, bits, states);
      }
    }
    if (in_place) {
      store_values(item, own, values);
    } else {
      store_parameters(item.update, own, values);
    }
    if constexpr (Rule::kWritesStates) {
      GRADSTEP_UNROLL
      for (int s = 0; s < kStates; ++s) store_state(block, item, s, begin, count, states[s]);
    }
  }

  /// The parameter's, or its master's.
  GRADSTEP_DEVICE static void load_values(const DeviceItem& item, OwnPlaces& own, T* x) {
    load_parameters(item.param, own, x);
    if constexpr (kIsFloat) {
      if (item.master == nullptr) return;
      const float* from = item.master + own.begin();
      const bool is_f16 = item.param.dtype == DType::f16;
      for_each_own(own.lane(), own.count(), [&](int k, std::int64_t i) {
        const float master = own.block().load(from + i);
        x[k] = is_f16 ? kernels::followed<Float16>(master, x[k]) : kernels::followed<BFloat16>(master, x[k]);
      });
    }
  }

  /// Values past the end of a short block are rounded, too.
  GRADSTEP_DEVICE static void round_values(const Block& block, DType dtype, const kernels::RoundingBits& bits,
                                           float* x) {
    if (dtype == DType::f16) {
      for_each_pair(block, bits, [&](std::uint32_t place, int low, int high) {
        round_pair<Float16>(bits.word(place, bits.stream(0)), x[low], x[high]);
      });
    } else if (dtype == DType::bf16) {
      for_each_pair(block, bits, [&](std::uint32_t place, int low, int high) {
        round_pair<BFloat16>(bits.word(place, bits.stream(0)), x[low], x[high]);
      });
    }
  }

  GRADSTEP_DEVICE static void round_states(const Block& block, const DeviceItem& item,
                                           const kernels::RoundingBits& bits, float (*states)[kOwn]) {
    for_each_pair(block, bits, [&](std::uint32_t place, int low, int high) {
      GRADSTEP_UNROLL
      for (int s = 0; s < kStates; ++s) {
        if (is_exact(item, s)) continue;
        round_pair<BFloat16>(bits.word(place, bits.stream(1 + s)), states[s][low], states[s][high]);
      }
    });
  }

  /// body(place of the random bits, numbers of the thread that a word is for).
  template <class Body>
  GRADSTEP_DEVICE static void for_each_pair(const Block& block, const kernels::RoundingBits& bits, Body body) {
    constexpr int kPairs = kOwn / 2;
    static_assert(kPairs * kWarp == kernels::RoundingBits::kHalf);
    const int lane = block.thread() % kWarp;
    GRADSTEP_UNROLL
    for (int k = 0; k < kPairs; ++k) body(bits.place(static_cast<std::uint32_t>(k * kWarp + lane)), k, k + kPairs);
  }

  GRADSTEP_DEVICE static void store_masters(const DeviceItem& item, const OwnPlaces& own, const T* x) {
    if constexpr (kIsFloat) {
      if (item.master == nullptr) return;
      float* to = item.master + own.begin();
      for_each_own(own.lane(), own.count(), [&](int k, std::int64_t i) { own.block().store(to + i, x[k]); });
    }
  }

  GRADSTEP_DEVICE static void store_values(const DeviceItem& item, OwnPlaces& own, const T* x) {
    store_masters(item, own, x);
    store_parameters(item.param, own, x);
  }

  GRADSTEP_DEVICE static bool is_signed(const DeviceItem& item, int s) { return ((item.signed_states >> s) & 1) != 0; }

  /// Rules without exact states do not ask.
  GRADSTEP_DEVICE static bool is_exact(const DeviceItem& item, int s) {
    if constexpr (Rule::kHasExactStates) return ((item.exact_states >> s) & 1) != 0;
    return false;
  }

  GRADSTEP_DEVICE static void load_state(const Block& block, const DeviceItem& item, int s, std::int64_t begin,
                                         std::int64_t count, T* x) {
    const int lane = block.thread() % kWarp;
    if constexpr (kIsFloat) {
      if (item.format == StateFormat::bf16 && !is_exact(item, s)) {
        const BFloat16* from = static_cast<const BFloat16*>(item.states[s]) + begin;
        return for_each_own(lane, count,
                            [&](int k, std::int64_t i) { x[k] = kernels::to_float(block.load(from + i)); });
      }
      if (item.format == StateFormat::block_code && !is_exact(item, s)) {
        const auto* codes = static_cast<const std::uint8_t*>(item.states[s]) + begin;
        return decode_block(block, is_signed(item, s), codes, item.factors[s] + begin / kernels::kCodeBlock, count, x);
      }
    }
    const T* from = static_cast<const T*>(item.states[s]) + begin;
    for_each_own(lane, count, [&](int k, std::int64_t i) { x[k] = block.load(from + i); });
  }

  GRADSTEP_DEVICE static void store_state(Block& block, const DeviceItem& item, int s, std::int64_t begin,
                                          std::int64_t count, const T* x) {
    const int lane = block.thread() % kWarp;
    if constexpr (kIsFloat) {
      if (item.format == StateFormat::bf16 && !is_exact(item, s)) {
        BFloat16* to = static_cast<BFloat16*>(item.states[s]) + begin;
        return for_each_own(lane, count,
                            [&](int k, std::int64_t i) { block.store(to + i, kernels::to_bfloat16(x[k])); });
      }
      if (item.format == StateFormat::block_code && !is_exact(item, s)) {
        auto* codes = static_cast<std::uint8_t*>(item.states[s]) + begin;
        return encode_block(block, is_signed(item, s), x, count, codes, item.factors[s] + begin / kernels::kCodeBlock);
      }
    }
    T* to = static_cast<T*>(item.states[s]) + begin;
    for_each_own(lane, count, [&](int k, std::int64_t i) { block.store(to + i, x[k]); });
  }
};

}  // namespace gradstep::cuda
