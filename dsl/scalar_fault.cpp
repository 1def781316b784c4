// dsl/scalar_fault.cpp -- finds the operation that takes a scalar of a call.
#include "dsl/scalar_fault.h"

#include <algorithm>
#include <memory>

#include "dsl/convert.h"
#include "dsl/infer.h"
#include "dsl/trace.h"
#include "support/check.h"

namespace kiln::dsl {

void fail_conversion(const detail::Call& call, std::uint32_t slot, DType to, detail::Where where) {
  const std::shared_ptr<const Trace> trace = record(call);
  const codegen::Graph& graph = trace->graph;
  const auto takes_it = [&](const codegen::Node& node) {
    return std::ranges::any_of(node.inputs(), [&](codegen::NodeId input) {
      return graph[input].kind == codegen::NodeKind::parameter && graph[input].payload == slot;
    });
  };
  const auto user = std::ranges::find_if(graph.nodes(), takes_it);
  if (user == graph.nodes().end()) fail_conversion("assignment: ", call.scalars[slot], to, where);
  const char* const prefix = user->kind == codegen::NodeKind::call ? "" : "kl::";
  const auto id = static_cast<codegen::NodeId>(user - graph.nodes().begin());
  fail_conversion(fmt::format("{}{}: ", prefix, written_name(graph, id)), call.scalars[slot], to, where);
}

void fail_constant(const detail::ScalarArgument& number, DType to, detail::Where where) {
  char text[96];
  scalar_text(number, text, sizeof text);
  fail<TypeError>(
      "the number {} does not fit {}, the type of its kl::Const parameter{}; give another number, or "
      "declare a wider type",
      text, name_of(to), place(where));
}

}  // namespace kiln::dsl
