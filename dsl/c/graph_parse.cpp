// dsl/c/graph_parse.cpp -- reads the text of a graph: each line becomes the call that it stands for, with its checks.
#include <algorithm>

#include "dsl/c/function.h"
#include "dsl/c/graph.h"
#include "dsl/c/graph_attributes.h"
#include "dsl/c/tables.h"
#include "support/utf8.h"

namespace kiln::dsl::c {
namespace {

/// One line between its operands and its end.
struct Line {
  std::uint32_t results = 0;
  Step step;
  std::vector<kiln_value> operands;
  std::vector<std::int64_t> numbers;
  std::string_view callee;
  bool opens_function = false;
};

/// Which attributes a step must have, and which it may.
struct Allowed {
  std::uint32_t must = 0, may = 0;
  std::size_t least_operands = 1, most_operands = 1;
};
Allowed allowed_for(const Step& step) {
  switch (step.kind) {
    case StepKind::input:
      return {has_type | has_rank, 0, 0, 0};
    case StepKind::scalar:
      return {has_type, has_strong, 0, 0};
    case StepKind::constant:
      return {has_type | has_bits, has_strong, 0, 0};
    case StepKind::operation:
      return {0, 0, 1, 3};
    case StepKind::call:
      return {has_function, 0, 1, 8};
    case StepKind::cast:
      return {has_type};
    case StepKind::index:
    case StepKind::scan:
      return {has_axis};
    case StepKind::extent:
      return {0, has_axis};
    case StepKind::random:
      return {has_type, 0, 2, 2};
    case StepKind::reduce:
      return {0, has_axes | has_keepdims | has_accumulate | has_ddof};
    case StepKind::reduce_by:
      return {0, has_axes | has_keepdims, 2, 6};
    case StepKind::scan_by:
      return {has_axis, 0, 2, 6};
    case StepKind::take:
      return {has_outside | (step.code == KILN_TAKE_flat ? 0u : std::uint32_t{has_axis}), 0, 2, 2};
    case StepKind::shift:
      return {has_by | has_beyond, 0, 1, 2};
    case StepKind::reshape:
    case StepKind::broadcast_to:
      return {has_to};
    case StepKind::slice:
      return {has_items};
    default:
      return {has_axes};
  }
}

/// The step that a word begins.
Step step_of(LineReader& line, std::string_view word) {
  Step step;
  if (const auto kind = kind_of_word(word)) {
    step.kind = *kind;
  } else if (const auto op = op_of_name(word)) {
    step.kind = StepKind::operation, step.code = number_of(*op);
  } else if (const auto reduction = number_of(reduction_names(), word)) {
    step.kind = StepKind::reduce, step.code = *reduction;
  } else if (const auto scan = number_of(scan_names(), word)) {
    step.kind = StepKind::scan, step.code = *scan;
  } else if (const auto random = number_of(random_names(), word)) {
    step.kind = StepKind::random, step.code = *random;
  } else if (const auto take = number_of(take_names(), word)) {
    step.kind = StepKind::take, step.code = *take;
  } else {
    line.fail("'{}' is no operation", word);
  }
  return step;
}

/// Everything of the line as the step's own.
void apply(const Attributes& attributes, Line& line) {
  Step& step = line.step;
  line.callee = attributes.function;
  step.type = attributes.seen & has_accumulate ? attributes.accumulate : attributes.type;
  if (attributes.seen & has_strong) step.flags |= Step::strong;
  if (attributes.seen & has_keepdims) step.flags |= Step::keepdims;
  switch (step.kind) {
    case StepKind::constant:
      line.numbers.assign(attributes.bits, attributes.bits + 2);
      break;
    case StepKind::input:
    case StepKind::index:
    case StepKind::scan:
    case StepKind::scan_by:
      line.numbers = {attributes.number};
      break;
    case StepKind::extent:
      line.numbers = {attributes.seen & has_axis ? attributes.number : KILN_ALL_AXES};
      break;
    case StepKind::reduce:
    case StepKind::reduce_by:
      if (attributes.seen & has_axes) step.flags |= Step::named;
      if (attributes.seen & has_accumulate) step.flags |= Step::accumulates;
      line.numbers = {attributes.ddof};
      line.numbers.insert(line.numbers.end(), attributes.list.begin(), attributes.list.end());
      break;
    case StepKind::take:
      step.flags = static_cast<std::uint32_t>(attributes.outside);
      line.numbers = {attributes.number};
      break;
    case StepKind::shift:
      step.code = attributes.beyond;
      [[fallthrough]];
    default:
      line.numbers = attributes.list;
  }
}

/// A line that makes values; `next` is the number of the first.
Line read_line(LineReader& reader, std::size_t next) {
  Line line;
  do {
    if (reader.value() != next + line.results)
      reader.fail("values are numbered in their order: %{} comes next", next + line.results);
    ++line.results;
  } while (line.results < 3 && reader.take(','));
  reader.expect('=');
  line.step = step_of(reader, reader.word());
  if (reader.starts_with('%')) {
    do {
      if (line.operands.size() == 8) reader.fail("more than 8 operands");
      line.operands.push_back(reader.value());
    } while (reader.take(','));
  }
  const Attributes attributes = read_attributes(reader);
  const Allowed allowed = allowed_for(line.step);
  for (std::uint32_t i = 0; i < std::size(attribute_names); ++i) {
    const std::uint32_t bit = 1u << i;
    if ((allowed.must & bit) && !(attributes.seen & bit)) reader.fail("{} is missing", attribute_names[i]);
    if ((attributes.seen & bit) && !((allowed.must | allowed.may) & bit))
      reader.fail("{} has no meaning here", attribute_names[i]);
  }
  const bool joins = line.step.kind == StepKind::reduce_by || line.step.kind == StepKind::scan_by;
  const std::size_t operands = line.operands.size();
  if (operands < allowed.least_operands || operands > allowed.most_operands || (joins && operands % 2 != 0))
    reader.fail("{} operands do not fit", operands);
  if (line.results != (joins ? operands / 2 : 1)) reader.fail("{} results do not fit", line.results);
  line.opens_function = reader.take('{');
  if (line.opens_function != joins)
    reader.fail("{}", joins ? "a function in { } is expected" : "a function has no meaning here");
  reader.expect_end();
  apply(attributes, line);
  return line;
}

class Parser {
 public:
  Parser(kiln_graph& graph, std::string_view text, Functions functions)
      : graph_(graph), rest_(text), functions_(functions) {}

