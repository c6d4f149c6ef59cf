// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/deferring_backend.h"

#include <deque>
#include <utility>
#include <vector>

#include "detached/deferring_preconditioning.h"

namespace gradstep::test {

namespace {

/// What a list shows, owned.
template <class Item>
class Kept {
 public:
  Kept() = default;
  explicit Kept(std::span<const Item> items) : items_(items.begin(), items.end()) {}
  std::span<const Item> items() const { return items_; }
  std::span<Item> items() { return items_; }

 private:
  std::vector<Item> items_;
};

/// Arrays with the shapes and strides that they borrow.
class Shapes {
 public:
  void own(Array& array) {
    array.shape = own(array.shape, array.ndim);
    array.strides = own(array.strides, array.ndim);
  }
  void own(CopyItem& item) {
    own(item.destination);
    own(item.source);
  }
  void own(UnitItem& item) {
    own(item.gradient);
    own(item.value);
    own(item.to);
  }
  void own(FinishItem& item) { own(item.item); }
  void own(ProjectedItem& item) { own(item.change); }
  void own(AverageItem& item) {
    own(item.average);
    own(item.value);
  }
  void own(CombineItem& item) {
    own(item.destination);
    own(item.a);
    own(item.b);
  }
  void own(UpdateItem& item) {
    for (const Array** array : {&item.param, &item.gradient, &item.update}) {
      Array& kept = arrays_.emplace_back(**array);
      own(kept);
      *array = &kept;
    }
  }

 private:
  const std::int64_t* own(const std::int64_t* numbers, std::int32_t count) {
    if (numbers == nullptr) return nullptr;
    return lists_.emplace_back(numbers, numbers + count).data();
  }

  std::deque<std::vector<std::int64_t>> lists_;
  std::deque<Array> arrays_;
};

struct KeptArrays {
  explicit KeptArrays(std::span<const Array> shown) : list(shown) {
    for (Array& array : list.items()) shapes.own(array);
  }
  std::span<const Array> arrays() const { return std::as_const(list).items(); }

  Kept<Array> list;
  Shapes shapes;
};

struct KeptAccumulation {
  explicit KeptAccumulation(const AccumulateJob& shown)
      : job(shown), work(*shown.work), sums(shown.sums), gradients(shown.gradients.arrays), actions(shown.actions) {
    job.work = &work;
    job.sums = sums.arrays();
    job.gradients = {gradients.arrays(), 0};
    job.actions = std::as_const(actions).items();
  }

  AccumulateJob job;
  WorkList work;
  KeptArrays sums;
  KeptArrays gradients;
  Kept<AccumulateAction> actions;
};

struct KeptNorm {
  explicit KeptNorm(const NormPlan& shown) : work(*shown.work), arrays(shown.arrays.arrays) {}
  NormPlan plan() const { return {&work, {arrays.arrays(), 0}, {}}; }

  WorkList work;
  KeptArrays arrays;
};

/// A plan whose items are of one piece.
template <class Plan, class Item>
struct KeptList {
  explicit KeptList(const Plan& shown) : plan(shown), work(*shown.work), list(shown.items) {
    for (Item& item : list.items()) shapes.own(item);
    plan.work = &work;
    plan.items = std::as_const(list).items();
  }

  Plan plan;
  WorkList work;
  Kept<Item> list;
  Shapes shapes;
};
using KeptCopies = KeptList<CopyPlan, CopyItem>;
using KeptCombination = KeptList<CombinePlan, CombineItem>;

struct KeptLinear {
  explicit KeptLinear(const LinearPlan& shown) : work(*shown.work), list(shown.items) {
    for (LinearCombination& item : list.items()) {
      shapes.own(item.destination);
      item.vectors = vectors.emplace_back(item.vectors).arrays();
      item.factors = std::as_const(factors.emplace_back(item.factors)).items();
    }
  }
  LinearPlan plan() const { return {&work, list.items(), {}}; }

  WorkList work;
  Kept<LinearCombination> list;
  Shapes shapes;
  std::deque<KeptArrays> vectors;
  std::deque<Kept<double>> factors;
};

struct KeptMerges {
  explicit KeptMerges(const AdasumPlan& shown) : work(*shown.work), list(shown.items), plan(shown) {
    for (AdasumMerge& item : list.items()) {
      shapes.own(item.destination);
      item.vectors = vectors.emplace_back(item.vectors).arrays();
      item.exponents = std::as_const(exponents.emplace_back(item.exponents)).items();
    }
    plan.work = &work;
    plan.items = std::as_const(list).items();
  }

