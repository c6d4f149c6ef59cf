// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/print_cuda.h"

#include <fmt/format.h>

#include <iterator>

namespace gradstep::rules::text {

namespace {

/// A register or a number, as the source names it.
std::string name_of(Operand operand) {
  if (operand.is_number()) return fmt::format("n{}_", operand.number());
  if (operand.index == Register::gradient) return "g";
  if (operand.index == Register::param) return "p";
  if (operand.index < Register::first_temporary) return fmt::format("s[{}]", operand.index - Register::first_state);
  return fmt::format("t{}", operand.index - Register::first_temporary);
}

/// Each operation is rounded on its own: the source is compiled without contraction.
std::string expression_of(const Operation& operation) {
  std::string a = name_of(operation.a);
  const std::string b = name_of(operation.b);
  const std::string c = name_of(operation.c);
  const std::string d = name_of(operation.d);
  switch (operation.step) {
    case Step::copy:
      return a;
    case Step::negate:
      return fmt::format("-{}", a);
    case Step::absolute:
      return fmt::format("kernels::magnitude({})", a);
    case Step::sign:
      return fmt::format("kernels::sign<T>({})", a);
    case Step::root:
      return fmt::format("kernels::square_root({})", a);
    case Step::exponential:
      return fmt::format("exponential_of({})", a);
    case Step::logarithm:
      return fmt::format("logarithm_of({})", a);
    case Step::add:
      return fmt::format("{} + {}", a, b);
    case Step::subtract:
      return fmt::format("{} - {}", a, b);
    case Step::multiply:
      return fmt::format("{} * {}", a, b);
    case Step::divide:
      return fmt::format("{} / {}", a, b);
    case Step::power:
      return fmt::format("power_of({}, {})", a, b);
    case Step::minimum:
      return fmt::format("kernels::smaller_of({}, {})", a, b);
    case Step::maximum:
      return fmt::format("kernels::larger_of({}, {})", a, b);
    case Step::less:
      return fmt::format("{} < {} ? T{{1}} : T{{0}}", a, b);
    case Step::less_equal:
      return fmt::format("{} <= {} ? T{{1}} : T{{0}}", a, b);
    case Step::equal:
      return fmt::format("{} == {} ? T{{1}} : T{{0}}", a, b);
    case Step::not_equal:
      return fmt::format("{} != {} ? T{{1}} : T{{0}}", a, b);
    case Step::select:
      return fmt::format("{} != 0 ? {} : {}", a, b, c);
    case Step::multiply_add:
      return fmt::format("{} * {} + {}", a, b, c);
    case Step::sum_of_products:
      break;
  }
  return fmt::format("{} * {} + {} * {}", a, b, c, d);
}

template <class... Arguments>
void append(std::string& source, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(source), format, std::forward<Arguments>(arguments)...);
}

void append_walk(std::string& source, const Walk& walk) {
  for (int k = 0; k < walk.temporary_count; ++k) append(source, "    T t{};\n", k);
  for (int k = 0; k < walk.count; ++k) {
    const Operation& operation = walk.operations[k];
    append(source, "    {} = {};\n", name_of({operation.to}), expression_of(operation));
  }
}

int sign_of(Outcome outcome) {
  if (outcome == Outcome::value) return 0;
  return outcome == Outcome::added ? 1 : -1;
}

}  // namespace

std::string print_cuda(const Code& code, bool is_double) {
  std::string source = "#include \"device/program.h\"\n\nnamespace gradstep::cuda {\n\n";
  append(source, "using T = {};\n\nclass Text {{\n public:\n", is_double ? "double" : "float");
  append(source, "  static constexpr int kStates = {};\n  static constexpr int kSums = {};\n", code.state_count,
         code.sum_count);
  append(source, "  static constexpr int kSign = {};\n\n", sign_of(code.outcome));
  source += "  GRADSTEP_DEVICE Text(const Block& block, const double* numbers)";
  for (int k = 0; k < code.number_count; ++k) {
    append(source, "{} n{}_(static_cast<T>(block.load(numbers + {})))", k == 0 ? "\n      :" : ",\n       ", k,
           code.numbers[k]);
  }
  source += " {}\n\n  GRADSTEP_DEVICE static constexpr bool is_of_squares(int sum) { return (0";
  for (int s = 0; s < code.sum_count; ++s) {
    if (code.sums[s].squares) append(source, " | {}", 1U << s);
  }
  source += ") >> sum & 1; }\n\n  GRADSTEP_DEVICE T step(T p, T g, T* s) const {\n";
  append_walk(source, code.step);
  append(source, "    return {};\n  }}\n\n", name_of(code.result));
  source += "  GRADSTEP_DEVICE void measure(T p, T g, const T* s, T* terms) const {\n";
  append_walk(source, code.measurement);
  for (int s = 0; s < code.sum_count; ++s) append(source, "    terms[{}] = {};\n", s, name_of(code.sums[s].of));
  source += "  }\n\n private:\n";
  for (int k = 0; k < code.number_count; ++k) append(source, "  T n{}_;\n", k);
  source += "};\n\n}  // namespace gradstep::cuda\n";
  return source;
}

}  // namespace gradstep::rules::text
