// dsl/gather.cpp -- walks programs twice: at every call to gather operands, at the first one to record them.
#include "dsl/gather.h"

#include <algorithm>
#include <cstring>

#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {

using detail::Instruction;
using detail::NodeId;
using detail::Slot;

namespace {

const void* tag_of(std::uint64_t bits) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(bits)); }

detail::ScalarArgument scalar_of(const Slot& slot, DType type) {
  detail::ScalarArgument scalar;
  std::memcpy(scalar.bytes, slot.words, sizeof scalar.bytes);
  scalar.type = type;
  return scalar;
}

bool is_placed(Instruction::Kind kind) {
  return (kind >= Instruction::operation && kind <= Instruction::normal) || kind >= Instruction::call;
}

/// Where instruction `i` was written; operations that do not know it take the place of their surroundings.
detail::Where place_of(const Instruction* code, const Slot* slots, std::size_t size, std::size_t i) {
  const auto known = [&](std::size_t k) { return is_placed(code[k].kind) && where_of(slots[k]).file; };
  for (std::size_t k = i; k < size; ++k) {
    if (known(k)) return where_of(slots[k]);
  }
  for (std::size_t k = i; k-- > 0;) {
    if (known(k)) return where_of(slots[k]);
  }
  return {};
}

bool has_fragments(const detail::Parts* parts, unsigned count) {
  for (unsigned p = 0; p < count; ++p) {
    for (unsigned i = 0; i < parts[p].size; ++i) {
      if (parts[p].code[i].kind == Instruction::fragment) return true;
    }
  }
  return false;
}

/// Records instruction `i`; the structure slots before it, if any, say more.
NodeId record_structured(detail::Recorder& recorder, const Instruction* code, const Slot* slots, std::size_t i,
                         const NodeId* operands, detail::Where where) {
  if (code[i].kind == Instruction::tuple) return detail::record_tuple(recorder, operands, code[i].arity, where);
  const std::uint64_t* words = slots[i - 1].words;
  if (code[i].kind == Instruction::call)
    return detail::record_call(recorder, slots[i - 1], operands, code[i].arity, where);
  if (code[i].kind == Instruction::traced) {
    std::vector<detail::TracedArgument> arguments;  // a number's place on the stack holds its slot
    for (unsigned k = 0; k < code[i].arity; ++k) arguments.push_back({operands[k], operands[k]});
    NodeId result = 0;
    reinterpret_cast<detail::FunctionTrace>(words[0])(recorder, nullptr, arguments.data(), &result);
    return result;
  }
  if (code[i].kind == Instruction::reduction)
    return detail::record_reduction(recorder, {words[0], words[1]}, code[i].type, operands, code[i].arity, where);
  if (code[i].kind == Instruction::taken) {
    const detail::TakeCall call{words[0], static_cast<std::int64_t>(words[1])};
    return detail::record_take(recorder, call, operands[0], operands[1], where);
  }
  if (code[i].kind == Instruction::component)
    return detail::record_component(recorder, operands[0], static_cast<unsigned>(words[0]), where);
  std::size_t first = i - 1;
  while (first > 0 && code[first - 1].kind == Instruction::structure) --first;
  std::vector<std::int64_t> numbers;
  for (std::size_t k = first + 1; k < i; ++k) {
    for (const std::uint64_t word : slots[k].words) numbers.push_back(static_cast<std::int64_t>(word));
  }
  const auto [kind, count] = slots[first].words;
  if (static_cast<detail::ViewKind>(kind) == detail::ViewKind::shift) {
    return detail::record_shift(recorder, operands[0], code[i].arity > 1 ? operands + 1 : nullptr,
                                static_cast<detail::Beyond>(numbers[0]), numbers.data() + 1,
                                static_cast<unsigned>(count) - 1, where);
  }
  return detail::record_view(recorder, operands[0], static_cast<int>(kind), numbers.data(),
                             static_cast<unsigned>(count), where);
}

}  // namespace

Gathered::Gathered(const detail::Parts* parts, unsigned count, detail::Where where, detail::Where definition)
    : parts_(parts), part_count_(count), definition_(definition) {
  if (has_fragments(parts, count)) [[unlikely]]
    number_fragments();
  for (unsigned p = 0; p < count; ++p) {
    const detail::Parts& part = parts[p];
    const Base base{inputs_.size(), scalars_.size()};
    bases_.push(base);
    if (part.size == 1 && part.code->kind == Instruction::input) {  // an argument that is an array
      inputs_.push(handle_of(*part.slots));
      continue;
    }
    walk({part.code, part.slots, part.size, base});
    if (!where_.file && part.size && is_placed(part.code[part.size - 1].kind))
      where_ = place_of(part.code, part.slots, part.size, part.size - 1);
  }
  if (!where_.file) where_ = where;
  for (const detail::Fragment* fragment : fragments_) {
    tags_.push(fragment->program);
    fragment_bases_.push_back({inputs_.size(), scalars_.size()});
    walk({fragment->program->data(), fragment->slots.data(), fragment->slots.size(), fragment_bases_.back()});
  }
}

void Gathered::number_fragments() {
  fragments_ = fragments_below(parts_, part_count_);
  for (unsigned i = 0; i < fragments_.size(); ++i) numbers_.emplace_back(fragments_[i], i);
  std::sort(numbers_.begin(), numbers_.end());
}

