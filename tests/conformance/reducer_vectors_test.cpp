// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of several ranks, each a thread, reduced to what the recorded systems made of them, on every engine that
// connects ranks of one machine.
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "support.h"
#include "tests/unit/temporary_directory.h"

namespace gradstep_conformance {
namespace {

/// Gloo only where its plugin was built.
std::vector<std::string> engines() {
  std::vector<std::string> names = {"local"};
#if defined(__linux__)
  names.emplace_back("shm");
#endif
#if defined(GRADSTEP_TEST_PLUGIN_DIR)
  ::setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, 1);
  names.emplace_back("gloo");
#endif
  return names;
}

/// Runs body(rank) on one thread per rank; the first failure comes back to the test.
void run_threads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        body(r);
      } catch (...) {
        errors[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// One end for each rank. Ranks of shm and Gloo meet in a directory.
std::vector<CommHandle> connect(gradstep_context* context, const std::string& engine, int ranks) {
  std::vector<gradstep_comm*> made(static_cast<std::size_t>(ranks));
  if (engine == "local") {
    check(gradstep_comm_create_local(context, ranks, made.data()));
  } else {
    const gradstep::test::TemporaryDirectory store;
    run_threads(ranks, [&](int rank) {
      gradstep_comm_options options;
      check(gradstep_comm_options_init(&options, sizeof options));
      options.engine = engine.c_str();
      options.rank = rank;
      options.world_size = ranks;
      options.store_path = store.path().c_str();
      options.network_interface = "127.0.0.1";
      check(gradstep_comm_create(context, &options, &made[static_cast<std::size_t>(rank)]));
    });
  }
  return {made.begin(), made.end()};
}

/// Runs body(rank, its communicator) on one thread per rank.
void run_ranks(gradstep_context* context, const std::string& engine, int ranks,
               const std::function<void(int, gradstep_comm*)>& body) {
  const std::vector<CommHandle> comms = connect(context, engine, ranks);
  run_threads(ranks, [&](int rank) {
    gradstep_comm* comm = comms[static_cast<std::size_t>(rank)].get();
    try {
      body(rank, comm);
    } catch (...) {
      gradstep_comm_abort(comm);
      throw;
    }
  });
}

ReducerHandle make_reducer(gradstep_context* context, gradstep_comm* comm, const gradstep_reducer_options& options,
                           const std::vector<gradstep_parameter>& parameters) {
  gradstep_reducer* reducer = nullptr;
  check(gradstep_reducer_create(context, comm, &options, parameters.data(), parameters.size(), &reducer));
  return ReducerHandle(reducer);
}

gradstep_reducer_options options_of(std::int32_t mode) {
  gradstep_reducer_options options;
  check(gradstep_reducer_options_init(&options, sizeof options));
  options.mode = mode;
  return options;
}

/// Every rank reduces its `gradients` and ends with `expected`.
void expect_reduced(const std::string& engine, const std::vector<std::vector<StoredArray*>>& gradients,
                    const std::vector<StoredArray*>& expected, std::int32_t mode, double tolerance, int threads) {
  const ContextHandle context = make_context(threads);
  run_ranks(context.get(), engine, static_cast<int>(gradients.size()), [&](int rank, gradstep_comm* comm) {
    const auto& own = gradients[static_cast<std::size_t>(rank)];
    std::vector<gradstep_parameter> parameters;
    std::vector<gradstep_tensor> views;
    for (StoredArray* gradient : own) {
      parameters.push_back(parameter_of(*gradient));
      views.push_back(gradient->view());
    }
    const ReducerHandle reducer = make_reducer(context.get(), comm, options_of(mode), parameters);
    check(gradstep_reducer_reduce(reducer.get(), views.data(), nullptr, views.size(), 1, nullptr));
    std::vector<gradstep_tensor> results(views.size());
    check(gradstep_reducer_gradients(reducer.get(), results.data(), results.size(), nullptr));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto* found = static_cast<const float*>(results[i].data);
      EXPECT_LE(relative_error(found, expected[i]->f32(), expected[i]->f32_count()), tolerance)
          << "rank " << rank << ", parameter " << i;
    }
  });
}

class AdasumVectors : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(AdasumVectors, BothRulesAreThoseOfTrax) {
  const auto& [engine, ranks] = GetParam();
  VectorFile file = read_vector_file(vector_path("adasum_" + std::to_string(ranks)));
  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  const std::size_t parameters = file.meta.at("shapes").size();
  std::vector<std::vector<StoredArray*>> gradients(file.meta.at("ranks").get<std::size_t>());
  std::vector<StoredArray*> nway;
  std::vector<StoredArray*> tree;
  for (std::size_t i = 0; i < parameters; ++i) {
    for (std::size_t r = 0; r < gradients.size(); ++r) {
      gradients[r].push_back(&file[array_name("g", static_cast<int>(r), i)]);
    }
    nway.push_back(&file["nway_" + std::to_string(i)]);
    const std::string name = "pairwise_" + std::to_string(i);
    if (file.arrays.count(name) > 0) tree.push_back(&file[name]);
  }
  for (const int threads : {1, 2}) {
    expect_reduced(engine, gradients, nway, GRADSTEP_REDUCER_ADASUM_NWAY, tolerance, threads);
    if (!tree.empty()) expect_reduced(engine, gradients, tree, GRADSTEP_REDUCER_ADASUM_TREE, tolerance, threads);
  }
}

INSTANTIATE_TEST_SUITE_P(Trax, AdasumVectors,
                         testing::Combine(testing::ValuesIn(engines()), testing::Values(2, 3, 4, 8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param)) + "_ranks";
                         });

