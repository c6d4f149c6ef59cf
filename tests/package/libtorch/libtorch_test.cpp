// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// gradstep/libtorch.hpp: what a torch::Tensor is shown as, and which ones are refused.
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <gradstep/gradstep.hpp>
#include <gradstep/libtorch.hpp>
#include <string>

namespace {

int failures = 0;

void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", promise);
  ++failures;
}

/// tensor_of() throws InvalidArgument, whose text has `words`.
void expect_refusal(const torch::Tensor& tensor, const std::string& words) {
  try {
    static_cast<void>(gradstep::tensor_of(tensor));
    expect(false, ("a refusal with: " + words).c_str());
  } catch (const gradstep::InvalidArgument& error) {
    expect(std::string(error.what()).find(words) != std::string::npos, error.what());
  }
}

}  // namespace

int main() try {
  const torch::Tensor matrix = torch::zeros({3, 2}).t();
  const gradstep::Tensor shown = gradstep::tensor_of(matrix);
  expect(shown.data() == matrix.data_ptr() && shown.shape() == gradstep::Shape{2, 3}, "a tensor's own memory");
  expect(shown.c().strides[0] == 1 && shown.c().strides[1] == 2, "its strides");
  const torch::Tensor part = torch::zeros({4, 2}, torch::kFloat64).slice(0, 1);
  expect(gradstep::tensor_of(part).data() == part.data_ptr(), "the first element of a part");
  for (const auto& [type, dtype] : {std::pair{torch::kFloat32, gradstep::kDtypeF32},
                                    {torch::kFloat64, gradstep::kDtypeF64},
                                    {torch::kFloat16, gradstep::kDtypeF16},
                                    {torch::kBFloat16, gradstep::kDtypeBf16},
                                    {torch::kInt32, gradstep::kDtypeInt32},
                                    {torch::kInt64, gradstep::kDtypeInt64}}) {
    expect(gradstep::tensor_of(torch::zeros({1}, type)).dtype() == dtype, c10::toString(type));
  }
  expect(gradstep::tensor_of(torch::Tensor()).data() == nullptr, "an absent gradient");
  expect_refusal(torch::zeros({2}).to_sparse(), "sparse");
  expect_refusal(torch::zeros({2}, torch::kUInt8), "type Byte");
  expect_refusal(torch::zeros({2}, torch::kMeta), "is on meta");
  expect_refusal(torch::_neg_view(torch::ones({2})), "lazily negated");

  torch::nn::Linear linear(2, 1);
  const gradstep::Parameters schema = gradstep::parameters_of(linear->named_parameters());
  expect(schema.size() == 2 && schema[0].name == "weight" && schema[1].name == "bias", "names");
  expect(gradstep::grads_of(linear->parameters())[0].data() == nullptr, "no gradient before backward()");
  linear->forward(torch::ones({1, 2})).sum().backward();
  const torch::Tensor before = linear->weight.detach().clone();
  const gradstep::Context context;
  gradstep::Optimizer::sgd(context, {.learning_rate = 1}, schema)
      .step(gradstep::tensors_of(linear->parameters()), gradstep::grads_of(linear->parameters()));
  expect(torch::equal(linear->weight.detach(), before - 1), "a step in the module's memory");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
