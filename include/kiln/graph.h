// kiln/graph.h -- kl::capture: work recorded once and launched many times as one graph.
#pragma once

#include <kiln/array.h>

namespace kiln {

class Graph;

namespace detail {

struct CapturedGraph;
struct CaptureState;

/// Begins to record the stream, which becomes the thread's current one; null: a stream of its own.
KILN_API CaptureState* begin_capture(int kind, int index, void* stream, Where where);
KILN_API void abandon_capture(CaptureState* capture) noexcept;
KILN_API CapturedGraph* end_capture(CaptureState* capture);
/// Ends the capture and makes `graph` run what was recorded.
KILN_API void end_capture_into(CapturedGraph& graph, CaptureState* capture);
/// What begin_capture needs to record for `graph` once more.
KILN_API CaptureState* begin_update(CapturedGraph& graph, Where where);
/// On the thread's current stream where none is given.
KILN_API void launch_graph(CapturedGraph& graph, void* stream, bool given);
KILN_API void replace_in_graph(CapturedGraph& graph, const Handle& before, const Handle& after, Where where);
KILN_API unsigned kernels_of(const CapturedGraph& graph);
KILN_API void destroy(CapturedGraph* graph) noexcept;
[[noreturn]] KILN_API void fail_empty_graph(Where where);

/// A capture in progress; what is left of it when the captured function throws is thrown away.
class Capturing {
 public:
  explicit Capturing(CaptureState* state) : state_(state) {}
  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;
  ~Capturing() {
    if (state_) abandon_capture(state_);
  }
  CaptureState* take() {
    CaptureState* const state = state_;
    state_ = nullptr;
    return state;
  }

 private:
  CaptureState* state_;
};

}  // namespace detail

/// Recorded work, launched as one: kernels of fused expressions, compiled functions and raw kernels, and on a GPU
/// everything else that was enqueued on the captured stream. Made by kl::capture; a value that can be moved.
///
/// The graph holds on to every array that it reads or writes and to the memory of values in between. Numbers are those
/// of the capture. On the CPU a graph is the list of kernels, run in order. All functions may be called from any
/// thread; two launches of one graph never run at the same time.
class Graph {
 public:
  Graph() = default;
  explicit Graph(detail::CapturedGraph* owned) : graph_(owned) {}
  Graph(Graph&& other) noexcept : graph_(other.graph_) { other.graph_ = nullptr; }
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph() { detail::destroy(graph_); }

  /// Runs the work, asynchronously, in the order of the thread's current stream of the graph's device.
  void launch(detail::Where where = detail::Where::current()) const {
    detail::launch_graph(get(where), nullptr, false);
  }
  void launch(const Stream& stream, detail::Where where = detail::Where::current()) const {
    detail::launch_graph(get(where), stream.native_handle(), true);
  }

  /// Later launches use `after` wherever the capture used `before` or a view of it, as operand or as result. ShapeError
  /// unless type, shape, strides, device and alignment are the same, or where `after` overlaps what else the graph
  /// uses; then record again with update().
  template <detail::array_operand A, detail::array_operand B>
  void replace(const A& before, const B& after, detail::Where where = detail::Where::current()) {
    static_assert(A::dtype == B::dtype, "kiln: an array of a graph is replaced by one of the same element type");
    detail::replace_in_graph(get(where), before.handle(), after.handle(), where);
  }
  /// Records `work` in place of what was recorded. Where only arguments and sizes of launches differ, the instance on
  /// the device is changed and not made again. When `work` throws the graph stays as it was.
  template <class F>
  void update(F&& work, detail::Where where = detail::Where::current()) {
    detail::Capturing capture(detail::begin_update(get(where), where));
    static_cast<F&&>(work)();
    detail::end_capture_into(get(where), capture.take());
  }

  /// How many kernels of kiln were recorded.
  unsigned kernels() const { return graph_ ? detail::kernels_of(*graph_) : 0; }

 private:
  detail::CapturedGraph& get(detail::Where where) const {
    if (!graph_) detail::fail_empty_graph(where);
    return *graph_;
  }
  detail::CapturedGraph* graph_ = nullptr;
};

/// Runs `work` once with `stream` as the current one and records what it enqueues there, instead of running it. Inside,
/// what waits for the device throws DeviceError: to_host, item, synchronize. Kernels that were never used before are
/// compiled first. kl::random gives the same numbers in every launch. An array that was there before keeps its memory:
/// `b = f(a)` copies into it, and throws ShapeError for another shape once the graph uses that memory. An error in
/// `work` ends the capture and leaves the stream usable; captures do not nest.
template <class F>
Graph capture(const Stream& stream, F&& work, detail::Where where = detail::Where::current()) {
  detail::Capturing capturing(
      detail::begin_capture(stream.device().kind_number(), stream.device().index(), stream.native_handle(), where));
  static_cast<F&&>(work)();
  return Graph(detail::end_capture(capturing.take()));
}
/// The same on a stream of its own on the current device.
template <class F>
  requires(requires(F& f) { f(); })
Graph capture(F&& work, detail::Where where = detail::Where::current()) {
  const Device device = Device::current();
  detail::Capturing capturing(detail::begin_capture(device.kind_number(), device.index(), nullptr, where));
  static_cast<F&&>(work)();
  return Graph(detail::end_capture(capturing.take()));
}

}  // namespace kiln