class AdasumIdentities : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Trax, AdasumIdentities, testing::ValuesIn(engines()),
                         [](const auto& test) { return test.param; });

TEST_P(AdasumIdentities, EqualGradientsAverageAndOrthogonalOnesAdd) {
  VectorFile file = read_vector_file(vector_path("adasum_identities"));
  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  for (const std::int32_t mode : {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY}) {
    expect_reduced(GetParam(), {{&file["same"]}, {&file["same"]}}, {&file["same_expected"]}, mode, tolerance, 1);
    expect_reduced(GetParam(), {{&file["ortho_a"]}, {&file["ortho_b"]}}, {&file["ortho_expected"]}, mode, tolerance, 1);
  }
}

class SparseVectors : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

// Sums within the tolerance, and divided by nothing: the communicator of SINGA sums. Residuals are exact.
TEST_P(SparseVectors, SumsAndResidualsAreThoseOfSinga) {
  const auto& [engine, vectors] = GetParam();
  VectorFile file = read_vector_file(vector_path(vectors));
  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  const int ranks = file.meta.at("ranks").get<int>();
  const int steps = file.meta.at("steps").get<int>();
  const bool by_count = file.meta.at("mode").get<std::string>() == "sparse_topk";
  gradstep_reducer_options options =
      options_of(by_count ? GRADSTEP_REDUCER_SPARSE_TOPK : GRADSTEP_REDUCER_SPARSE_THRESHOLD);
  options.average = GRADSTEP_AVERAGE_SUM;
  options.sparsity = file.meta.at("options").at("sparsity").get<double>();
  options.residual = file.meta.at("options").at("residual").get<int>();
  const auto name = [](const char* prefix, int t, int r) { return array_name(prefix, t, static_cast<std::size_t>(r)); };
  for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
    options.sparse_exchange = exchange;
    const ContextHandle context = make_context(2);
    run_ranks(context.get(), engine, ranks, [&](int rank, gradstep_comm* comm) {
      const ReducerHandle reducer = make_reducer(context.get(), comm, options, {parameter_of(file["sum0"])});
      for (int t = 0; t < steps; ++t) {
        const gradstep_tensor gradient = file[name("g", t, rank)].view();
        check(gradstep_reducer_reduce(reducer.get(), &gradient, nullptr, 1, 1, nullptr));
        gradstep_tensor found{};
        check(gradstep_reducer_gradients(reducer.get(), &found, 1, nullptr));
        const StoredArray& sum = file["sum" + std::to_string(t)];
        EXPECT_LE(relative_error(static_cast<const float*>(found.data), sum.f32(), sum.f32_count()), tolerance)
            << "step " << t;
        if (options.residual == 0) continue;
        check(gradstep_reducer_residual(reducer.get(), 0, &found));
        const StoredArray& residual = file[name("res", t, rank)];
        EXPECT_EQ(relative_error(static_cast<const float*>(found.data), residual.f32(), residual.f32_count()), 0)
            << "residual of step " << t;
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Singa, SparseVectors,
                         testing::Combine(testing::ValuesIn(engines()),
                                          testing::Values("sparse_threshold", "sparse_threshold_residual",
                                                          "sparse_topk", "sparse_topk_residual")),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace gradstep_conformance
