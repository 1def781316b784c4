// dsl/c/graph.h -- what a kiln_graph is: its steps, and the recorder that checks them as they come.
#pragma once

#include <memory>

#include "dsl/c/fault.h"
#include "dsl/c/program.h"
#include "dsl/c/replay.h"

struct kiln_graph {
  using Step = kiln::dsl::c::Step;

  explicit kiln_graph(const kiln::dsl::c::HostMemory& from) : memory(from), program(from) {}

  /// Adds a step, and returns its first value. Whatever throws leaves the graph as it was.
  kiln_value add(const Step& step);
  void add_output(kiln_value value);
  void set_name(const char* name);
  /// The played steps: types and ranks of the values.
  const kiln::dsl::c::Replay& values() const { return live().replay; }

  kiln::dsl::c::HostMemory memory;
  kiln::dsl::c::Program program;
  kiln::detail::Where where;  ///< of the steps to come

 private:
  struct Live {
    kiln::detail::Recorder recorder{{}, 0};
    kiln::dsl::c::Replay replay{recorder};
  };
  Live& live() const;
  mutable std::unique_ptr<Live> live_;  ///< made anew after a step that failed halfway
};

namespace kiln::dsl::c {

/// Adds `step` at the place that was set, and writes the numbers of its values.
inline kiln_status add_step(const char* function, kiln_graph* graph, Step step, kiln_value* results) noexcept {
  return guarded(function, [&] {
    require(graph, "graph");
    require(results, "result");
    step.where = graph->where;
    const kiln_value first = graph->add(step);
    for (std::uint32_t i = 0; i < step.results; ++i) results[i] = first + i;
  });
}

/// The text of kiln_graph_text.
std::string text_of(const Program& program);
/// Adds what the text says. KILN_ERROR_PARSE names the line, also for steps that are refused.
using Functions = std::span<const kiln_function* const>;
void parse_into(kiln_graph& graph, std::string_view text, Functions functions);

}  // namespace kiln::dsl::c
