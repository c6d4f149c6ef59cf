// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/average.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gradstep::kernels {
namespace {

constexpr int kSteps = 40;

/// Averages of kSteps numbers, as an optimizer makes them.
std::vector<double> averages(const AverageForm& form, const std::vector<double>& numbers) {
  std::vector<double> found;
  double average = -1;
  for (int t = 0; t < kSteps; ++t) {
    const double share = kept_share(form, t);
    const double number = numbers[static_cast<std::size_t>(t)];
    average = share == 0 ? number : share * average + (1 - share) * number;
    found.push_back(average);
  }
  return found;
}

std::vector<double> some_numbers() {
  std::vector<double> numbers;
  for (int t = 0; t < kSteps; ++t) numbers.push_back(std::sin(1.7 * t));
  return numbers;
}

/// The numbers among the first t + 1 that are averaged.
std::vector<double> averaged(const AverageForm& form, const std::vector<double>& numbers, int t) {
  std::vector<double> list;
  for (auto i = static_cast<int>(form.start); i <= t; i += static_cast<int>(form.every)) {
    list.push_back(numbers[static_cast<std::size_t>(i)]);
  }
  return list;
}

const AverageForm kWhen[] = {{0, 0, 1, 0, 0}, {0, 5, 1, 0, 0}, {0, 0, 3, 0, 0}, {0, 7, 4, 0, 0}};

TEST(KeptShare, EqualSharesMakeTheMeanOfTheAveragedSteps) {
  const std::vector<double> numbers = some_numbers();
  for (AverageForm form : kWhen) {
    form.is_equal = 1;
    const std::vector<double> found = averages(form, numbers);
    for (int t = 0; t < kSteps; ++t) {
      const std::vector<double> list = averaged(form, numbers, t);
      double mean = 0;
      for (const double number : list) mean += number / static_cast<double>(list.size());
      if (list.empty()) mean = numbers[static_cast<std::size_t>(t)];  // it has not begun
      EXPECT_NEAR(found[static_cast<std::size_t>(t)], mean, 1e-14) << form.start << ' ' << form.every << ' ' << t;
    }
  }
}

TEST(KeptShare, ADecayWeighsByPowersOfItself) {
  const std::vector<double> numbers = some_numbers();
  for (AverageForm form : kWhen) {
    form.decay = 0.75;
    const std::vector<double> found = averages(form, numbers);
    for (int t = 0; t < kSteps; ++t) {
      const std::vector<double> list = averaged(form, numbers, t);
      double sum = list.empty() ? numbers[static_cast<std::size_t>(t)] : 0;
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto age = static_cast<double>(list.size() - 1 - i);
        sum += list[i] * std::pow(0.75, age) * (i == 0 ? 1 : 0.25);
      }
      EXPECT_NEAR(found[static_cast<std::size_t>(t)], sum, 1e-14) << form.start << ' ' << form.every << ' ' << t;
    }
  }
}

TEST(KeptShare, WarmsUpToTheDecay) {
  AverageForm form{0.5, 2, 2, 1, 0};
  EXPECT_EQ(kept_share(form, 2), 0);
  EXPECT_EQ(kept_share(form, 3), 1);
  EXPECT_EQ(kept_share(form, 4), 2.0 / 11);
  EXPECT_EQ(kept_share(form, 6), 3.0 / 12);
  EXPECT_EQ(kept_share(form, 16), 8.0 / 17);
  EXPECT_EQ(kept_share(form, 18), 0.5);  // 9 / 18 and from here on
  EXPECT_EQ(kept_share(form, 2000), 0.5);
  form.warms_up = 0;
  EXPECT_EQ(kept_share(form, 4), 0.5);
}

}  // namespace
}  // namespace gradstep::kernels
