// codegen/emit/llvm_state.cpp -- joins of states and lane trees; llvm_state_running.cpp has sums that keep what
// rounding loses.
#include "codegen/emit/llvm_state.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "codegen/schedule/cpu_reduction.h"

namespace kiln::codegen {
namespace {}  // namespace

ReductionState::ReductionState(KernelFrame& frame, NodeId node)
    : frame_(frame),
      node_(node),
      monoid_(monoid_of(frame.kernel.body, node)),
      combine_(frame.b, frame.library, monoid_.combine, frame.options.contract) {
  for (const DType type : state_components(frame.kernel.body, node)) lanes_.push_back(lane_of(type));
  if (lanes_.size() == monoid_.components.size()) return;
  form_ = monoid_.kind == Reduction::sum                  ? Form::compensated
          : monoid_.kind == Reduction::logsumexp          ? Form::exponentials
          : monoid_.kind == Reduction::squared_deviations ? Form::deviations
                                                          : Form::extreme;
}

std::vector<NodeId> ReductionState::operands() const {
  std::vector<NodeId> nodes;
  for (const StateComponent& component : monoid_.components) nodes.push_back(component.value);
  return nodes;
}

std::vector<NodeId> ReductionState::identities() const {
  std::vector<NodeId> nodes;
  for (const StateComponent& component : monoid_.components) {
    if (component.identity != no_node) nodes.push_back(component.identity);
  }
  return nodes;
}

Parts ReductionState::identity(const BodyPrinter& body) const {
  Parts parts;
  for (const StateComponent& component : monoid_.components) {
    parts.push_back(component.identity == no_node ? frame_.b.bits(lane_of(component.type), component.identity_bits)
                                                  : body.value(component.identity)[0]);
  }
  if (form_ == Form::exponentials) parts.push_back(parts[0]);
  while (parts.size() < lanes_.size() && form_ != Form::extreme) parts.push_back(frame_.b.number(lanes_[0], 0));
  if (form_ == Form::extreme) {
    const std::uint64_t most = monoid_.kind == Reduction::max ? 0xffffffff : 0x7fffffff;
    parts.push_back(frame_.b.bits(Lane::i32, 0));
    parts.push_back(frame_.b.bits(Lane::i32, most));
  }
  return parts;
}

Parts ReductionState::element(const BodyPrinter& body) const {
  Parts parts;
  for (const StateComponent& component : monoid_.components) parts.push_back(body.value(component.value)[0]);
  return parts;
}

IrValue ReductionState::better(const IrValue& a, const IrValue& b) const {
  return frame_.b.select(monoid_.kind == Reduction::max ? b > a : b < a, b, a);
}

IrValue ReductionState::least_bits(const IrValue& a, const IrValue& b) const {
  return frame_.b.intrinsic(monoid_.kind == Reduction::max ? "umin" : "smin", {a, b});
}

Parts ReductionState::join(const Parts& a, const Parts& b) {
  if (form_ == Form::compensated) return join_sums(a, b);
  if (form_ == Form::exponentials) return join_exponentials(a, b);
  if (form_ == Form::deviations) return join_deviations(a, b);
  if (form_ == Form::extreme) return {better(a[0], b[0]), a[1] | b[1], least_bits(a[2], b[2])};
  std::vector<IrValue> inputs(a.begin(), a.end());
  inputs.insert(inputs.end(), b.begin(), b.end());
  std::vector<NodeId> all(monoid_.combine.size());
  for (NodeId id = 0; id < monoid_.combine.size(); ++id) all[id] = id;
  combine_.compute(all, {{}, {}, inputs});
  Parts joined;
  for (const NodeId output : monoid_.combine.outputs) joined.push_back(combine_.value(output)[0]);
  return joined;
}

/// A tree over the elements. Sums of a batch need no correction: their depth is that of the tree.
Parts ReductionState::batch_of(const std::vector<Parts>& elements) {
  std::vector<Parts> level = elements;
  Parts flags;
  if (form_ == Form::extreme) {
    // One comparison finds NaN in two vectors.
    for (std::size_t k = 0; k < elements.size(); k += 2) {
      const std::size_t other = std::min(k + 1, elements.size() - 1);
      const IrValue nan = frame_.b.convert("sext", unordered(elements[k][0], elements[other][0]), Lane::i32);
      flags = flags.empty() ? Parts{nan} : Parts{flags[0] | nan};
    }
    for (Parts& element : level) element.push_back(bitcast(element[0], Lane::i32));
  }
  while (level.size() > 1) {
    std::vector<Parts> joined;
    for (std::size_t k = 0; k + 1 < level.size(); k += 2) {
      const Parts &a = level[k], &c = level[k + 1];
      if (form_ == Form::plain) {
        joined.push_back(join(a, c));
      } else if (form_ == Form::compensated) {
        joined.push_back({a[0] + c[0]});
      } else {
        joined.push_back({better(a[0], c[0]), least_bits(a[1], c[1])});
      }
    }
    if (level.size() % 2 != 0) joined.push_back(level.back());
    level = std::move(joined);
  }
  if (form_ == Form::extreme) return {level[0][0], flags[0], level[0][1]};
  return level[0];
}

Parts ReductionState::accumulate(const Parts& a, const std::vector<Parts>& elements) {
  if (form_ == Form::exponentials) return add_exponentials(a, elements);
  if (form_ == Form::deviations) return add_deviations(a, elements);
  return absorb(a, batch_of(elements));
}

Parts ReductionState::absorb(const Parts& a, const Parts& prefixes) {
  return form_ == Form::compensated ? join_sums(a, {prefixes[0]}) : join(a, prefixes);
}

Parts ReductionState::result(const Parts& state) const {
  IrBuilder& b = frame_.b;
  if (is_running()) return total(state);
  if (form_ == Form::extreme) {
    // The least pattern is that of +0 (unsigned) or -0 (signed) if such a zero occurred.
    const std::uint64_t winner = monoid_.kind == Reduction::max ? 0 : 0x80000000;
    const IrValue occurred = b.compare("icmp eq", state[2], b.bits(Lane::i32, winner));
    const IrValue value = b.select(equal(state[0], 0) & occurred, b.bits(Lane::f32, winner), state[0]);
    return {b.select(b.compare("icmp ne", state[1], b.bits(Lane::i32, 0)), b.bits(Lane::f32, 0x7fc00000), value)};
  }
  return state;
}

Parts ReductionState::shuffled(const Parts& state, const Parts& other, const std::vector<int>& lanes) const {
  IrBuilder& b = frame_.b;
  std::string order = fmt::format("<{} x i32> <", b.width());
  for (std::size_t k = 0; k < lanes.size(); ++k) order += fmt::format("{}i32 {}", k ? ", " : "", lanes[k]);
  order += ">";
  Parts result;
  for (std::size_t c = 0; c < state.size(); ++c) {
    const std::string type = b.type(state[c].lane);
    result.push_back(b.emit(
        state[c].lane, fmt::format("shufflevector {0} {1}, {0} {2}, {3}", type, state[c].text, other[c].text, order)));
  }
  return result;
}

Parts ReductionState::join_lanes(Parts state) {
  const int width = frame_.b.width();
  std::vector<int> lanes(static_cast<std::size_t>(width));
  for (int step = width / 2; step > 0; step /= 2) {
    for (int k = 0; k < width; ++k) lanes[static_cast<std::size_t>(k)] = (k + step) % width;
    state = join(state, shuffled(state, state, lanes));
  }
  std::fill(lanes.begin(), lanes.end(), 0);
  return shuffled(state, state, lanes);
}

Parts ReductionState::prefixes(const Parts& element, const Parts& identity) {
  const int width = frame_.b.width();
  Parts state = batch_of({element});
  const Parts before(identity.begin(), identity.begin() + static_cast<std::ptrdiff_t>(state.size()));
  std::vector<int> lanes(static_cast<std::size_t>(width));
  for (int step = 1; step < width; step *= 2) {
    for (int k = 0; k < width; ++k) lanes[static_cast<std::size_t>(k)] = k < step ? width : k - step;
    const Parts moved = shuffled(state, before, lanes);
    state = form_ == Form::compensated ? Parts{moved[0] + state[0]} : join(moved, state);
  }
  return state;
}

Parts ReductionState::last_lane(const Parts& state) const {
  const int width = frame_.b.width();
  return shuffled(state, state, std::vector<int>(static_cast<std::size_t>(width), width - 1));
}

}  // namespace kiln::codegen
