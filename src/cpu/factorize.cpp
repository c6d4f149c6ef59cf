// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/factorize.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/held_bytes.h"

namespace gradstep::cpu {

namespace {

/// Elements that one call of a thread works on, or as many more as a row has.
constexpr std::int64_t kPanel = std::int64_t{4} * kChunk;
/// Panels of a matrix, whose columns are summed for each.
constexpr std::int64_t kMostPanels = 64;

/// What is kept of a plan: room for any of its tensors.
struct FactoredScratch {
  std::vector<double> rows;      // sums, then factors
  std::vector<double> columns;   // likewise
  std::vector<double> partials;  // sums over columns, by panel
  std::vector<double> means;     // of the rows of each matrix
  std::vector<double> squares;   // by chunk, or by part

  std::size_t bytes() const { return held_bytes(rows, columns, partials, means, squares); }
};

/// How the threads share a tensor [outer][rows][in_row].
struct Parts {
  explicit Parts(const rules::FactoredAxes& axes)
      : outer(axes.outer),
        rows(axes.rows),
        in_row(axes.middle * axes.columns * axes.inner),
        of_part(std::max(ceiling(rows, kMostPanels), kPanel / std::max<std::int64_t>(1, in_row))),
        panels(ceiling(rows, std::max<std::int64_t>(1, of_part))),
        together(std::max<std::int64_t>(1, kPanel / std::max<std::int64_t>(1, rows * in_row))) {}

  static std::int64_t ceiling(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

  bool are_split() const { return panels > 1; }
  std::int64_t partials() const { return are_split() ? outer * panels * in_row : 0; }

  std::int64_t outer;
  std::int64_t rows;
  std::int64_t in_row;
  std::int64_t of_part;   // rows of a panel
  std::int64_t panels;    // of an outer index
  std::int64_t together;  // outer indices of a part, where they are not split
};

template <class T>
T* at(std::vector<T>& numbers, std::int64_t place) {
  return numbers.data() + place;
}

/// One tensor of the arithmetic type T.
template <class T>
class Tensor {
 public:
  Tensor(Context& context, const Loops& loops, FactoredScratch& scratch, const FactoredItem& item)
      : context_(context),
        loops_(loops.factored<T>()),
        scratch_(scratch),
        item_(item),
        axes_(item.axes),
        parts_(item.axes),
        step_(rules::factoring_step(item.constants->usual)),
        change_(static_cast<T*>(item.change.data)) {}

  /// The gradient becomes the direction. Returns its sum of squares.
  double divide() {
    if (!axes_.are_factored) {
      for_each_part([&](std::int64_t part, std::int64_t begin, std::int64_t count) {
        T* variances = static_cast<T*>(item_.rows);
        scratch_.squares[static_cast<std::size_t>(part)] =
            loops_.divide_elements(item_.form, step_.keep, change_ + begin, variances + begin, count);
      });
      return folded(Parts::ceiling(item_.change.size, kPanel));
    }
    return parts_.are_split() ? divide_in_panels() : divide_whole();
  }

  /// Then, the direction becomes the mean with those before, where it has one.
  void finish(double scale) {
    *item_.factor = item_.momentum != nullptr ? -1 : -scale;
    if (item_.momentum == nullptr) return;
    T* momentum = static_cast<T*>(item_.momentum);
    for_each_part([&](std::int64_t /*part*/, std::int64_t begin, std::int64_t count) {
      loops_.mix_momentum(change_ + begin, momentum + begin, count, static_cast<T>(step_.momentum),
                          static_cast<T>((1 - step_.momentum) * scale));
    });
  }
  double rate() const { return step_.rate; }

 private:
  template <class Run>
  void for_each_part(Run run) {
    const std::int64_t size = item_.change.size;
    context_.parallel_for(Parts::ceiling(size, kPanel),
                          [&](std::int64_t part) { run(part, part * kPanel, std::min(kPanel, size - part * kPanel)); });
  }

  double folded(std::int64_t parts) const {
    return fold_partials({scratch_.squares.data(), static_cast<std::size_t>(parts)});
  }

  /// Each part has some matrices as a whole.
  double divide_whole() {
    const std::int64_t parts = Parts::ceiling(parts_.outer, parts_.together);
    context_.parallel_for(parts, [&](std::int64_t part) {
      const std::int64_t end = std::min(parts_.outer, (part + 1) * parts_.together);
      double squares = 0;
      for (std::int64_t outer = part * parts_.together; outer < end; ++outer) {
        const FactoredRows<T> rows = rows_of(outer, 0, parts_.rows, at(scratch_.columns, outer * parts_.in_row));
        add_squares(rows);
        advance_columns(outer);
        advance_rows(outer);
        squares += loops_.divide(rows);
      }
      scratch_.squares[static_cast<std::size_t>(part)] = squares;
    });
    return folded(parts);
  }

