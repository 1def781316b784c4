// dsl/trace.h -- traces of a site: the user's expression as a graph, recorded once per types and ranks of its operands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <kiln/detail/bridge.h>

#include "codegen/ir/graph.h"
#include "support/fork_safe.h"

namespace kiln::dsl {

struct Trace {
  codegen::Graph graph;                     ///< outputs have the types of the targets
  std::vector<std::uint32_t> non_negative;  ///< scalar slots used as exponents of integer powers
};

/// Runs the call's trace function.
std::shared_ptr<const Trace> record(const detail::Call& call);
/// The place of the call whose trace function this thread runs, else of the function that is called.
detail::Where traced_call();

/// "(f32[2d], f32[1d], f32)": the arrays with their ranks, then the numbers.
std::string types_text(const detail::Call& call);

/// The argument types that a compiled function knows, in words.
class Signatures {
 public:
  void seal();
  /// TypeError for a call of a sealed function with other types.
  void admit(const detail::Call& call);
  void add(const detail::Call& call);

 private:
  ForkSafeMutex mutex_;
  bool is_sealed_ = false;
  std::vector<std::string> known_;
};

/// The traces of one site. Recording holds the site's own lock only: the user's function runs once per signature.
class Traces {
 public:
  /// `signatures`: of the compiled function that is called; null for others.
  std::shared_ptr<const Trace> get(const detail::Call& call, Signatures* signatures);
  /// TypeError where this thread is running the user's function.
  void check_not_recording(const detail::Call& call) const;

 private:
  struct Entry {
    std::string signature;
    std::shared_ptr<const Trace> trace;
  };
  ForkSafeMutex mutex_;
  std::atomic<std::thread::id> recording_;  ///< the thread that runs the user's function
  std::vector<Entry> entries_;
};

}  // namespace kiln::dsl
