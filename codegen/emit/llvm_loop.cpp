// codegen/emit/llvm_loop.cpp -- a loop as a function of vectors: lanes that have left it keep their states under a
// mask.
//
// A loop is a function that is defined once per module. A turn that ends where the condition holds is computed in full
// for the whole vector, and dropped by the lanes that have left.
#include <fmt/format.h>

#include "codegen/emit/llvm_ops.h"

#include "codegen/ir/loop.h"

namespace kiln::codegen {
namespace {

Lane lane_of_operand(const Function& function, std::size_t k) { return lane_of(compute_type(function.parameters[k])); }

std::string result_type(const IrBuilder& b, const Function& function) {
  std::string fields;
  for (unsigned k = 0; k < function.loop->states; ++k)
    fields += (k ? ", " : "") + b.type(lane_of_operand(function, k + 1));
  return "{ " + fields + " }";
}

/// Writes the function of one loop: %n turns, %a0, %a1, ... the states before the first one, then what stays.
class LoopPrinter {
 public:
  LoopPrinter(const Function& function, MathLibrary& library, bool contract)
      : function_(function),
        loop_(*function.loop),
        b_(library.width(), library.features()),
        body_(b_, library, loop_.body, contract) {}

  std::string print(const std::string& symbol) {
    const std::string first = b_.emit_scalar(fmt::format("extractelement {} %n, i32 0", b_.type(Lane::i32)));
    const std::string some = b_.emit_scalar(fmt::format("icmp sgt i32 {}, 0", first));
    b_.line(fmt::format("br i1 {}, label %turn, label %done", some));
    // The body comes first, so that the block that it ends in is known to the phis before it.
    const std::string before = std::move(b_.text());
    b_.text().clear();
    b_.label("turn");
    b_.text().clear();
    print_turn(first);
    const std::string turn = std::move(b_.text());
    const std::string last = b_.block();
    b_.text().clear();
    b_.label("turn");
    b_.line(fmt::format("%i = phi i32 [ 0, %entry ], [ %i.next, %{} ]", last));
    for (unsigned k = 0; k < loop_.states; ++k)
      b_.line(fmt::format("%s{0} = phi {1} [ %a{0}, %entry ], [ %s{0}.next, %{2} ]", k, type(k), last));
    if (loop_.breaks) {
      b_.line(fmt::format("%stay = phi {} [ {}, %entry ], [ %stay.next, %{} ]", b_.type(Lane::i1),
                          b_.bits(Lane::i1, 1).text, last));
    }
    const std::string phis = std::move(b_.text());
    b_.text().clear();
    print_result(last);
    return fmt::format("\ndefine internal {} {}({}) #3 {{\nentry:\n{}{}{}{}}}\n", result_type(b_, function_), symbol,
                       parameters(), before, phis, turn, b_.text());
  }

 private:
  std::string type(unsigned k) const { return b_.type(lane_of_operand(function_, k + 1)); }

  std::string parameters() const {
    std::string text = b_.type(Lane::i32) + " %n, ";
    for (unsigned k = 0; k + 1 < function_.parameters.size(); ++k) text += fmt::format("{} %a{}, ", type(k), k);
    return text + "ptr %libm";
  }

  /// Storage form of the operands: b1 as i8.
  std::vector<Parts> leaves() {
    std::vector<Parts> values;
    for (unsigned k = 0; k + 1 < function_.parameters.size(); ++k) {
      const Lane lane = lane_of_operand(function_, k + 1);
      const IrValue value = b_.value(lane, fmt::format("%{}{}", k < loop_.states ? "s" : "a", k));
      values.push_back({lane == Lane::i1 ? b_.convert("zext", value, Lane::i8) : value});
    }
    return values;
  }

  void print_turn(const std::string& turns) {
    std::vector<NodeId> nodes(loop_.body.size());
    for (NodeId id = 0; id < loop_.body.size(); ++id) nodes[id] = id;
    const std::vector<Parts> values = leaves();
    body_.compute(nodes, {.parameters = values});
    IrValue stays = b_.bits(Lane::i1, 1);
    if (loop_.breaks) stays = b_.value(Lane::i1, "%stay") & !body_.value(loop_.body.outputs[loop_.states])[0];
    const std::string name = b_.fresh("end");  // a block that ends the turn, whatever blocks the body made
    b_.line(fmt::format("br label %{}", name.substr(1)));
    b_.label(name.substr(1));
    for (unsigned k = 0; k < loop_.states; ++k) {
      const std::string& next = body_.value(loop_.body.outputs[k])[0].text;
      b_.line(fmt::format("%s{0}.next = select {1} {2}, {3} {4}, {3} %s{0}", k, b_.type(Lane::i1), stays.text, type(k),
                          next));
    }
    b_.line("%i.next = add i32 %i, 1");
    std::string more = b_.emit_scalar(fmt::format("icmp slt i32 %i.next, {}", turns));
    if (loop_.breaks) {
      b_.line(fmt::format("%stay.next = and {0} {1}, {1}", b_.type(Lane::i1), stays.text));
      const std::string any = b_.emit_scalar(
          fmt::format("call i1 @llvm.vector.reduce.or.{}({} %stay.next)", b_.suffix(Lane::i1), b_.type(Lane::i1)));
      more = b_.emit_scalar(fmt::format("and i1 {}, {}", more, any));
    }
    b_.line(fmt::format("br i1 {}, label %turn, label %done", more));
  }

  void print_result(const std::string& last) {
    b_.label("done");
    std::string result = "undef";
    for (unsigned k = 0; k < loop_.states; ++k)
      b_.line(fmt::format("%r{0} = phi {1} [ %a{0}, %entry ], [ %s{0}.next, %{2} ]", k, type(k), last));
    for (unsigned k = 0; k < loop_.states; ++k) {
      result = b_.emit_scalar(
          fmt::format("insertvalue {} {}, {} %r{}, {}", result_type(b_, function_), result, type(k), k, k));
    }
    b_.line(fmt::format("ret {} {}", result_type(b_, function_), result));
  }

  const Function& function_;
  const Loop& loop_;
  IrBuilder b_;
  BodyPrinter body_;
};

}  // namespace

Parts BodyPrinter::print_loop(const Function& function, const std::vector<Parts>& operands) {
  const std::string symbol = "@" + loop_name(function), type = result_type(b_, function);
  library_.define(symbol, [&] { return LoopPrinter(function, library_, contract_).print(symbol); });
  std::string call = symbol + "(";
  for (const Parts& operand : operands) call += fmt::format("{} {}, ", b_.type(operand[0].lane), operand[0].text);
  call += "ptr %libm)";
  // Equal calls of one block give equal values: all states come from one.
  std::vector<IrValue>& states = loops_[b_.block() + " " + call];
  if (states.empty()) {
    const std::string result = b_.emit_scalar(fmt::format("call {} {}", type, call));
    for (unsigned k = 0; k < function.loop->states; ++k) {
      states.push_back(
          b_.emit(lane_of_operand(function, k + 1), fmt::format("extractvalue {} {}, {}", type, result, k)));
    }
  }
  return {states[function.component]};
}

}  // namespace kiln::codegen