  WorkList work;
  Kept<AdasumMerge> list;
  Shapes shapes;
  std::deque<KeptArrays> vectors;
  std::deque<Kept<int>> exponents;
  AdasumPlan plan;
};

struct KeptStep {
  KeptStep(const StepPlan& shown, const double* shown_values)
      : plan(shown), gradients(shown.gradients), rules(shown.rules), programs(shown.programs), forms(shown.forms) {
    plan.gradients = gradients.plan();
    plan.rules = std::as_const(rules).items();
    plan.programs = std::as_const(programs).items();
    for (kernels::HyperParameterForm& form : forms.items()) {
      kernels::ScheduleForm& s = form.schedule;
      const auto n = static_cast<std::size_t>(s.n_points);
      if (n == 0) continue;
      s.boundaries = boundaries.emplace_back(s.boundaries, s.boundaries + n - 1).data();
      s.values = tables.emplace_back(s.values, s.values + n).data();
    }
    plan.forms = std::as_const(forms).items();
    if (shown_values != nullptr) {
      values.assign(shown_values, shown_values + plan.rules.size() * static_cast<std::size_t>(plan.fields));
    }
  }

  StepPlan plan;
  KeptNorm gradients;
  Kept<rules::RuleForm> rules;
  Kept<const rules::text::Code*> programs;
  Kept<kernels::HyperParameterForm> forms;
  std::deque<std::vector<std::int64_t>> boundaries;
  std::deque<std::vector<double>> tables;
  std::vector<double> values;
};

using KeptUpdate = KeptList<UpdatePlan, UpdateItem>;

struct KeptFactors {
  explicit KeptFactors(const FactoredPlan& shown) : list(shown.items) {
    for (FactoredItem& item : list.items()) {
      shapes.own(item.change);
      shapes.own(item.value);
    }
    plan.items = std::as_const(list).items();
  }

  Kept<FactoredItem> list;
  Shapes shapes;
  FactoredPlan plan;
};

struct KeptSums : KeptList<SumsPlan, UpdateItem> {
  explicit KeptSums(const SumsPlan& shown) : KeptList(shown), settled(shown.settled) {
    plan.settled = std::as_const(settled).items();
  }

  Kept<SettledItem> settled;
};

struct KeptSelection {
  explicit KeptSelection(const SelectPlan& shown) : plan(shown), parts(shown.parts) {
    plan.parts = std::as_const(parts).items();
  }

  SelectPlan plan;
  Kept<SelectPart> parts;
};

}  // namespace

void DeferringBackend::accumulate(const AccumulateJob& job, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptAccumulation>(job)] { inner_.accumulate(kept->job, host_); });
}

void DeferringBackend::add_rows(const RowsJob& job, Queue& queue) {
  const Array arrays[] = {job.sum, job.indices, job.values};
  put_into(queue, [this, job, kept = std::make_shared<KeptArrays>(arrays)] {
    inner_.add_rows({kept->arrays()[0], kept->arrays()[1], kept->arrays()[2], job.row_size, job.factor, job.divides},
                    host_);
  });
}

void DeferringBackend::begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                                  kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptStep>(plan, values), request, scalars] {
    inner_.begin_step(kept->plan, request, kept->values.empty() ? nullptr : kept->values.data(), scalars, host_);
  });
}

void DeferringBackend::shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<UnitPlan, UnitItem>>(plan), scalars] {
    inner_.shape_gradients(kept->plan, scalars, host_);
  });
}

void DeferringBackend::measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials,
                                    Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptSums>(plan), scalars, partials] {
    inner_.measure_sums(kept->plan, scalars, partials, host_);
  });
}

void DeferringBackend::settle(const SumsPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue,
           [this, kept = std::make_shared<KeptSums>(plan), scalars] { inner_.settle(kept->plan, scalars, host_); });
}

void DeferringBackend::update(const UpdatePlan& plan, kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue,
           [this, kept = std::make_shared<KeptUpdate>(plan), scalars] { inner_.update(kept->plan, scalars, host_); });
}

