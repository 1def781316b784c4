// tests/fuzz/execute.cpp -- records a program through kiln's non-template interface, runs it and compares every
// element.
#include <cstring>

#include <fmt/format.h>

#include <kiln/kiln.h>

#include "tests/fuzz/execute_c.h"
#include "tests/fuzz/execute_reductions.h"
#include "tests/fuzz/reference.h"

namespace fuzz {

std::uint64_t literal_bits(const Node& node) {
  return kiln::is_floating(node.type) ? encoded(node.value, node.type) : static_cast<std::uint64_t>(node.value);
}

namespace {

namespace detail = kiln::detail;
using detail::Handle;
using detail::NodeId;
using detail::Recorder;

constexpr detail::Where here{"program.cpp", 1};

/// One reference to an array.
class Owned {
 public:
  explicit Owned(Handle handle = {}) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() { detail::release(handle_.storage); }
  Handle& get() { return handle_; }

 private:
  Handle handle_;
};

struct OwnedSite : detail::Site {
  OwnedSite() = default;
  OwnedSite(const OwnedSite&) = delete;
  OwnedSite& operator=(const OwnedSite&) = delete;
  ~OwnedSite() { detail::destroy(static_cast<detail::Site&>(*this)); }
};

NodeId record_node(Recorder& recorder, const Program& program, const Node& node, const std::vector<NodeId>& done) {
  std::vector<NodeId> inputs;
  for (const int input : node.inputs) inputs.push_back(done[static_cast<std::size_t>(input)]);
  switch (node.kind) {
    case NodeKind::operand:
      return detail::record_input(recorder, static_cast<unsigned>(node.slot), node.type);
    case NodeKind::scalar:
      return detail::record_parameter(recorder, static_cast<unsigned>(node.slot), node.type);
    case NodeKind::literal:
      return detail::record_literal(recorder, node.type, literal_bits(node), 0, here);
    case NodeKind::operation:
      return detail::record_operation(recorder, node.op, node.type, inputs.data(), static_cast<unsigned>(inputs.size()),
                                      here);
    case NodeKind::cast:
      return detail::record_cast(recorder, inputs[0], node.type, here);
    case NodeKind::view:
      if (inputs.size() > 1)
        return detail::record_shift(recorder, inputs[0], &inputs[1], detail::Beyond::fill, &node.view.numbers[1],
                                    static_cast<unsigned>(node.view.numbers.size() - 1), here);
      return detail::record_view(recorder, inputs[0], static_cast<int>(node.view.kind), node.view.numbers.data(),
                                 static_cast<unsigned>(node.view.numbers.size()), here);
    case NodeKind::index:
      return detail::record_index(recorder, inputs[0], node.axes[0], here);
    case NodeKind::reduce:
    case NodeKind::scan:
      return record_reduction(recorder, program, node, inputs);
    case NodeKind::take: {
      constexpr std::uint64_t flags[] = {0, detail::TakeCall::clip, detail::TakeCall::wrap};
      return detail::record_take(recorder, {flags[node.mode], node.axes[0]}, inputs[0], inputs[1], here);
    }
  }
  return 0;
}

void trace(Recorder& recorder, const void* environment, NodeId* outputs) {
  const Program& program = *static_cast<const Program*>(environment);
  std::vector<NodeId> nodes;
  for (const Node& node : program.nodes) nodes.push_back(record_node(recorder, program, node, nodes));
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    outputs[i] = nodes[static_cast<std::size_t>(program.outputs[i].node)];
}

class Run {
 public:
  explicit Run(Program program, Interface interface = Interface::cpp)
      : program_(std::move(program)), interface_(interface) {
    number_scalars();
  }
  void compile(const std::string& arch) {
    upload();
    prepare();
    OwnedSite site;
    detail::destroy(detail::inspect(site, call_, arch.c_str()));
  }
  std::string operator()() {
    upload();
    prepare();
    if (interface_ == Interface::c) {
      execute_through_c(program_, call_);
      return compare();
    }
    OwnedSite site;
    detail::execute(site, call_);
    return compare();
  }

 private:
  void number_scalars() {
    for (Node& node : program_.nodes) {
      if (node.kind != NodeKind::scalar) continue;
      node.slot = static_cast<int>(scalars_.size());
      detail::ScalarArgument scalar;
      const bool floating = kiln::is_floating(node.type);
      scalar.type = floating ? DType::f64 : DType::i64;
      const auto integer = static_cast<std::int64_t>(node.value);
      std::memcpy(scalar.bytes, floating ? static_cast<const void*>(&node.value) : &integer, 8);
      scalars_.push_back(scalar);
    }
  }

  void upload() {
    for (const Operand& operand : program_.operands) {
      std::vector<unsigned char> bytes;
      operand_values(operand, bytes);
      contents_.push_back(bytes);
      const auto rank = static_cast<int>(operand.base.size());
      arrays_.emplace_back(
          operand.memory >= 0 ? Handle{} : detail::from_host(operand.type, bytes.data(), operand.base.data(), rank));
      Handle view = arrays_[memory_of(arrays_.size() - 1)].get();
      for (const View& step : operand.views)
        view = detail::view_of(view, static_cast<int>(step.kind), step.numbers.data(),
                               static_cast<unsigned>(step.numbers.size()), here);
      views_.push_back(view);
    }
  }

