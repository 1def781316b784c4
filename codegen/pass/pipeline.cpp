// codegen/pass/pipeline.cpp -- the order of the passes, and what surrounds each: dump, time, verify.
#include <chrono>

#include "codegen/pass/evaluate.h"
#include "codegen/pass/passes.h"
#include "support/float_environment.h"
#include "support/log.h"

namespace kiln::codegen {
namespace {

struct Pass {
  const char* name;
  Graph (*run)(const Graph&, const PassOptions&);
};

// Lowering writes guards in full; the second round of folding and simplifying removes those that literals decide.
constexpr Pass pipeline[] = {
    {"fold_constants", fold_constants},
    {"simplify", simplify},
    {"split_complex", split_complex},
    {"widen_storage_types", widen_storage_types},
    {"lower_reductions", lower_reductions},
    {"join_exponential_sums", join_exponential_sums},
    {"legalize", legalize},
    {"fold_constants", fold_constants},
    {"simplify", simplify},
    {"narrow_integers", narrow_integers},
    {"fold_constants", fold_constants},
    {"simplify", simplify},
    {"eliminate_dead", eliminate_dead},
};

constexpr int dump_level = 5;

Graph run_pass(const Pass& pass, const Graph& graph, const PassOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Graph result = pass.run(graph, options);
  if (log_enabled(dump_level)) {
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
    const std::string text = to_text(result);
    const bool unchanged = text == to_text(graph);
    KILN_LOG(dump_level, "pass {}: {} node{}, {:.0f} us {}{}", pass.name, result.size(), result.size() == 1 ? "" : "s",
             elapsed.count(), unchanged ? "(unchanged)" : "\n", unchanged ? "" : text);
  }
#ifndef NDEBUG
  verify(result, true);
#endif
  return result;
}

}  // namespace

Graph run_pipeline(const Graph& graph, const PassOptions& options) {
  const DefaultFloatEnvironment environment;
#ifndef NDEBUG
  verify(graph, true);
#endif
  KILN_LOG(dump_level, "kernel body before the passes\n{}", to_text(graph));
  Graph result = graph;
  for (const Pass& pass : pipeline) result = run_pass(pass, result, options);
#ifndef NDEBUG
  verify_legal(result);
#endif
  return result;
}

}  // namespace kiln::codegen
