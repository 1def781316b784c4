// dsl/c/program.cpp -- steps in pools, and the names of source files.
#include "dsl/c/program.h"

#include <mutex>
#include <set>

#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::dsl::c {

void Program::append(const Step& step) {
  constexpr std::size_t most = UINT32_MAX / 2;
  // Each by itself first: a count that a caller got wrong must not wrap around.
  if (step.operands.size() > most || step.numbers.size() > most || operands_.size() + step.operands.size() > most ||
      numbers_.size() + step.numbers.size() > most)
    fail<OutOfMemory>("a graph of more than 2^31 operands");
  Row row{step.kind, step.type, step.code, step.flags, step.results, 0, 0, 0, 0, 0, 0, step.where};
  row.first_operand = static_cast<std::uint32_t>(operands_.size());
  row.operand_count = static_cast<std::uint32_t>(step.operands.size());
  row.first_number = static_cast<std::uint32_t>(numbers_.size());
  row.number_count = static_cast<std::uint32_t>(step.numbers.size());
  if (step.function) row.function = static_cast<std::uint32_t>(functions_.size() + 1);
  if (step.callee) row.callee = static_cast<std::uint32_t>(callees_.size() + 1);
  try {
    operands_.insert(operands_.end(), step.operands.begin(), step.operands.end());
    numbers_.insert(numbers_.end(), step.numbers.begin(), step.numbers.end());
    if (step.function) functions_.push_back(step.function);
    if (step.callee) callees_.push_back(step.callee);
    rows_.push_back(row);
  } catch (...) {
    operands_.resize(row.first_operand);
    numbers_.resize(row.first_number);
    if (row.function && functions_.size() == row.function) functions_.pop_back();
    if (row.callee && callees_.size() == row.callee) callees_.pop_back();
    throw;
  }
}

void Program::drop_last() noexcept {
  const Row& row = rows_.back();
  operands_.resize(row.first_operand);
  numbers_.resize(row.first_number);
  if (row.function) functions_.pop_back();
  if (row.callee) callees_.pop_back();
  rows_.pop_back();
}

Step Program::operator[](std::size_t step) const {
  const Row& row = rows_[step];
  return {.kind = row.kind,
          .type = row.type,
          .code = row.code,
          .flags = row.flags,
          .results = row.results,
          .operands = {operands_.data() + row.first_operand, row.operand_count},
          .numbers = {numbers_.data() + row.first_number, row.number_count},
          .function = row.function ? functions_[row.function - 1] : nullptr,
          .callee = row.callee ? callees_[row.callee - 1] : nullptr,
          .where = row.where};
}

const char* kept_file_name(const char* name) {
  if (!name) return nullptr;
  struct Names {
    ForkSafeMutex mutex;
    std::set<std::string, std::less<>> names;
  };
  static Names& kept = *new Names;  // leaked: messages may name files while the process exits
  const std::lock_guard lock(kept.mutex);
  const auto known = kept.names.find(std::string_view(name));
  return (known != kept.names.end() ? known : kept.names.emplace(name).first)->c_str();
}

}  // namespace kiln::dsl::c