  void parse() {
    LineReader first = next_line();
    if (first.word() != "kiln" || first.word() != "graph" || first.integer<std::uint32_t>("a version") != 1)
      first.fail("a text of a graph begins with the line 'kiln graph 1'");
    first.expect_end();
    while (!rest_.empty()) {
      LineReader line = next_line();
      if (line.at_end()) continue;
      if (line.starts_with('}')) {
        line.expect('}'), line.expect_end();
        close_function(line);
        continue;
      }
      const bool makes_values = line.starts_with('%');
      makes_values ? add_values(line) : add_other(line);
    }
    if (function_) throw Fault(KILN_ERROR_PARSE, fmt::format("line {}: '}}' is missing", number_));
  }

 private:
  LineReader next_line() {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    for (std::string_view left = line; !left.empty();) {
      const std::size_t bytes = first_utf8_character(left).bytes;
      if (bytes == 0)
        throw Fault(KILN_ERROR_PARSE, fmt::format("line {}: byte {} is not UTF-8", number_, line.size() - left.size()));
      left.remove_prefix(bytes);
    }
    return {line, number_};
  }
  kiln_graph& current() { return function_ ? *function_ : graph_; }

  /// Errors of the call are those of the line.
  template <class Work>
  static void checked(const LineReader& line, Work work) {
    try {
      work();
    } catch (const ShapeError& error) {
      line.fail("{}", error.what());
    } catch (const TypeError& error) {
      line.fail("{}", error.what());
    } catch (const Fault& error) {
      if (error.status() != KILN_ERROR_ARGUMENT) throw;
      line.fail("{}", error.what());
    }
  }
  std::shared_ptr<const UserFunction> function_named(const LineReader& reader, std::string_view name) const {
    for (const kiln_function* const function : functions_)
      if (function->function->name() == name) return function->function;
    reader.fail("there is no function '{}'{}", name,
                functions_.empty() ? ": kiln_graph_parse_with takes those of the host" : " among those given");
  }
  void add(const LineReader& reader, Line& line, kiln_graph& to) {
    if (line.step.kind == StepKind::call) line.step.callee = function_named(reader, line.callee);
    line.step.operands = line.operands;
    line.step.numbers = line.numbers;
    line.step.results = line.results;
    checked(reader, [&] { to.add(line.step); });
  }

  void add_values(LineReader& reader) {
    Line line = read_line(reader, current().values().size());
    if (!line.opens_function) return add(reader, line, current());
    if (function_) reader.fail("a function inside a function");
    opened_ = std::move(line);
    function_ = std::make_unique<kiln_graph>(graph_.memory);
  }
  void close_function(const LineReader& reader) {
    if (!function_) reader.fail("'}}' closes nothing");
    opened_.step.function =
        std::allocate_shared<const Program>(HostAllocator<Program>(graph_.memory), function_->program);
    function_.reset();
    add(reader, opened_, graph_);
  }
  void add_other(LineReader& line) {
    const std::string_view word = line.word();
    if (word == "output") {
      do {
        const kiln_value value = line.value();
        checked(line, [&] { current().add_output(value); });
      } while (line.take(','));
      return line.expect_end();
    }
    if (word != "name" || function_) line.fail("a value, 'name' or 'output' is expected{}", line.here());
    const std::string name(line.quoted());
    line.expect_end();
    if (name.find('\0') != name.npos) line.fail("a name without nulls is needed");
    checked(line, [&] { graph_.set_name(name.c_str()); });
  }

  kiln_graph& graph_;
  std::string_view rest_;
  Functions functions_;
  std::size_t number_ = 0;
  std::unique_ptr<kiln_graph> function_;  ///< that is being read
  Line opened_;                           ///< the line that it belongs to
};

}  // namespace

void parse_into(kiln_graph& graph, std::string_view text, Functions functions) {
  Parser(graph, text, functions).parse();
}

}  // namespace kiln::dsl::c
