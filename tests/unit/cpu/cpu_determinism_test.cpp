// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The promise of docs/numerics.md: the same bits whatever the instruction set, the number of threads, the thread that
// runs a body and the floating-point mode that the host has set.
#include <cfenv>
#include <cmath>
#include <limits>
#include <thread>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/fp_environment.h"
#include "cpu_test_support.h"
#include "detached/deferring_backend.h"
#include "gradstep/comm.h"
#include "kernels/block_code.h"
#include "unit/cpu/projection_run.h"

namespace gradstep::test {
namespace {

/// Enough to be shared out among threads.
constexpr std::int64_t kSize = 2 * kChunk + 77;

/// Makes subnormals, infinities and NaNs part of the data.
TestArray make_array(DType dtype, int seed) {
  TestArray array(dtype, kSize);
  array.fill(seed);
  for (std::int64_t i = seed; i < kSize; i += 101) array.set(i, array.get(i) * 1e-39);
  for (std::int64_t i = 50 + seed; i < kSize; i += 1003) array.set(i, array.get(i) * 1e-5);
  array.set(900 + seed, std::numeric_limits<double>::infinity());
  array.set(kChunk + seed, std::numeric_limits<double>::quiet_NaN());
  return array;
}

void append(std::vector<std::byte>& record, const std::vector<std::byte>& bytes) {
  record.insert(record.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& record, std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  record.insert(record.end(), bytes.begin(), bytes.end());
}

/// A NaN is a NaN, whichever of two operands it comes from.
void append_numbers(std::vector<std::byte>& record, TestArray& array) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    if (std::isnan(array.get(i))) array.set(i, std::numeric_limits<double>::quiet_NaN());
  }
  append(record, array.bytes());
}

/// The constants of step 3, by hyper-parameters that are the initial ones, or small.
template <class Rule>
const rules::GroupConstants* constants_of_rule() {
  double values[rules::kMaxFields];
  for (std::size_t i = 0; i < std::size(Rule::kFields); ++i) {
    const double initial = Rule::kFields[i].initial;
    values[i] = initial > 0 ? initial : 0.01;
  }
  values[Rule::learning_rate] = 0.1;
  const std::int32_t choices[rules::kMaxChoices] = {};
  const double settings[rules::kMaxSettings] = {};
  const double numbers[rules::kMaxNumbers] = {1, 1, 1, 1};
  rules::Powers powers;
  kernels::Fold kept;
  return group_constants(Rule::constants(choices, values, rules::Clock{3, false, powers, kept, settings, numbers}),
                         0.01);
}

template <class... Rules>
const rules::GroupConstants* constants_of(rules::KernelId kernel, rules::RuleList<Rules...> /*list*/) {
  static const rules::GroupConstants* const by_rule[] = {constants_of_rule<Rules>()...};
  return by_rule[rules::kKernels[static_cast<std::size_t>(kernel)].rule];
}

template <std::size_t... kIds>
std::uint8_t signed_states_of(rules::KernelId kernel, std::index_sequence<kIds...> /*ids*/) {
  static constexpr std::uint8_t kSigned[] = {rules::KernelOf<kIds, float>::kSignedStates...};
  return kSigned[static_cast<std::size_t>(kernel)];
}
std::uint8_t signed_states_of(rules::KernelId kernel) {
  return signed_states_of(kernel, std::make_index_sequence<rules::kKernelCount>());
}

enum class Storage { native, bf16, bf16_stochastic, block_code, master };

void record_update(BackendCalls& backend, DType dtype, rules::KernelId kernel, Storage storage,
                   std::vector<std::byte>& record) {
  TestArray param = make_array(dtype, 1);
  const TestArray gradient = make_array(dtype, 2);
  const bool narrow = storage == Storage::bf16 || storage == Storage::bf16_stochastic;
  const bool coded = storage == Storage::block_code;
  const DType stored = narrow ? DType::bf16 : coded ? DType::u8 : arithmetic_dtype(dtype);
  std::vector<TestArray> states(rules::kMaxStates, TestArray(stored, kSize));
  std::vector<TestArray> factors(rules::kMaxStates,
                                 TestArray(DType::f32, (kSize + kernels::kCodeBlock - 1) / kernels::kCodeBlock));
  TestArray master(DType::f32, kSize);
  OwnItem item;
  item.param = param.array();
  item.gradient = gradient.array();
  item.kernel = kernel;
  item.constants = constants_of(kernel, rules::AllRules{});
  item.random_key = 17;
  item.stochastic = storage == Storage::bf16_stochastic;
  item.signed_states = signed_states_of(kernel);
  if (narrow) item.format = StateFormat::bf16;
  if (coded) item.format = StateFormat::block_code;
  if (storage == Storage::master) item.master = static_cast<float*>(master.array().data);
  for (std::size_t s = 0; s < states.size(); ++s) {
    item.states[s] = states[s].array().data;
    item.factors[s] = static_cast<float*>(factors[s].array().data);
    for (std::int64_t i = 0; i < kSize && !coded; ++i) {
      states[s].set(i, i % 5 == 0 ? 1e-40 : 1e-4 * static_cast<double>((i + static_cast<std::int64_t>(s)) % 17));
    }
  }
  WorkList work;
  work.append(kSize);
  UpdateJob job;
  job.work = &work;
  job.items = {&item, 1};
  job.grad_multiplier = 0.3;
  job.clip_value = 0.2;
  for (job.step = 0; job.step < 2; ++job.step) backend.update(job);
  append_numbers(record, param);
  append_numbers(record, master);
  for (TestArray& state : states) coded ? append(record, state.bytes()) : append_numbers(record, state);
  for (const TestArray& factor : factors) append(record, factor.bytes());
}

void record_updates(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  for (int rule = 0; rule < rules::kKernelCount; ++rule) {
    const auto id = rules::KernelId{rule};
    record_update(backend, dtype, id, Storage::native, record);
    // How states are stored does not depend on the rule but for their number.
    const bool other_storage = id == rules::kernel_id<rules::Sgd>(1, rules::Decay::none) ||
                               id == rules::kernel_id<rules::Adam>(0, rules::Decay::decoupled) ||
                               id == rules::kernel_id<rules::RmsProp>(3, rules::Decay::none);
    if (dtype == DType::f64 || !other_storage) continue;
    record_update(backend, dtype, id, Storage::bf16, record);
    record_update(backend, dtype, id, Storage::bf16_stochastic, record);
    record_update(backend, dtype, id, Storage::block_code, record);
    if (dtype != DType::f32) record_update(backend, dtype, id, Storage::master, record);
  }
}

void record_accumulation(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  TestArray sum(arithmetic_dtype(dtype), kSize);
  sum.fill(1);
  WorkList work;
  work.append(kSize);
  double norm = 0;
  const Array sum_array = sum.array();
  for (const auto formula : {AccumulateFormula::plain, AccumulateFormula::divided, AccumulateFormula::weighted,
                             AccumulateFormula::running}) {
    const TestArray gradient = make_array(dtype, 2 + static_cast<int>(formula));
    const Array gradient_array = gradient.array();
    for (const auto action : {AccumulateAction::assign, AccumulateAction::add, AccumulateAction::absent}) {
      AccumulateJob job;
      job.work = &work;
      job.sums = {&sum_array, 1};
      job.gradients.arrays = {&gradient_array, 1};
      job.actions = {&action, 1};
      job.formula = formula;
      job.factor = 3;
      job.finish = Finish::divide;
      job.finish_value = 7;
      job.norm = &norm;
      backend.accumulate(job);
      append(record, sum.bytes());
      append(record, std::span<const double>(&norm, 1));
    }
  }
  std::vector<double> squares(work.chunks().size());
  backend.square_chunks(work, {&sum_array, 1}, squares);
  append(record, std::span<const double>(squares));
}

void record_copies_and_sums(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  const TestArray source = make_array(dtype, 1);
  WorkList work;
  work.append(kSize);
  for (const DType to : kFloatTypes) {
    const TestArray destination(to, kSize);
    const CopyItem item{destination.array(), source.array()};
    backend.copy(work, {&item, 1}, 0.7, 3);
    append(record, destination.bytes());
  }
  const std::vector<TestArray> ranks = {make_array(dtype, 1), make_array(dtype, 5), make_array(dtype, 9)};
  std::vector<const void*> sources;
  sources.reserve(ranks.size());
  for (const TestArray& rank : ranks) sources.push_back(rank.array().data);
  for (const std::int32_t op : {GRADSTEP_REDUCE_SUM, GRADSTEP_REDUCE_MAX, GRADSTEP_REDUCE_MIN}) {
    const TestArray result(dtype, kSize);
    RankSum job;
    job.destination = result.array().data;
    job.sources = sources;
    job.count = kSize;
    job.dtype = dtype;
    job.op = op;
    job.divisor = op == GRADSTEP_REDUCE_SUM ? 3 : 1;
    backend.sum_ranks(job);
    append(record, result.bytes());
  }
  TestArray sum(DType::f32, 100 * 64);
  TestArray indices(DType::i64, kSize / 64);
  sum.fill(1);
  for (std::int64_t j = 0; j < indices.size(); ++j) indices.write(j, j * j % 100);
  backend.add_rows(sum.array(), indices.array(), source.array(), 64, 0.3);
  append(record, sum.bytes());
}

void record_combinations(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  const TestArray a = make_array(dtype, 1);
  const TestArray b = make_array(dtype, 4);
  const TestArray destination(dtype, kSize);
  WorkList work;
  work.append(kSize);
  const CombineItem item{destination.array(), a.array(), b.array(), 0.7, -1.3};
  backend.combine(work, {&item, 1});
  append(record, destination.bytes());
  const Array vectors[] = {a.array(), b.array(), destination.array()};
  const double factors[] = {0.7, -1.3, 0.1};
  for (const std::size_t count : {2U, 3U}) {
    const LinearCombination all{destination.array(), std::span(vectors).first(count), std::span(factors).first(count)};
    backend.combine_vectors(work, {&all, 1});
    append(record, destination.bytes());
  }
  std::vector<Dots> dots(work.chunks().size());
  backend.dot_chunks(work, {&item, 1}, dots);
  for (const Dots& d : dots) append(record, std::span<const double>({d.ab, d.aa, d.bb}));
}

void record_selections(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  if (dtype != DType::f32 && dtype != DType::f64) return;
  const TestArray data = make_array(dtype, 1);
  const TestArray other = make_array(dtype, 4);
  std::int64_t reaching = 0;
  const std::vector<std::int32_t> chosen = backend.select_reaching(data.array(), 1.2, {&reaching, 1}).indices;
  const SelectPart all{other.size(), 700};
  const std::vector<std::int32_t> largest = backend.select_largest(other.array(), {&all, 1}).indices;
  TestArray a(dtype, static_cast<std::int64_t>(chosen.size()));
  TestArray b(dtype, static_cast<std::int64_t>(largest.size()));
  backend.take(data.array(), BackendCalls::list_of(chosen, nullptr), a.array().data);
  backend.take(other.array(), BackendCalls::list_of(largest, nullptr), b.array().data);
  backend.put(other.array(), BackendCalls::list_of(largest, nullptr));
  const SparseList lists[] = {BackendCalls::list_of(chosen, a.array().data),
                              BackendCalls::list_of(largest, b.array().data)};
  const TestArray sum = make_array(dtype, 7);
  const std::vector<std::int32_t> touched = backend.sum_sparse(sum.array(), lists, 0, kSize, 3);
  backend.clamp(other.array(), 0.4);
  append(record, sum.bytes());
  append(record, other.bytes());
  for (const auto* list : {&chosen, &largest, &touched}) {
    const auto bytes = std::as_bytes(std::span(*list));
    record.insert(record.end(), bytes.begin(), bytes.end());
  }
}

void record_low_rank(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  if (dtype != DType::f32 && dtype != DType::f64) return;
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kCols = 500;
  TestArray m(dtype, kRows * kCols);
  TestArray p(dtype, 3 * kRows);
  TestArray q(dtype, 3 * kCols);
  TestArray result(dtype, kRows * kCols);
  m.fill(1);
  q.fill(2);
  const LowRank job[] = {{m.array(), kRows, kCols, 3, p.array().data, q.array().data, result.array().data}};
  backend.project_rows(job);
  backend.orthonormalize(job);
  backend.project_columns(job);
  backend.expand(job, 0.7);
  for (const TestArray* array : {&m, &p, &q, &result}) append(record, array->bytes());
}

void record_projection(BackendCalls& backend, DType dtype, std::vector<std::byte>& record) {
  if (dtype != DType::f32 && dtype != DType::f64) return;
  for (const auto form : {rules::ProjectionForm::reference, rules::ProjectionForm::simple}) {
    ProjectionRun run(dtype, {300, 500, 3}, form);
    run.finish(backend);
    for (const TestArray* array : run.arrays()) append(record, array->bytes());
  }
}

/// Every operation on every dtype; all result bits in one record.
std::vector<std::byte> record_all(Backend& all) {
  BackendCalls backend(all);
  std::vector<std::byte> record;
  for (const DType dtype : kFloatTypes) {
    record_updates(backend, dtype, record);
    record_accumulation(backend, dtype, record);
    record_copies_and_sums(backend, dtype, record);
    record_combinations(backend, dtype, record);
    record_selections(backend, dtype, record);
    record_low_rank(backend, dtype, record);
    record_projection(backend, dtype, record);
  }
  return record;
}

const std::vector<std::byte>& baseline_record() {
  static const std::vector<std::byte> record = record_all(make_cpu_context(1, "baseline")->cpu());
  return record;
}

// EXPECT_EQ would print megabytes.
void expect_baseline(const std::vector<std::byte>& record, const std::string& what) {
  ASSERT_EQ(record.size(), baseline_record().size());
  const auto [found, expected] = std::mismatch(record.begin(), record.end(), baseline_record().begin());
  EXPECT_TRUE(found == record.end()) << what << ": byte " << (found - record.begin()) << " of " << record.size()
                                     << " differs";
}

class CpuDeterminismOf : public testing::TestWithParam<std::string> {};

TEST_P(CpuDeterminismOf, thread_counts_give_the_bits_of_the_baseline) {
  for (const int threads : {1, 2, 7}) {
    const auto context = make_cpu_context(threads, GetParam().c_str());
    expect_baseline(record_all(context->cpu()), std::to_string(threads) + " threads");
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, CpuDeterminismOf, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& test) { return test.param; });

/// The host's loop: bodies run backwards, each half on a thread of its own, in a mode of the host's liking.
gradstep_status backward_parallel_for(void* user, std::int64_t n, void (*body)(void*, std::int64_t), void* body_user) {
  *static_cast<std::int64_t*>(user) += 1;
  const auto run = [=](std::int64_t begin, std::int64_t end) {
    std::fesetround(FE_UPWARD);
    for (std::int64_t i = end; i-- > begin;) body(body_user, i);
  };
  std::thread upper(run, n / 2, n);
  std::thread lower(run, 0, n / 2);
  upper.join();
  lower.join();
  return GRADSTEP_OK;
}

TEST(CpuDeterminism, a_hosts_parallel_for_gives_the_same_bits) {
  std::int64_t calls = 0;
  gradstep_context_options options = default_context_options();
  options.parallel_for = backward_parallel_for;
  options.parallel_for_user = &calls;
  Context context(options);
  context.add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(context));
  expect_baseline(record_all(context.cpu()), "host's parallel_for");
  EXPECT_GT(calls, 0);
}