  std::size_t memory_of(std::size_t operand) const {
    const int memory = program_.operands[operand].memory;
    return memory >= 0 ? static_cast<std::size_t>(memory) : operand;
  }

  void prepare() {
    results_.resize(program_.outputs.size());
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Output& output = program_.outputs[i];
      detail::Target target;
      target.type = program_.nodes[static_cast<std::size_t>(output.node)].type;
      target.resizable = output.destination < 0;
      target.handle = target.resizable ? &results_[i] : &views_[static_cast<std::size_t>(output.destination)];
      targets_.push_back(target);
    }
    call_.inputs = views_.data();
    call_.input_count = static_cast<unsigned>(views_.size());
    call_.scalars = scalars_.data();
    call_.scalar_count = static_cast<unsigned>(scalars_.size());
    call_.targets = targets_.data();
    call_.target_count = static_cast<unsigned>(targets_.size());
    call_.trace = &trace;
    call_.environment = &program_;
    call_.options.contract = program_.contract;
    call_.where = here;
  }

  std::string compare() {
    const std::vector<Values> values = evaluate(program_);
    std::string report;
    std::vector<std::vector<const Number*>> changed(program_.operands.size());  // by element of the base array
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Output& output = program_.outputs[i];
      const Node& node = program_.nodes[static_cast<std::size_t>(output.node)];
      const Values& expected = values[static_cast<std::size_t>(output.node)];
      if (output.destination < 0) {
        const Owned owner(results_[i]);
        if (report.empty()) report = compare_array(fmt::format("output {}", i), results_[i], node, expected);
        continue;
      }
      const auto destination = static_cast<std::size_t>(output.destination);
      const Operand& operand = program_.operands[destination];
      auto& base = changed[memory_of(destination)];
      base.resize(static_cast<std::size_t>(count(operand.base)), nullptr);
      const Mapping mapping = view_of(operand);
      const std::vector<std::int64_t> source = broadcast_source(node.shape, operand.shape);
      for (std::size_t k = 0; k < mapping.source.size(); ++k)
        base[static_cast<std::size_t>(mapping.source[k])] = &expected[static_cast<std::size_t>(source[k])];
    }
    for (std::size_t o = 0; o < arrays_.size() && report.empty(); ++o) report = compare_operand(o, changed[o]);
    return report;
  }

  static std::vector<unsigned char> download(const Handle& handle) {
    std::vector<unsigned char> bytes(
        static_cast<std::size_t>(handle.layout->size) * kiln::size_of(handle.layout->dtype) + 1);
    detail::to_host(handle, bytes.data(), here);
    return bytes;
  }

  static std::string compare_array(const std::string& what, const Handle& handle, const Node& node,
                                   const Values& expected) {
    const Shape shape(handle.layout->shape, handle.layout->shape + handle.layout->rank);
    if (shape != node.shape) return what + " has another shape";
    const std::vector<unsigned char> bytes = download(handle);
    const std::size_t size = kiln::size_of(node.type);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (agrees(expected[k], node.type, &bytes[k * size])) continue;
      return fmt::format("{}: element {} of {} is {}, expected {}", what, k, expected.size(),
                         element_text(node.type, &bytes[k * size]), to_text(expected[k], node.type));
    }
    return {};
  }

  /// Memory of an operand: elements that a result overwrote have its value, all others are as they were.
  std::string compare_operand(std::size_t o, const std::vector<const Number*>& changed) {
    const Operand& operand = program_.operands[o];
    if (operand.memory >= 0) return {};
    const std::vector<unsigned char> bytes = download(arrays_[o].get());
    const std::size_t size = kiln::size_of(operand.type);
    for (std::size_t k = 0; k < static_cast<std::size_t>(count(operand.base)); ++k) {
      const bool overwritten = k < changed.size() && changed[k];
      const bool good = overwritten ? agrees(*changed[k], operand.type, &bytes[k * size])
                                    : std::memcmp(&bytes[k * size], &contents_[o][k * size], size) == 0;
      if (good) continue;
      return fmt::format(
          "element {} of operand {} {} {}, expected {}", k, o, overwritten ? "became" : "was changed to",
          element_text(operand.type, &bytes[k * size]),
          overwritten ? to_text(*changed[k], operand.type) : element_text(operand.type, &contents_[o][k * size]));
    }
    return {};
  }

  Program program_;
  Interface interface_;
  std::vector<detail::ScalarArgument> scalars_;
  std::vector<std::vector<unsigned char>> contents_;
  std::vector<Owned> arrays_;
  std::vector<Handle> views_;
  std::vector<Handle> results_;
  std::vector<detail::Target> targets_;
  detail::Call call_;
};

}  // namespace

namespace {

/// A reshape that no strides can express is refused, with advice; any other exception is a problem.
template <class Body>
std::string problem_of(Body body) {
  try {
    return body();
  } catch (const kiln::ShapeError& error) {
    const std::string text = error.what();
    return text.find("reshape") != std::string::npos ? "" : "ShapeError: " + text;
  } catch (const RefusedReshape&) {
    return "";
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

}  // namespace

std::string check(const Program& program, Interface interface) {
  return problem_of([&] { return Run(program, interface)(); });
}

std::string compile(const Program& program, const std::string& arch) {
  return problem_of([&] {
    Run(program).compile(arch);
    return std::string();
  });
}

}  // namespace fuzz