void DeferringBackend::count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials,
                                     Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<FinishPlan, FinishItem>>(plan), scalars, partials] {
    inner_.count_staying(kept->plan, scalars, partials, host_);
  });
}

void DeferringBackend::orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<Kept<OrthogonalItem>>(plan.items), scalars] {
    inner_.orthogonalize({std::as_const(*kept).items(), {}}, scalars, host_);
  });
}

void DeferringBackend::factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptFactors>(plan), scalars] {
    inner_.factorize(kept->plan, scalars, host_);
  });
}

void DeferringBackend::take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<ProjectionPlan, ProjectedItem>>(plan), scalars] {
    inner_.take_gradients(kept->plan, scalars, host_);
  });
}

void DeferringBackend::fill_bases(const ProjectionPlan& plan, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<ProjectionPlan, ProjectedItem>>(plan)] {
    inner_.fill_bases(kept->plan, host_);
  });
}

void DeferringBackend::project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<ProjectionPlan, ProjectedItem>>(plan), scalars] {
    inner_.project(kept->plan, scalars, host_);
  });
}

void DeferringBackend::finish(const FinishPlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<FinishPlan, FinishItem>>(plan), scalars] {
    inner_.finish(kept->plan, scalars, host_);
  });
}

void DeferringBackend::average(const AveragePlan& plan, const kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptList<AveragePlan, AverageItem>>(plan), scalars] {
    inner_.average(kept->plan, scalars, host_);
  });
}

void DeferringBackend::close_step(kernels::StepScalars* scalars, Queue& queue) {
  put_into(queue, [this, scalars] { inner_.close_step(scalars, host_); });
}

void DeferringBackend::encode(const float* from, const CodedNumbers& to, Queue& queue) {
  put_into(queue, [this, from, to] { inner_.encode(from, to, host_); });
}

void DeferringBackend::decode(const CodedNumbers& from, float* to, Queue& queue) {
  put_into(queue, [this, from, to] { inner_.decode(from, to, host_); });
}

void DeferringBackend::encode(const float* from, const StoredMatrix& to, Queue& queue) {
  put_into(queue, [this, from, to] { inner_.encode(from, to, host_); });
}

void DeferringBackend::decode(const StoredMatrix& from, float* to, Queue& queue) {
  put_into(queue, [this, from, to] { inner_.decode(from, to, host_); });
}

void DeferringBackend::write_identity(const StoredMatrix& to, double value, Queue& queue) {
  put_into(queue, [this, to, value] { inner_.write_identity(to, value, host_); });
}

void DeferringBackend::square_chunks(const NormPlan& plan, double scale, double* partials, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptNorm>(plan), scale, partials] {
    inner_.square_chunks(kept->plan(), scale, partials, host_);
  });
}

void DeferringBackend::fold(const double* partials, std::int64_t count, double* norm, Queue& queue) {
  put_into(queue, [this, partials, count, norm] { inner_.fold(partials, count, norm, host_); });
}

void DeferringBackend::measure(const NormPlan& plan, double* norm, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptNorm>(plan), norm] { inner_.measure(kept->plan(), norm, host_); });
}

void DeferringBackend::copy(const CopyPlan& plan, double multiplier, double divisor, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptCopies>(plan), multiplier, divisor] {
    inner_.copy(kept->plan, multiplier, divisor, host_);
  });
}

void DeferringBackend::combine(const CombinePlan& plan, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptCombination>(plan)] { inner_.combine(kept->plan, host_); });
}

void DeferringBackend::combine_vectors(const LinearPlan& plan, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptLinear>(plan)] { inner_.combine_vectors(kept->plan(), host_); });
}

void DeferringBackend::sum_ranks(const RankSum& job, Queue& queue) {
  const auto sources = std::make_shared<Kept<const void*>>(job.sources);
  put_into(queue, [this, job, sources] {
    RankSum own = job;
    own.sources = std::as_const(*sources).items();
    inner_.sum_ranks(own, host_);
  });
}

void DeferringBackend::dot_chunks(const CombinePlan& plan, Dots* dots, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptCombination>(plan), dots] {
    inner_.dot_chunks(kept->plan, dots, host_);
  });
}

void DeferringBackend::adasum(const AdasumPlan& plan, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptMerges>(plan)] { inner_.adasum(kept->plan, host_); });
}

