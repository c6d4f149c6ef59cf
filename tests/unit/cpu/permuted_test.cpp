// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays whose dimensions are in another order in memory than in their shapes: what is made of them has the bits of
// compact ones.
#include <algorithm>
#include <numeric>

#include "cpu_test_support.h"
#include "unit/random_values.h"

namespace gradstep::test {
namespace {

/// Numbers in row-major order, and a view of the same with its dimensions in another order in memory.
template <class T>
class Permuted {
 public:
  /// `order`: dimensions from the slowest in memory to the fastest. `gap`: elements left out after each of the fastest.
  Permuted(std::vector<std::int64_t> shape, const std::vector<std::size_t>& order, std::int64_t gap, int seed)
      : shape_(std::move(shape)), strides_(shape_.size()) {
    std::int64_t reach = 1 + gap;
    for (std::size_t k = order.size(); k-- > 0;) {
      strides_[order[k]] = reach;
      reach *= shape_[order[k]];
    }
    const std::int64_t size = std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
    compact_ = random_values<T>(static_cast<std::size_t>(size), static_cast<std::uint32_t>(seed));
    memory_.assign(static_cast<std::size_t>(reach), T{77});
    for (std::size_t i = 0; i < compact_.size(); ++i) memory_[place(i)] = compact_[i];
  }

  Array compact() { return compact_array(compact_.data(), size(), kType); }
  Array view() {
    Array array = compact_array(memory_.data(), size(), kType);
    array.ndim = static_cast<std::int32_t>(shape_.size());
    array.shape = shape_.data();
    array.strides = strides_.data();
    return array;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(compact_.size()); }

  /// The view has what the compact numbers are, and its gaps are as they were.
  void expect_equal() const {
    std::vector<T> expected(memory_.size(), T{77});
    for (std::size_t i = 0; i < compact_.size(); ++i) expected[place(i)] = compact_[i];
    EXPECT_TRUE(expected == memory_);
  }

 private:
  static constexpr DType kType = sizeof(T) == sizeof(float) ? DType::f32 : DType::f64;

  std::size_t place(std::size_t i) const {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t place = 0;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      place += rest % shape_[d] * strides_[d];
      rest /= shape_[d];
    }
    return static_cast<std::size_t>(place);
  }

  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::vector<T> compact_;
  std::vector<T> memory_;
};

class PermutedArrays : public testing::TestWithParam<std::string> {
 protected:
  PermutedArrays() : context_(make_cpu_context(2, GetParam().c_str())), backend_(context_->cpu()) {}

  /// Sums, norms and steps of permuted arrays, beside those of compact ones.
  template <class T>
  void expect_bits_of_compact(const std::vector<std::int64_t>& shape, const std::vector<std::size_t>& order,
                              std::int64_t gap) {
    Permuted<T> param(shape, order, gap, 1);
    Permuted<T> gradient(shape, order, gap, 2);
    Permuted<T> delta(shape, order, gap, 3);
    WorkList work;
    work.append(param.size());
    const Array compact[] = {gradient.compact()};
    const Array view[] = {gradient.view()};
    EXPECT_EQ(backend_.norm(work, view), backend_.norm(work, compact));
    for (const bool in_place : {true, false}) {
      step(work, param.compact(), gradient.compact(), in_place ? Array{} : delta.compact());
      step(work, param.view(), gradient.view(), in_place ? Array{} : delta.view());
      param.expect_equal();
      delta.expect_equal();
    }
    std::vector<T> sums[2];
    for (const bool is_view : {false, true}) {
      std::vector<T>& sum = sums[is_view ? 1 : 0];
      sum.assign(static_cast<std::size_t>(param.size()), T{3});
      const Array to = compact_array(sum.data(), param.size(), gradient.compact().dtype);
      const CopyItem copy{to, is_view ? gradient.view() : gradient.compact()};
      backend_.copy(work, {&copy, 1}, 1, 1);
    }
    EXPECT_TRUE(sums[0] == sums[1]);
    const CopyItem back{param.view(), gradient.compact()};
    backend_.copy(work, {&back, 1}, 1, 1);
    const CopyItem same{param.compact(), gradient.compact()};
    backend_.copy(work, {&same, 1}, 1, 1);
    param.expect_equal();
  }

 private:
  void step(const WorkList& work, const Array& param, const Array& gradient, const Array& update) {
    static const rules::GroupConstants* constants = group_constants(
        rules::Sgd::Constants<double>{.learning_rate = 0.05, .momentum = 0, .gradient_factor = 1}, 0.01);
    OwnItem item;
    item.param = param;
    item.gradient = gradient;
    item.update = update;
    item.kernel = rules::kernel_id<rules::Sgd>(0, rules::Decay::coupled);
    item.constants = constants;
    UpdateJob job;
    job.work = &work;
    job.items = {&item, 1};
    backend_.update(job);
  }

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, PermutedArrays, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

// Several chunks of 16 Ki elements, whose ends are in the middle of rows and planes.
TEST_P(PermutedArrays, have_the_bits_of_compact_ones) {
  for (const std::int64_t gap : {0, 1}) {
    expect_bits_of_compact<float>({150, 250}, {1, 0}, gap);
    expect_bits_of_compact<float>({5, 9000}, {1, 0}, gap);
    expect_bits_of_compact<float>({9000, 5}, {1, 0}, gap);
    expect_bits_of_compact<float>({300, 64, 3, 3}, {0, 2, 3, 1}, gap);  // channels last
    expect_bits_of_compact<double>({70, 64, 3, 3}, {0, 2, 3, 1}, gap);
  }
}

TEST_P(PermutedArrays, in_every_order_of_dimensions) {
  std::vector<std::size_t> order = {0, 1, 2, 3};
  do {
    expect_bits_of_compact<float>({17, 1, 6, 23}, order, 1);
    expect_bits_of_compact<double>({4, 19, 5, 7}, order, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace gradstep::test
