// tests/unit/dsl/traced.h -- public expressions and lambdas as the graphs that they record.
#pragma once

#include <string>
#include <vector>

#include <kiln/kiln.h>

#include "codegen/ir/graph.h"
#include "dsl/gather.h"
#include "dsl/infer.h"
#include "dsl/recorder.h"
#include "tests/support/messages.h"

namespace kiln::dsl::test {

using messages::message_of;

/// The graph of an inline expression.
template <class E>
codegen::Graph graph_of(const E& expression) {
  const detail::Parts parts = expression.parts();
  const Gathered gathered(&parts, 1);
  detail::Call call;
  gathered.fill(call);
  std::vector<int> ranks;
  for (unsigned i = 0; i < call.input_count; ++i) ranks.push_back(call.inputs[i].layout->rank);
  detail::Recorder recorder(ranks, call.scalar_count);
  detail::TracedArgument traced;
  gathered.record(recorder, &traced);
  codegen::Graph graph = recorder.take();
  graph.outputs = {traced.node};
  codegen::verify(graph, false);
  return graph;
}

template <class E>
std::string text_of(const E& expression) {
  return codegen::to_text(graph_of(expression));
}

/// What a lambda records of one argument with elements of type T and the given rank.
template <class T, class F>
codegen::Graph traced_graph(int rank, F function) {
  detail::Recorder recorder({rank}, 0);
  const auto result = function(Sym<T>(recorder, recorder.input(0, dtype_of<T>)));
  codegen::Graph graph = recorder.take();
  graph.outputs = {result.node_as(decltype(result)::dtype, {})};
  codegen::verify(graph, false);
  return graph;
}

template <class T, class F>
std::string traced_text(int rank, F function) {
  return codegen::to_text(traced_graph<T>(rank, function));
}

}  // namespace kiln::dsl::test
