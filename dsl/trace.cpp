// dsl/trace.cpp -- records traces and keeps them per site.
#include "dsl/trace.h"

#include <algorithm>
#include <utility>

#include "dsl/infer.h"
#include "dsl/recorder.h"
#include "dsl/shapes.h"
#include "dsl/tracing.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

constexpr std::ptrdiff_t most_traces = 256;  // of one site; the older half goes when there are more

template <class T>
void append(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// What a trace may depend on: types and ranks of operands, types of scalars and targets, structural tags.
std::string signature_of(const detail::Call& call) {
  std::string text;
  append(text, call.input_count);
  append(text, call.scalar_count);
  append(text, call.target_count);
  for (unsigned i = 0; i < call.input_count; ++i) {
    text += static_cast<char>(call.inputs[i].layout->dtype);
    text += static_cast<char>(call.inputs[i].layout->rank);
    text += static_cast<char>(call.inputs[i].storage != nullptr);
  }
  for (unsigned i = 0; i < call.scalar_count; ++i) text += static_cast<char>(call.scalars[i].type);
  for (unsigned i = 0; i < call.target_count; ++i) text += static_cast<char>(call.targets[i].type);
  for (unsigned i = 0; i < call.tag_count; ++i) append(text, call.tags[i]);
  return text;
}

/// The parameter behind casts, or null.
const codegen::Node* exponent_parameter(const codegen::Graph& graph, codegen::NodeId id) {
  while (graph[id].kind == codegen::NodeKind::cast) id = graph[id].operands[0];
  return graph[id].kind == codegen::NodeKind::parameter ? &graph[id] : nullptr;
}

std::vector<std::uint32_t> integer_exponents(const codegen::Graph& graph) {
  std::vector<std::uint32_t> slots;
  for (const codegen::Node& node : graph.nodes()) {
    if (node.kind != codegen::NodeKind::operation || node.op != Op::pow || !is_integer(node.type)) continue;
    if (const codegen::Node* parameter = exponent_parameter(graph, node.operands[1]))
      slots.push_back(static_cast<std::uint32_t>(parameter->payload));
  }
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

/// What outputs need: bodies of kl::repeat are functions by now.
codegen::Graph without_loop_bodies(const codegen::Graph& graph, const detail::Call& call) {
  codegen::Graph needed = codegen::canonical(graph);
  for (const codegen::Node& node : needed.nodes()) {
    if (node.kind != codegen::NodeKind::input || node.payload < call.input_count) continue;
    fail<TypeError>("kl::repeat: a state is used outside of the body that received it{}; use what kl::repeat returns",
                    place(call.where));
  }
  return needed;
}

/// Says which thread is recording while it lives.
class Recording {
 public:
  explicit Recording(std::atomic<std::thread::id>& thread) : thread_(thread) { thread_ = std::this_thread::get_id(); }
  ~Recording() { thread_ = std::thread::id(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  std::atomic<std::thread::id>& thread_;
};

/// Of the call that this thread traces. A constant that becomes another on its way into the lambda is converted by
/// kiln's templates, which know neither line nor recorder.
thread_local detail::Where innermost_call;

class TracedCall {
 public:
  explicit TracedCall(detail::Where where) : outer_(std::exchange(innermost_call, where)) {}
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;
  ~TracedCall() { innermost_call = outer_; }

 private:
  detail::Where outer_;
};

}  // namespace

std::string types_text(const detail::Call& call) {
  std::string text;
  const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  for (unsigned i = 0; i < call.input_count; ++i)
    add(fmt::format("{}[{}d]", name_of(call.inputs[i].layout->dtype), call.inputs[i].layout->rank));
  for (unsigned i = 0; i < call.scalar_count; ++i) add(name_of(call.scalars[i].type));
  return "(" + text + ")";
}

detail::Where traced_call() { return innermost_call; }

std::shared_ptr<const Trace> record(const detail::Call& call) {
  std::vector<int> ranks;
  for (unsigned i = 0; i < call.input_count; ++i) ranks.push_back(call.inputs[i].layout->rank);
  const TracedCall traced(call.where.file ? call.where : call.definition);
  detail::Recorder recorder(std::move(ranks), call.scalar_count, traced_call());
  std::vector<detail::NodeId> outputs(call.target_count);
  {
    const Tracing running;
    call.trace(recorder, call.environment, outputs.data());
  }
  for (unsigned t = 0; t < call.target_count; ++t) {
    const DType from = recorder.graph()[outputs[t]].type, to = call.targets[t].type;
    if (from != to) outputs[t] = recorder.cast(outputs[t], to, call.where);
  }
  auto trace = std::make_shared<Trace>();
  trace->graph = recorder.take();
  trace->graph.outputs.assign(outputs.begin(), outputs.end());
  trace->non_negative = integer_exponents(trace->graph);
  if (recorder.has_loops()) trace->graph = without_loop_bodies(trace->graph, call);
  KILN_LOG(5, "trace of {}{}\n{}", call.name ? call.name : "an expression", place(call.where),
           codegen::to_text(trace->graph));
  return trace;
}

void Signatures::seal() {
  const std::lock_guard lock(mutex_);
  is_sealed_ = true;
}

void Signatures::admit(const detail::Call& call) {
  const std::lock_guard lock(mutex_);
  if (!is_sealed_) return;
  std::string known;
  for (const std::string& signature : known_) known += "\n  " + signature;
  fail<TypeError>(
      "{} is sealed and was not compiled for {}{}; compile it for these types before f.seal(), or convert "
      "the arguments. It was compiled for:{}",
      call.name ? call.name : "the function", types_text(call), place(call), known.empty() ? " nothing" : known);
}

void Signatures::add(const detail::Call& call) {
  const std::lock_guard lock(mutex_);
  std::string text = types_text(call);
  if (std::find(known_.begin(), known_.end(), text) == known_.end()) known_.push_back(std::move(text));
}

void Traces::check_not_recording(const detail::Call& call) const {
  if (recording_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return;
  fail<TypeError>(
      "{} calls itself while it is being traced{}: the call would need the trace that is not finished; call the "
      "lambda itself, or another function, on the traced values",
      call.name ? call.name : "a function", place(call));
}

std::shared_ptr<const Trace> Traces::get(const detail::Call& call, Signatures* signatures) {
  std::string signature = signature_of(call);
  check_not_recording(call);
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.signature == signature) return entry.trace;
  if (signatures) signatures->admit(call);
  const Recording recording(recording_);
  // Literals and the numbers of structural operations are part of a signature: a loop may write new ones without end.
  if (entries_.size() >= most_traces) entries_.erase(entries_.begin(), entries_.begin() + most_traces / 2);
  entries_.push_back({std::move(signature), record(call)});
  if (signatures) signatures->add(call);
  return entries_.back().trace;
}

}  // namespace kiln::dsl
