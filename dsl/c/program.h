// dsl/c/program.h -- a graph of the C interface: the calls that made it, in order, as flat data.
//
// The calls are what is kept, printed and read; their meaning comes from playing them into a recorder (dsl/c/replay.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <kiln/detail/bridge.h>

#include "dsl/c/host_memory.h"

namespace kiln::dsl::c {

class Program;
class UserFunction;

enum class StepKind : std::uint8_t {
  input,      ///< numbers: rank
  scalar,     ///< flags: strong
  constant,   ///< flags: strong; numbers: low and high bits
  operation,  ///< code: KILN_OP_...
  cast,       ///< type
  index,      ///< numbers: axis
  extent,     ///< numbers: axis or KILN_ALL_AXES
  random,     ///< code: KILN_RANDOM_...; operands: like, key
  reduce,     ///< code: KILN_REDUCE_...; numbers: ddof, axes; flags: keepdims, named, accumulates in `type`
  scan,       ///< code: KILN_SCAN_...; numbers: axis
  reduce_by,  ///< operands: values, identities; numbers: 0, axes; flags: keepdims, named; function
  scan_by,    ///< operands: values, identities; numbers: axis; function
  take,       ///< code: KILN_TAKE_...; flags: KILN_OUTSIDE_...; numbers: axis; operands: source, indices
  shift,      ///< code: KILN_BEYOND_...; numbers: displacements; operands: value and perhaps what fills
  transpose,  ///< numbers: axes, as for the following
  reshape,    ///< numbers: extents, as for the following
  broadcast_to,
  squeeze,
  unsqueeze,
  flip,
  slice,  ///< numbers: flags, start, stop, step of each item
  call    ///< callee
};

/// One call, and what it was given.
struct Step {
  static constexpr std::uint32_t strong = 1, keepdims = 1, named = 2, accumulates = 4;

  StepKind kind = StepKind::input;
  DType type = DType::f32;
  std::int32_t code = 0;
  std::uint32_t flags = 0;
  std::uint32_t results = 1;
  std::span<const kiln_value> operands = {};
  std::span<const std::int64_t> numbers = {};
  std::shared_ptr<const Program> function = nullptr;
  std::shared_ptr<const UserFunction> callee = nullptr;
  detail::Where where = {};
};

/// Steps and outputs. Whatever throws leaves it as it was.
class Program {
 public:
  explicit Program(const HostMemory& memory)
      : rows_(HostAllocator<Row>(memory)),
        operands_(HostAllocator<kiln_value>(memory)),
        numbers_(HostAllocator<std::int64_t>(memory)),
        functions_(HostAllocator<std::shared_ptr<const Program>>(memory)),
        callees_(HostAllocator<std::shared_ptr<const UserFunction>>(memory)),
        outputs_(HostAllocator<kiln_value>(memory)),
        name_(HostAllocator<char>(memory)) {}

  void append(const Step& step);
  /// Forgets the last step.
  void drop_last() noexcept;
  std::size_t size() const { return rows_.size(); }
  Step operator[](std::size_t step) const;

  void add_output(kiln_value value) { outputs_.push_back(value); }
  std::span<const kiln_value> outputs() const { return outputs_; }
  /// The function of each call.
  std::span<const std::shared_ptr<const UserFunction>> callees() const { return callees_; }
  /// Null without a name.
  const char* name() const { return name_.empty() ? nullptr : name_.c_str(); }
  void set_name(const char* name) { name_.assign(name); }

 private:
  struct Row {
    StepKind kind;
    DType type;
    std::int32_t code;
    std::uint32_t flags, results;
    std::uint32_t first_operand, operand_count;
    std::uint32_t first_number, number_count;
    std::uint32_t function, callee;  ///< position + 1, or 0
    detail::Where where;
  };
  std::vector<Row, HostAllocator<Row>> rows_;
  std::vector<kiln_value, HostAllocator<kiln_value>> operands_;
  std::vector<std::int64_t, HostAllocator<std::int64_t>> numbers_;
  std::vector<std::shared_ptr<const Program>, HostAllocator<std::shared_ptr<const Program>>> functions_;
  std::vector<std::shared_ptr<const UserFunction>, HostAllocator<std::shared_ptr<const UserFunction>>> callees_;
  std::vector<kiln_value, HostAllocator<kiln_value>> outputs_;
  std::basic_string<char, std::char_traits<char>, HostAllocator<char>> name_;
};

/// The file name as a string that lives as long as the process.
const char* kept_file_name(const char* name);

}  // namespace kiln::dsl::c