  /// Each part has some rows of an outer index.
  double divide_in_panels() {
    const auto in_panel = [&](std::int64_t part, double* columns) {
      const std::int64_t begin = part % parts_.panels * parts_.of_part;
      return rows_of(part / parts_.panels, begin, std::min(parts_.rows, begin + parts_.of_part), columns);
    };
    const std::int64_t parts = parts_.outer * parts_.panels;
    context_.parallel_for(
        parts, [&](std::int64_t part) { add_squares(in_panel(part, at(scratch_.partials, part * parts_.in_row))); });
    context_.parallel_for(parts_.outer, [&](std::int64_t outer) {
      double* sums = at(scratch_.columns, outer * parts_.in_row);
      std::fill_n(sums, parts_.in_row, 0.0);
      for (std::int64_t part = outer * parts_.panels; part < (outer + 1) * parts_.panels; ++part) {
        const double* partials = at(scratch_.partials, part * parts_.in_row);
        for (std::int64_t column = 0; column < parts_.in_row; ++column) sums[column] += partials[column];
      }
      advance_columns(outer);
      advance_rows(outer);
    });
    context_.parallel_for(parts, [&](std::int64_t part) {
      double* columns = at(scratch_.columns, part / parts_.panels * parts_.in_row);
      scratch_.squares[static_cast<std::size_t>(part)] = loops_.divide(in_panel(part, columns));
    });
    return folded(parts);
  }

  FactoredRows<T> rows_of(std::int64_t outer, std::int64_t begin, std::int64_t end, double* columns) {
    const std::int64_t row = outer * parts_.rows + begin;
    return {item_.form,
            end - begin,
            axes_.middle,
            axes_.columns,
            axes_.inner,
            change_ + row * parts_.in_row,
            at(scratch_.rows, row * axes_.middle * axes_.inner),
            columns};
  }

  void add_squares(const FactoredRows<T>& rows) const {
    std::fill_n(rows.of_rows, rows.rows * rows.middle * rows.inner, 0.0);
    std::fill_n(rows.of_columns, parts_.in_row, 0.0);
    loops_.add_squares(rows);
  }

  /// From sums to the factors of columns.
  void advance_columns(std::int64_t outer) {
    T* kept = static_cast<T*>(item_.columns) + outer * parts_.in_row;
    double* factors = at(scratch_.columns, outer * parts_.in_row);
    for (std::int64_t column = 0; column < parts_.in_row; ++column) {
      kept[column] = item_.form.go_on(kept[column], step_.keep, factors[column] / static_cast<double>(axes_.rows));
      factors[column] = item_.form.of_column(static_cast<double>(kept[column]));
    }
  }

  /// From sums to factors. Rows lie as [outer][rows][middle][inner].
  void advance_rows(std::int64_t outer) {
    const std::int64_t matrices = axes_.middle * axes_.inner;  // of one outer index
    T* kept = static_cast<T*>(item_.rows) + outer * axes_.rows * matrices;
    double* factors = at(scratch_.rows, outer * axes_.rows * matrices);
    double* means = at(scratch_.means, outer * matrices);
    std::fill_n(means, matrices, 0.0);
    for (std::int64_t row = 0; row < axes_.rows * matrices; row += matrices) {
      for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
        T& mean = kept[row + matrix];
        double& factor = factors[row + matrix];
        mean = item_.form.go_on(mean, step_.keep, factor / static_cast<double>(axes_.columns));
        factor = static_cast<double>(mean);
        means[matrix] += factor;
      }
    }
    for (std::int64_t matrix = 0; matrix < matrices; ++matrix) means[matrix] /= static_cast<double>(axes_.rows);
    for (std::int64_t row = 0; row < axes_.rows * matrices; row += matrices) {
      for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
        factors[row + matrix] = item_.form.of_row(factors[row + matrix], means[matrix]);
      }
    }
  }

  Context& context_;
  const FactoredLoops<T>& loops_;
  FactoredScratch& scratch_;
  const FactoredItem& item_;
  const rules::FactoredAxes& axes_;
  Parts parts_;
  rules::FactoringStep step_;
  T* change_;
};

/// The sum of squares, as those of any norm.
double squares_of(Context& context, const Loops& loops, const Array& array, std::vector<double>& room) {
  const std::int64_t chunks = chunks_of(array.size);
  context.parallel_for(chunks, [&](std::int64_t c) {
    const std::int64_t begin = c * kChunk;
    const auto length = static_cast<std::int32_t>(std::min(kChunk, array.size - begin));
    room[static_cast<std::size_t>(c)] = loops.square(array, {0, length, begin});
  });
  return fold_partials({room.data(), static_cast<std::size_t>(chunks)});
}

template <class T>
void factorize_tensor(Context& context, const Loops& loops, FactoredScratch& scratch, const FactoredItem& item) {
  Tensor<T> tensor(context, loops, scratch, item);
  const double direction = tensor.divide();
  const double parameter = item.form.scales != 0 ? squares_of(context, loops, item.value, scratch.squares) : 0;
  tensor.finish(item.form.scale(tensor.rate(), direction, parameter, item.change.size));
}

}  // namespace

void reserve_factored(const FactoredPlan& plan) {
  auto& scratch = plan.prepared.get<FactoredScratch>();
  const auto room = [](std::vector<double>& numbers, std::int64_t count) {
    if (std::ssize(numbers) < count) numbers.resize(static_cast<std::size_t>(count));
  };
  for (const FactoredItem& item : plan.items) {
    const rules::FactoredAxes& axes = item.axes;
    room(scratch.squares, Parts::ceiling(item.change.size, kChunk));
    if (!axes.are_factored) continue;
    const Parts parts(axes);
    room(scratch.squares, parts.outer * parts.panels);
    room(scratch.rows, axes.row_count());
    room(scratch.columns, axes.column_count());
    room(scratch.means, axes.matrix_count());
    room(scratch.partials, parts.partials());
  }
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
