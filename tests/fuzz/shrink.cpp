// tests/fuzz/shrink.cpp -- makes a failing program small: fewer outputs and nodes, plain layouts.
#include <algorithm>

#include "tests/fuzz/program.h"

namespace fuzz {
namespace {

/// Drops nodes and operands that nothing needs.
Program pruned(const Program& program) {
  std::vector<bool> needed(program.nodes.size(), false);
  for (const Output& output : program.outputs) needed[static_cast<std::size_t>(output.node)] = true;
  for (std::size_t n = program.nodes.size(); n-- > 0;) {
    if (!needed[n]) continue;
    for (const int input : program.nodes[n].inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  Program result = program;
  result.nodes.clear();
  std::vector<int> renamed(program.nodes.size(), -1);
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    if (!needed[n]) continue;
    Node node = program.nodes[n];
    for (int& input : node.inputs) input = renamed[static_cast<std::size_t>(input)];
    renamed[n] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(node);
  }
  for (Output& output : result.outputs) output.node = renamed[static_cast<std::size_t>(output.node)];
  return result;
}

using Check = std::function<std::string(const Program&)>;

/// Uses of node `from` become uses of `to`.
Program redirected(const Program& program, int from, int to) {
  Program result = program;
  for (Node& node : result.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  for (Output& output : result.outputs)
    if (output.node == from) output.node = to;
  return pruned(result);
}

bool drop_an_output(Program& program, const Check& check) {
  for (std::size_t i = 0; program.outputs.size() > 1 && i < program.outputs.size(); ++i) {
    Program smaller = program;
    smaller.outputs.erase(smaller.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    smaller = pruned(smaller);
    if (check(smaller).empty()) continue;
    program = smaller;
    return true;
  }
  return false;
}

/// An inner node becomes the output, or a node is bypassed by an operand of the same shape and type.
bool drop_a_node(Program& program, const Check& check) {
  for (int n = 0; n + 1 < static_cast<int>(program.nodes.size()); ++n) {
    Program smaller = program;
    smaller.outputs = {{n, -1}};
    smaller = pruned(smaller);
    if (smaller.nodes.size() >= program.nodes.size() || check(smaller).empty()) continue;
    program = smaller;
    return true;
  }
  for (int n = static_cast<int>(program.nodes.size()); n-- > 0;) {
    const Node node = program.nodes[static_cast<std::size_t>(n)];
    for (const int input : node.inputs) {
      const Node& other = program.nodes[static_cast<std::size_t>(input)];
      if (other.shape != node.shape || other.type != node.type) continue;
      const Program smaller = redirected(program, n, input);
      if (check(smaller).empty()) continue;
      program = smaller;
      return true;
    }
  }
  return false;
}

bool simplify_an_operand(Program& program, const Check& check) {
  for (std::size_t o = 0; o < program.operands.size(); ++o) {
    const Operand& operand = program.operands[o];
    if (operand.memory >= 0 || (operand.views.empty() && !operand.special)) continue;
    const bool shared = std::any_of(program.operands.begin(), program.operands.end(),
                                    [&](const Operand& other) { return other.memory == static_cast<int>(o); });
    Program smaller = program;
    Operand& plain = smaller.operands[o];
    if (!operand.special && shared) continue;
    if (operand.special) {
      plain.special = false;
    } else {
      plain.base = plain.shape;
      plain.views.clear();
    }
    if (check(smaller).empty()) continue;
    program = smaller;
    return true;
  }
  return false;
}

}  // namespace

Program shrink(Program program, const Check& check) {
  const Program needed = pruned(program);
  if (check(needed).empty()) return program;  // what nothing needs is part of it
  program = needed;
  for (int rounds = 0; rounds < 200; ++rounds) {
    if (!drop_an_output(program, check) && !drop_a_node(program, check) && !simplify_an_operand(program, check)) break;
  }
  return program;
}

}  // namespace fuzz
