// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/factorize.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace gradstep::cpu {

namespace {

/// Elements that one call of a thread works on, or as many more as a row has.
constexpr std::int64_t kPanel = std::int64_t{4} * kChunk;

/// A range of the rows of one outer index: each is [middle][columns][inner].
struct Panel {
  std::int64_t outer;
  std::int64_t begin;
  std::int64_t end;
};

/// What is kept of a plan: room for any of its tensors.
struct FactoredScratch {
  std::vector<Panel> panels;
  std::vector<double> rows;      // sums, then factors
  std::vector<double> columns;   // likewise
  std::vector<double> partials;  // sums over columns, by panel
  std::vector<double> means;     // of the rows of each matrix
  std::vector<double> squares;   // by chunk
};

std::int64_t columns_of(const rules::FactoredAxes& axes) { return axes.middle * axes.columns * axes.inner; }

std::int64_t rows_of_panel(const rules::FactoredAxes& axes) {
  return std::max<std::int64_t>(1, kPanel / std::max<std::int64_t>(1, columns_of(axes)));
}

std::int64_t panels_of(const rules::FactoredAxes& axes) {
  const std::int64_t rows = rows_of_panel(axes);
  return axes.outer * ((axes.rows + rows - 1) / rows);
}

/// The first `count` of the numbers, which become 0.
std::span<double> zeros(std::vector<double>& numbers, std::int64_t count) {
  const std::span<double> first(numbers.data(), static_cast<std::size_t>(count));
  std::ranges::fill(first, 0.0);
  return first;
}

template <class T>
T go_on(T& kept, double keep, double now) {
  kept = static_cast<T>(keep * static_cast<double>(kept) + (1 - keep) * now);
  return kept;
}

/// One tensor of the arithmetic type T.
template <class T>
class Tensor {
 public:
  Tensor(Context& context, FactoredScratch& scratch, const FactoredItem& item)
      : context_(context),
        scratch_(scratch),
        item_(item),
        axes_(item.axes),
        step_(rules::factoring_step(item.constants->usual)),
        change_(static_cast<T*>(item.change.data)),
        bound_(item.form.bound()) {}

  /// The gradient becomes the direction.
  void divide() { axes_.are_factored ? divide_by_factors() : divide_by_elements(); }

  /// Then, the direction becomes the change.
  void finish(double scale) {
    T* momentum = static_cast<T*>(item_.momentum);
    for_each_part([&](std::int64_t begin, std::int64_t end) {
      if (momentum == nullptr) {
        const auto factor = static_cast<T>(-scale);
        for (std::int64_t i = begin; i < end; ++i) change_[i] *= factor;
        return;
      }
      const auto keep = static_cast<T>(step_.momentum);
      const auto take = static_cast<T>((1 - step_.momentum) * scale);
      for (std::int64_t i = begin; i < end; ++i) {
        momentum[i] = keep * momentum[i] + take * change_[i];
        change_[i] = -momentum[i];
      }
    });
  }
  double rate() const { return step_.rate; }

 private:
  template <class Run>
  void for_each_part(Run run) {
    const std::int64_t size = item_.change.size;
    context_.parallel_for((size + kPanel - 1) / kPanel,
                          [&](std::int64_t part) { run(part * kPanel, std::min(size, (part + 1) * kPanel)); });
  }

  void divide_by_elements() {
    T* variances = static_cast<T*>(item_.rows);
    for_each_part([&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T variance = go_on(variances[i], step_.keep, item_.form.square(change_[i]));
        change_[i] = static_cast<T>(static_cast<double>(change_[i]) *
                                    std::min(item_.form.of_element(static_cast<double>(variance)), bound_));
      }
    });
  }

  void divide_by_factors() {
    const std::int64_t inner = axes_.inner;
    const std::int64_t columns = columns_of(axes_);  // of one outer index
    const std::int64_t step = rows_of_panel(axes_);
    scratch_.panels.clear();
    for (std::int64_t o = 0; o < axes_.outer; ++o) {
      for (std::int64_t a = 0; a < axes_.rows; a += step) {
        scratch_.panels.push_back({o, a, std::min(axes_.rows, a + step)});
      }
    }
    const std::span<double> rows = zeros(scratch_.rows, axes_.row_count());
    const std::span<double> partials = zeros(scratch_.partials, std::ssize(scratch_.panels) * columns);
    of_panels([&](std::int64_t panel, std::int64_t row, const T* g) {
      double* of_panel = partials.data() + panel * columns;
      for (std::int64_t m = 0; m < axes_.middle; ++m) {
        double* of_row = rows.data() + (row * axes_.middle + m) * inner;
        for (std::int64_t at = m * axes_.columns * inner; at < (m + 1) * axes_.columns * inner; at += inner) {
          for (std::int64_t i = 0; i < inner; ++i) {
            const double square = item_.form.square(g[at + i]);
            of_row[i] += square;
            of_panel[at + i] += square;
          }
        }
      }
    });
    advance_columns(partials, columns);
    advance_rows(rows);
    of_panels([&](std::int64_t /*panel*/, std::int64_t row, T* g) {
      const double* of_columns = scratch_.columns.data() + row / axes_.rows * columns;
      for (std::int64_t m = 0; m < axes_.middle; ++m) {
        const double* of_row = rows.data() + (row * axes_.middle + m) * inner;
        for (std::int64_t at = m * axes_.columns * inner; at < (m + 1) * axes_.columns * inner; at += inner) {
          for (std::int64_t i = 0; i < inner; ++i) {
            const double factor = std::min(of_row[i] * of_columns[at + i], bound_);
            g[at + i] = static_cast<T>(static_cast<double>(g[at + i]) * factor);
          }
        }
      }
    });
  }