void Gathered::walk(const Program& program) {
  const Slot* slot = program.slots;
  for (const Instruction *step = program.code, *const end = step + program.size; step != end; ++step, ++slot) {
    switch (step->kind) {
      case Instruction::input:
      case Instruction::iota:
        inputs_.push(handle_of(*slot));
        break;
      case Instruction::parameter:
      case Instruction::argument:
        scalars_.push(scalar_of(*slot, step->source));
        break;
      case Instruction::literal:
      case Instruction::constant:
      case Instruction::structure:
        tags_.push(tag_of(slot->words[0]));
        tags_.push(tag_of(slot->words[1]));
        break;
      case Instruction::fragment:
        tags_.push(tag_of(number_of(fragment_of(*slot))));
        break;
      default:
        break;
    }
  }
}

unsigned Gathered::number_of(const detail::Fragment* fragment) const {
  return std::lower_bound(numbers_.begin(), numbers_.end(), std::pair<const detail::Fragment*, unsigned>(fragment, 0))
      ->second;
}

void Gathered::fill(detail::Call& call) const {
  call.inputs = inputs_.data();
  call.input_count = inputs_.size();
  call.scalars = scalars_.data();
  call.scalar_count = scalars_.size();
  call.tags = tags_.data();
  call.tag_count = tags_.size();
  call.where = where_;
  call.definition = definition_;
  for (unsigned i = 0; i < inputs_.size(); ++i) {
    if (inputs_.data()[i].layout) continue;
    fail<ShapeError>(
        "an array in an expression has no elements{}: it was default-constructed or moved from; give it a shape or "
        "assign to it first",
        place(call));
  }
}

NodeId Gathered::run(detail::Recorder& recorder, const Program& program, const std::vector<NodeId>& nodes) const {
  std::vector<NodeId> stack;
  Base next = program.base;
  for (std::size_t i = 0; i < program.size; ++i) {
    const Instruction& step = program.code[i];
    const Slot& slot = program.slots[i];
    const std::size_t first = stack.size() - step.arity;
    const detail::Where known = is_placed(step.kind) ? place_of(program.code, program.slots, program.size, i) : where_;
    const detail::Where where = known.file ? known : where_;
    NodeId node = 0;
    switch (step.kind) {
      case Instruction::structure:
        continue;  // read by the instruction behind it
      case Instruction::argument:
        node = next.scalar++;
        break;
      case Instruction::call:
      case Instruction::reduction:
      case Instruction::tuple:
      case Instruction::component:
      case Instruction::viewed:
      case Instruction::taken:
      case Instruction::traced:
        node = record_structured(recorder, program.code, program.slots, i, stack.data() + first, where);
        break;
      case Instruction::input:
        node = detail::record_input(recorder, next.input++, step.type);
        break;
      case Instruction::iota:
        node = detail::record_iota(recorder, next.input++);
        break;
      case Instruction::parameter:
        node = detail::record_parameter(recorder, next.scalar++, step.type);
        break;
      case Instruction::literal:
        node = detail::record_number(recorder, scalar_of(slot, step.source), step.type, where);
        break;
      case Instruction::fragment:
        node = nodes[number_of(fragment_of(slot))];
        break;
      case Instruction::operation:
        node = detail::record_operation(recorder, step.op, step.type, &stack[first], step.arity, where);
        break;
      case Instruction::cast:
        node = detail::record_cast(recorder, stack[first], step.type, where);
        break;
      case Instruction::uniform:
      case Instruction::normal:
        node = detail::record_random(recorder, stack[first], stack[first + 1], step.kind == Instruction::normal,
                                     step.type, where);
        break;
      default:
        KILN_INTERNAL_CHECK(false, "instruction {} inside an expression", static_cast<int>(step.kind));
    }
    stack.resize(first);
    stack.push_back(node);
  }
  KILN_INTERNAL_CHECK(stack.size() == 1, "a program left {} values", stack.size());
  return stack.back();
}

std::vector<NodeId> Gathered::record_fragments(detail::Recorder& recorder) const {
  enum class State : std::uint8_t { waiting, open, done };
  std::vector<NodeId> nodes(fragments_.size());
  std::vector<State> states(fragments_.size(), State::waiting);
  std::vector<std::pair<unsigned, std::size_t>> open;  // fragment, next instruction to look at
  for (unsigned root = 0; root < fragments_.size(); ++root) {
    if (states[root] == State::waiting) open.emplace_back(root, 0);
    while (!open.empty()) {
      const unsigned number = open.back().first;
      const detail::Fragment& fragment = *fragments_[number];
      std::size_t& i = open.back().second;
      states[number] = State::open;
      while (i < fragment.slots.size() && ((*fragment.program)[i].kind != Instruction::fragment ||
                                           states[number_of(fragment_of(fragment.slots[i]))] == State::done))
        ++i;
      if (i < fragment.slots.size()) {
        open.emplace_back(number_of(fragment_of(fragment.slots[i])), 0);
        continue;
      }
      nodes[number] =
          run(recorder,
              {fragment.program->data(), fragment.slots.data(), fragment.slots.size(), fragment_bases_[number]}, nodes);
      states[number] = State::done;
      open.pop_back();
    }
  }
  return nodes;
}

void Gathered::record(detail::Recorder& recorder, detail::TracedArgument* traced) const {
  const std::vector<NodeId> nodes = record_fragments(recorder);
  for (unsigned p = 0; p < part_count_; ++p) {
    const detail::Parts& part = parts_[p];
    const Base base = bases_.data()[p];
    traced[p].slot = base.scalar;
    const Instruction::Kind first = part.code[0].kind;
    if (part.size == 1 && (first == Instruction::argument || first == Instruction::constant)) continue;
    traced[p].node = run(recorder, {part.code, part.slots, part.size, base}, nodes);
  }
}

}  // namespace kiln::dsl