void DeferringBackend::clamp(const Array& data, double bound, Queue& queue) {
  put_into(queue, [this, data, bound] { inner_.clamp(data, bound, host_); });
}

void DeferringBackend::count_nonfinite(const Array& data, std::int64_t* count, Queue& queue) {
  put_into(queue, [this, data, count] { inner_.count_nonfinite(data, count, host_); });
}

void DeferringBackend::encode_rest(float* numbers, const CodedNumbers& to, std::int64_t* nonfinite, Queue& queue) {
  put_into(queue, [this, numbers, to, nonfinite] { inner_.encode_rest(numbers, to, nonfinite, host_); });
}

void DeferringBackend::add_decoded(const CodedNumbers& from, float* sums, double divisor, Queue& queue) {
  put_into(queue, [this, from, sums, divisor] { inner_.add_decoded(from, sums, divisor, host_); });
}

namespace {

/// What has been asked of matrices, as a plan of those that there were then.
template <class Ask>
std::function<void()> kept(const LowRankPlan& plan, Ask ask) {
  return [own = std::vector<LowRank>(plan.matrices.begin(), plan.matrices.end()), ask] { ask(LowRankPlan{own, {}}); };
}

}  // namespace

void DeferringBackend::project_rows(const LowRankPlan& plan, Queue& queue) {
  put_into(queue, kept(plan, [this](const LowRankPlan& own) { inner_.project_rows(own, host_); }));
}

void DeferringBackend::project_columns(const LowRankPlan& plan, Queue& queue) {
  put_into(queue, kept(plan, [this](const LowRankPlan& own) { inner_.project_columns(own, host_); }));
}

void DeferringBackend::orthonormalize(const LowRankPlan& plan, Queue& queue) {
  put_into(queue, kept(plan, [this](const LowRankPlan& own) { inner_.orthonormalize(own, host_); }));
}

void DeferringBackend::keep_factors(const LowRankPlan& plan, Queue& queue) {
  put_into(queue, kept(plan, [this](const LowRankPlan& own) { inner_.keep_factors(own, host_); }));
}

void DeferringBackend::expand(const LowRankPlan& plan, double factor, Queue& queue) {
  put_into(queue, kept(plan, [this, factor](const LowRankPlan& own) { inner_.expand(own, factor, host_); }));
}

std::unique_ptr<Preconditioning> DeferringBackend::make_preconditioning(const rules::ShampooForm& form) {
  return defer(inner_.make_preconditioning(form),
               [this](Queue& queue, std::function<void()> work) { put_into(queue, std::move(work)); });
}

void DeferringBackend::select_largest(const SelectPlan& plan, const Selection& to, Queue& queue) {
  put_into(queue,
           [this, kept = std::make_shared<KeptSelection>(plan), to] { inner_.select_largest(kept->plan, to, host_); });
}

void DeferringBackend::count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, Queue& queue) {
  put_into(queue, [this, kept = std::make_shared<KeptSelection>(plan), pieces, counts] {
    inner_.count_reaching(kept->plan, pieces, counts, host_);
  });
}

void DeferringBackend::select_reaching(const SelectPlan& plan, const Selection& to, Queue& queue) {
  put_into(queue,
           [this, kept = std::make_shared<KeptSelection>(plan), to] { inner_.select_reaching(kept->plan, to, host_); });
}

void DeferringBackend::count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces,
                                    std::int64_t* counts, Queue& queue) {
  put_into(queue,
           [this, list, elements, pieces, counts] { inner_.count_pieces(list, elements, pieces, counts, host_); });
}

void DeferringBackend::take(const Array& data, const SparseList& list, void* values, Queue& queue) {
  put_into(queue, [this, data, list, values] { inner_.take(data, list, values, host_); });
}

void DeferringBackend::put(const Array& data, const SparseList& list, bool add, Queue& queue) {
  put_into(queue, [this, data, list, add] { inner_.put(data, list, add, host_); });
}

void DeferringBackend::sum_sparse(const SparseSum& job, Queue& queue) {
  put_into(queue, [this, job, lists = std::make_shared<Kept<SparseList>>(job.lists)] {
    SparseSum own = job;
    own.lists = std::as_const(*lists).items();
    inner_.sum_sparse(own, host_);
  });
}

}  // namespace gradstep::test
