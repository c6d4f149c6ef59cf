// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <ranges>
#include <utility>

#include "cuda/ptx/program.h"

namespace gradstep::ptx {

namespace {

struct Token {
  std::string_view text;
  std::uint32_t line = 0;
};

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Words, numbers, strings and single signs.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0') {
      at = end;
      continue;
    }
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '"') {
      end = std::min(text.find('"', at + 1), text.size() - 1) + 1;
    } else if (is_of_word(c)) {
      while (end < text.size() && is_of_word(text[end])) ++end;
    }
    tokens.push_back({text.substr(at, end - at), line});
    at = end;
  }
  return tokens;
}

bool starts_with_digit(std::string_view word) { return std::isdigit(static_cast<unsigned char>(word[0])) != 0; }

std::size_t bytes_of_type(std::string_view type) {
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  return 0;
}

std::size_t round_up(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// What a name stands for.
struct Symbol {
  Operand operand;
  std::size_t bytes = 0;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : name_(name), tokens_(tokens_of(text)) {}

  Program parse() {
    while (at_ < tokens_.size()) read_top_level();
    return std::move(program_);
  }

 private:
  struct Variable {
    std::string name;
    std::size_t alignment = 1;
    std::size_t bytes = 0;
    bool is_array = false;
  };

  [[noreturn]] void fail(const std::string& what) const {
    const std::uint32_t line = tokens_[std::min(at_, tokens_.size() - 1)].line;
    throw Error(name_ + ":" + std::to_string(line) + ": " + what);
  }

  // Tokens.
  std::string_view peek() const { return at_ < tokens_.size() ? tokens_[at_].text : std::string_view(); }
  std::string_view take() {
    if (at_ == tokens_.size()) fail("it ends too early");
    return tokens_[at_++].text;
  }
  bool accept(std::string_view text) {
    if (peek() != text) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected '" + std::string(text) + "', found '" + std::string(peek()) + "'");
  }
  void skip_to(std::string_view text) {
    while (take() != text) {
    }
  }

  std::uint64_t number(std::string_view word) const {
    int base = 10;
    if (word.starts_with("0f") || word.starts_with("0d") || word.starts_with("0x")) {
      word.remove_prefix(2);
      base = 16;
    }
    if (word.ends_with("U")) word.remove_suffix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size()) fail("no number: '" + std::string(word) + "'");
    return value;
  }
  std::uint64_t signed_number() {
    const bool is_negative = accept("-");
    const std::uint64_t value = number(take());
    return is_negative ? -value : value;
  }

  // Declarations.
  void read_top_level() {
    const std::string_view word = take();
    if (word == ".version" || word == ".target" || word == ".address_size") {
      take();
      while (accept(",")) take();
    } else if (word == ".entry" || word == ".func") {
      read_function(word == ".entry");
    } else if (word == ".global" || word == ".const") {
      read_data();
    } else if (word == ".shared") {
      declare_shared();
    } else if (word != ".visible" && word != ".extern" && word != ".weak" && word != ".common") {
      fail("'" + std::string(word) + "' is not known");
    }
  }

  /// [.align N] .type name [ [count] ]
  Variable read_variable() {
    Variable variable;
    if (accept(".align")) variable.alignment = number(take());
    const std::size_t bytes = bytes_of_type(take());
    variable.alignment = std::max(variable.alignment, bytes);
    variable.name = take();
    std::size_t count = 1;
    if (accept("[")) {
      variable.is_array = true;
      count = peek() == "]" ? 0 : number(take());
      expect("]");
    }
    variable.bytes = bytes * count;
    return variable;
  }

  void read_data() {
    const Variable variable = read_variable();
    const std::size_t element = variable.alignment;
    auto data = std::make_unique<std::byte[]>(variable.bytes + element);
    if (accept("=")) {
      if (variable.bytes == 0 || !accept("{")) fail("only arrays of bytes have values here");
      for (std::size_t k = 0; !accept("}"); ++k) {
        if (k == variable.bytes) fail("too many values for " + variable.name);
        data[k] = static_cast<std::byte>(number(take()));
        accept(",");
      }
    }
    expect(";");
    if (reinterpret_cast<std::uintptr_t>(data.get()) % variable.alignment != 0) fail("a variable's alignment");
    globals_[variable.name] = {{Operand::Kind::number, 0, reinterpret_cast<std::uintptr_t>(data.get())},
                               variable.bytes};
    program_.variables.push_back({std::move(data), variable.bytes});
  }

  /// What is shared has addresses from 0 on; what the launch adds comes last.
  void declare_shared() {
    const Variable variable = read_variable();
    expect(";");
    std::size_t& used = program_.static_shared_bytes;
    used = round_up(used, variable.alignment);
    globals_[variable.name] = {{Operand::Kind::number, 0, used}, variable.bytes};
    used += variable.bytes;
  }

  Call::Argument declare_slot(const Variable& variable) {
    std::size_t& used = function_->slot_bytes;
    used = round_up(used, variable.alignment);
    scopes_.back()[variable.name] = {{Operand::Kind::slot, 0, used}, variable.bytes};
    const Call::Argument slot{used, variable.bytes};
    used += variable.bytes;
    return slot;
  }

  std::vector<Call::Argument> read_slots() {
    std::vector<Call::Argument> slots;
    if (!accept("(")) return slots;
    while (!accept(")")) {
      expect(".param");
      slots.push_back(declare_slot(read_variable()));
      accept(",");
    }
    return slots;
  }

  void read_kernel_parameters() {
    if (!accept("(")) return;
    while (!accept(")")) {
      expect(".param");
      const Variable variable = read_variable();
      std::size_t& used = function_->parameter_bytes;
      used = round_up(used, variable.alignment);
      scopes_.back()[variable.name] = {{Operand::Kind::kernel_parameter, 0, used}, variable.bytes};
      used += variable.bytes;
      accept(",");
    }
  }

  void read_function(bool is_kernel) {
    Function made;
    function_ = &made;
    scopes_.assign(1, {});
    labels_.clear();
    jumps_.clear();
    if (!is_kernel) made.results = read_slots();
    made.name = take();
    if (is_kernel) {
      read_kernel_parameters();
    } else {
      made.parameters = read_slots();
    }
    std::unique_ptr<Function>& own = program_.functions[made.name];  // those that are called are declared before
    if (own == nullptr) own = std::make_unique<Function>();
    const bool is_declaration = accept(";");
    if (!is_declaration) {
      while (!accept("{")) {
        if (take() == ".maxntid") made.max_threads = static_cast<int>(number(take()));
      }
      read_body();
    }
    for (const auto& [index, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) fail("no label " + label);
      made.instructions[index].target = found->second;
    }
    *own = std::move(made);
    if (is_kernel) {
      program_.kernels.push_back(own.get());
    } else {
      program_.called_local_bytes += own->local_bytes;
    }
  }

  void read_body() {
    for (std::size_t depth = 1; depth > 0;) {
      if (accept("{")) {
        scopes_.emplace_back();
        ++depth;
      } else if (accept("}")) {
        scopes_.pop_back();
        --depth;
      } else if (accept(".reg")) {
        declare_registers();
      } else if (accept(".local")) {
        const Variable variable = read_variable();
        expect(";");
        function_->local_bytes = round_up(function_->local_bytes, std::max<std::size_t>(variable.alignment, 16));
        scopes_.back()[variable.name] = {{Operand::Kind::local, 0, function_->local_bytes}, variable.bytes};
        function_->local_bytes += variable.bytes;
      } else if (accept(".param")) {
        declare_slot(read_variable());
        expect(";");
      } else if (accept(".shared")) {
        declare_shared();
      } else if (accept(".pragma") || accept(".loc") || accept(".file")) {
        skip_to(";");
      } else if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
        labels_[std::string(take())] = static_cast<std::uint32_t>(function_->instructions.size());
        expect(":");
      } else {
        read_instruction();
      }
    }
    // A program that runs over the end gets an error.
    Instruction end;
    end.execute = find_instruction("end");
    end.line = tokens_[at_ - 1].line;
    function_->instructions.push_back(end);
  }

  /// .type name<count>, or names
  void declare_registers() {
    take();
    do {
      const std::string name(take());
      std::size_t count = 0;
      if (accept("<")) {
        count = number(take());
        expect(">");
      }
      auto& scope = scopes_.back();
      const auto declare = [&](const std::string& one) {
        scope[one] = {{Operand::Kind::reg, static_cast<std::uint32_t>(function_->registers++), 0}, 0};
      };
      if (count == 0) declare(name);
      for (std::size_t k = 0; k < count; ++k) declare(name + std::to_string(k));
    } while (accept(","));
    expect(";");
  }

  // Instructions.
  const Symbol& find(std::string_view word) const {
    const std::string name(word);
    for (const auto& scope : std::ranges::reverse_view(scopes_)) {
      const auto found = scope.find(name);
      if (found != scope.end()) return found->second;
    }
    const auto found = globals_.find(name);
    if (found == globals_.end()) fail("'" + name + "' is not declared");
    return found->second;
  }

  Operand read_operand() {
    if (peek() == "-" || starts_with_digit(peek())) return {Operand::Kind::number, 0, signed_number()};
    const std::string_view word = take();
    if (word == "_") return {};
    static const std::map<std::string_view, Special> special = {
        {"%tid.x", kThread}, {"%ntid.x", kThreads}, {"%ctaid.x", kBlock}, {"%nctaid.x", kBlocks}, {"%laneid", kLane}};
    if (const auto found = special.find(word); found != special.end())
      return {Operand::Kind::special, found->second, 0};
    return find(word).operand;
  }

  void add_to(Instruction& own, const Operand& operand) {
    if (own.to_count == Instruction::kMaxTo) fail("too many results");
    own.to[own.to_count++] = operand;
  }
  void add_from(Instruction& own, const Operand& operand) {
    if (own.from_count == Instruction::kMaxFrom) fail("too many operands");
    own.from[own.from_count++] = operand;
  }

  /// An operand, a vector of them, or an address.
  void read_operands(Instruction& own, void (Parser::*add)(Instruction&, const Operand&)) {
    if (accept("[")) {
      add_from(own, read_operand());
      if (accept("+")) own.offset = static_cast<std::int64_t>(signed_number());
      expect("]");
    } else if (accept("{")) {
      do {
        (this->*add)(own, read_operand());
      } while (accept(","));
      expect("}");
    } else {
      (this->*add)(own, read_operand());
      if (accept("|")) (this->*add)(own, read_operand());
    }
  }

  void read_instruction() {
    Instruction own;
    own.line = tokens_[at_].line;
    if (accept("@")) {
      own.runs_unless = accept("!");
      own.guard = static_cast<std::int32_t>(read_operand().index);
    }
    const std::string opcode(take());
    if (opcode.starts_with("bra")) {
      own.execute = find_instruction(opcode);
      jumps_.emplace_back(function_->instructions.size(), take());
      expect(";");
    } else if (opcode.starts_with("call")) {
      own.execute = find_instruction(opcode);
      read_call(own);
    } else {
      read_plain(own, opcode);
    }
    if (own.execute == nullptr) {
      --at_;
      fail("the instruction " + opcode + " is not known");
    }
    function_->instructions.push_back(own);
  }

  void read_plain(Instruction& own, std::string opcode) {
    const bool has_results = !opcode.starts_with("st.") && !opcode.starts_with("bar.");
    bool is_first = true;
    while (!accept(";")) {
      read_operands(own, is_first && has_results ? &Parser::add_to : &Parser::add_from);
      is_first = false;
      accept(",");
    }
    if (opcode.starts_with("ld.") || opcode.starts_with("st.") || opcode.starts_with("atom.")) {
      opcode = plain_access(own, opcode);
    } else if (opcode.starts_with("mov.") && own.to_count > 1) {
      opcode += ".unpack";
    } else if (opcode.starts_with("mov.") && own.from_count > 1) {
      opcode += ".pack";
    }
    if (opcode.starts_with("shfl.sync.bfly.")) own.exchange = Exchange::butterfly;
    if (opcode.starts_with("shfl.sync.idx.")) own.exchange = Exchange::index;
    if (opcode.starts_with("vote.sync.ballot.")) own.exchange = Exchange::ballot;
    own.execute = find_instruction(opcode);
  }

  /// Notes the kind of memory, and returns the opcode without it.
  static std::string plain_access(Instruction& own, const std::string& opcode) {
    static const std::pair<std::string_view, Space> spaces[] = {
        {".global", Space::global}, {".shared", Space::shared}, {".local", Space::local}, {".param", Space::parameter}};
    std::string plain = opcode;
    const auto remove = [&plain](std::string_view part) {
      const std::size_t place = plain.find(part);
      if (place == std::string::npos) return false;
      plain.erase(place, part.size());
      return true;
    };
    for (const auto& [word, space] : spaces) {
      if (remove(word)) own.space = space;
    }
    // Through another cache; how many elements, the operands say.
    for (const std::string_view part : {".nc", ".v2", ".v4"}) remove(part);
    return plain;
  }

  std::vector<Call::Argument> read_arguments() {
    std::vector<Call::Argument> arguments;
    expect("(");
    while (!accept(")")) {
      const Symbol& slot = find(take());
      arguments.push_back({slot.operand.number, slot.bytes});
      accept(",");
    }
    return arguments;
  }

  /// [ (results), ] name [ , (arguments) ]
  void read_call(Instruction& own) {
    auto call = std::make_unique<Call>();
    if (peek() == "(") {
      call->results = read_arguments();
      expect(",");
    }
    const std::string callee(take());
    if (accept(",")) call->arguments = read_arguments();
    expect(";");
    const auto found = program_.functions.find(callee);
    if (found == program_.functions.end()) fail("the function " + callee + " is not known");
    call->callee = found->second.get();
    if (call->arguments.size() != call->callee->parameters.size() ||
        call->results.size() != call->callee->results.size()) {
      fail("arguments of " + callee);
    }
    own.call = call.get();
    function_->calls.push_back(std::move(call));
  }

  const std::string& name_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Program program_;
  std::map<std::string, Symbol> globals_;
  // The function that is read.
  Function* function_ = nullptr;
  std::vector<std::map<std::string, Symbol>> scopes_;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
};

}  // namespace

bool Program::has_data(std::uintptr_t address, std::size_t bytes) const {
  return std::any_of(variables.begin(), variables.end(), [&](const Variable& variable) {
    const auto begin = reinterpret_cast<std::uintptr_t>(variable.data.get());
    return address >= begin && address + bytes <= begin + variable.bytes;
  });
}

Program parse(std::string_view text, const std::string& name) { return Parser(text, name).parse(); }

}  // namespace gradstep::ptx