/// Each operation starts from the mode that a host has set, as an exported call does.
class HostMode final : public DeferringBackend {
 public:
  HostMode(Backend& inner, int mode) : DeferringBackend(inner), mode_(mode) {}

  const std::shared_ptr<Memory>& memory() const override { return inner().memory(); }
  Queue& queue(void* stream) override { return inner().queue(stream); }

 protected:
  void put_into(Queue& /*queue*/, std::function<void()> work) override { entered(work); }

 private:
  template <class Body>
  void entered(Body body) {
    std::fesetround(mode_);
    set_flush_to_zero(true);
    {
      const FpEnvironment environment;
      body();
    }
    EXPECT_EQ(std::fegetround(), mode_);
    EXPECT_TRUE(flushes_to_zero());
    set_flush_to_zero(false);
    std::fesetround(FE_TONEAREST);
  }

#if defined(__SSE2__)
  static void set_flush_to_zero(bool on) {
    _MM_SET_FLUSH_ZERO_MODE(on ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
    _mm_setcsr(on ? _mm_getcsr() | 0x40U : _mm_getcsr() & ~0x40U);  // denormals are zero
  }
  static bool flushes_to_zero() { return _MM_GET_FLUSH_ZERO_MODE() == _MM_FLUSH_ZERO_ON; }
#else
  static void set_flush_to_zero(bool) {}
  static bool flushes_to_zero() { return true; }
#endif

  int mode_;
};

TEST(CpuDeterminism, a_hosts_rounding_mode_changes_no_bit_and_is_restored) {
  baseline_record();
  for (const int mode : {FE_UPWARD, FE_TOWARDZERO}) {
    for (const int threads : {1, 2}) {
      const auto context = make_cpu_context(threads);
      HostMode host(context->cpu(), mode);
      expect_baseline(record_all(host), "rounding mode " + std::to_string(mode));
    }
  }
}

}  // namespace
}  // namespace gradstep::test