  /// run(panel, row, the row's elements); the rows of all outer indices are counted on.
  template <class Run>
  void of_panels(Run run) {
    context_.parallel_for(std::ssize(scratch_.panels), [&](std::int64_t k) {
      const Panel& panel = scratch_.panels[static_cast<std::size_t>(k)];
      for (std::int64_t a = panel.begin; a < panel.end; ++a) {
        const std::int64_t row = panel.outer * axes_.rows + a;
        run(k, row, change_ + row * columns_of(axes_));
      }
    });
  }

  /// From the panels' sums to the factors of columns.
  void advance_columns(std::span<const double> partials, std::int64_t columns) {
    T* kept = static_cast<T*>(item_.columns);
    const std::span<double> factors = zeros(scratch_.columns, axes_.column_count());
    for (std::int64_t k = 0; k < std::ssize(scratch_.panels); ++k) {
      const auto first = static_cast<std::size_t>(scratch_.panels[static_cast<std::size_t>(k)].outer * columns);
      const std::span<const double> sums = partials.subspan(static_cast<std::size_t>(k * columns));
      for (std::size_t at = 0; at < static_cast<std::size_t>(columns); ++at) factors[first + at] += sums[at];
    }
    for (std::size_t at = 0; at < factors.size(); ++at) {
      const T mean = go_on(kept[at], step_.keep, factors[at] / static_cast<double>(axes_.rows));
      factors[at] = item_.form.of_column(static_cast<double>(mean));
    }
  }

  /// From sums to factors. Rows lie as [outer][rows][middle][inner].
  void advance_rows(std::span<double> rows) {
    T* kept = static_cast<T*>(item_.rows);
    const auto matrices = static_cast<std::size_t>(axes_.middle * axes_.inner);  // of one outer index
    const std::size_t of_outer = matrices * static_cast<std::size_t>(axes_.rows);
    const auto matrix_of = [&](std::size_t row) { return row / of_outer * matrices + row % matrices; };
    const std::span<double> means = zeros(scratch_.means, axes_.matrix_count());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r] = static_cast<double>(go_on(kept[r], step_.keep, rows[r] / static_cast<double>(axes_.columns)));
      means[matrix_of(r)] += rows[r];
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r] = item_.form.of_row(rows[r], means[matrix_of(r)] / static_cast<double>(axes_.rows));
    }
  }

  Context& context_;
  FactoredScratch& scratch_;
  const FactoredItem& item_;
  const rules::FactoredAxes& axes_;
  rules::FactoringStep step_;
  T* change_;
  double bound_;
};

/// The sum of squares, as those of any norm.
double squares_of(Context& context, const Loops& loops, const Array& array, std::vector<double>& room) {
  const std::int64_t chunks = (array.size + kChunk - 1) / kChunk;
  context.parallel_for(chunks, [&](std::int64_t c) {
    const std::int64_t begin = c * kChunk;
    const auto length = static_cast<std::int32_t>(std::min(kChunk, array.size - begin));
    room[static_cast<std::size_t>(c)] = loops.square(array, {0, length, begin});
  });
  return fold_partials({room.data(), static_cast<std::size_t>(chunks)});
}

template <class T>
void factorize_tensor(Context& context, const Loops& loops, FactoredScratch& scratch, const FactoredItem& item) {
  Tensor<T> tensor(context, scratch, item);
  tensor.divide();
  const auto squares = [&](bool is_asked_for, const Array& array) {
    return is_asked_for ? squares_of(context, loops, array, scratch.squares) : 0;
  };
  const double direction = squares(item.form.clip_threshold > 0, item.change);
  const double parameter = squares(item.form.scales != 0, item.value);
  tensor.finish(item.form.scale(tensor.rate(), direction, parameter, item.change.size));
}

}  // namespace

void reserve_factored(const FactoredPlan& plan) {
  auto& scratch = plan.prepared.get<FactoredScratch>();
  const auto room = [](std::vector<double>& numbers, std::int64_t count) {
    if (std::ssize(numbers) < count) numbers.resize(static_cast<std::size_t>(count));
  };
  std::int64_t most_panels = 0;
  for (const FactoredItem& item : plan.items) {
    const rules::FactoredAxes& axes = item.axes;
    room(scratch.squares, (item.change.size + kChunk - 1) / kChunk);
    if (!axes.are_factored) continue;
    room(scratch.rows, axes.row_count());
    room(scratch.columns, axes.column_count());
    room(scratch.means, axes.matrix_count());
    room(scratch.partials, panels_of(axes) * columns_of(axes));
    most_panels = std::max(most_panels, panels_of(axes));
  }
  scratch.panels.reserve(static_cast<std::size_t>(most_panels));
}

void factorize(Context& context, const Loops& loops, const FactoredPlan& plan) {
  reserve_factored(plan);  // no more than a look, where it was asked for beforehand
  auto& scratch = plan.prepared.get<FactoredScratch>();
  for (const FactoredItem& item : plan.items) {
    if (item.change.data == nullptr || item.change.size == 0) continue;
    const auto run = item.change.dtype == DType::f64 ? factorize_tensor<double> : factorize_tensor<float>;
    run(context, loops, scratch, item);
  }
}

}  // namespace gradstep::cpu
