// dsl/graph.cpp -- captured graphs: recording on a stream, launches, arrays replaced in them.
#include <kiln/graph.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dsl/array_memory.h"
#include "dsl/layouts.h"
#include "dsl/out_of_memory.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "runtime/activity.h"
#include "runtime/recording.h"
#include "support/check.h"
#include "support/fork_safe.h"

namespace kiln::detail {

struct CapturedGraph {
  runtime::DeviceId device;
  runtime::Backend* backend = nullptr;
  Where where;
  ForkSafeMutex mutex;
  runtime::RecordedWork work;
  void* graph = nullptr;     ///< the driver's, of which `instance` was made: its nodes name the kernels
  void* instance = nullptr;  ///< null on the CPU
  std::vector<runtime::NativeStream> streams;  ///< that it was launched on

  ~CapturedGraph() {
    if (instance) backend->graphs()->destroy_instance(instance);
    if (graph) backend->graphs()->destroy_graph(graph);
  }
};

struct CaptureState {
  runtime::DeviceId device;
  Where where;
  runtime::NativeStream stream = nullptr;
  bool owns_stream = false;
  runtime::DeviceId previous_device;
  runtime::NativeStream previous_stream = nullptr;
  std::unique_ptr<runtime::Recording> recording;
};

}  // namespace kiln::detail

namespace kiln::dsl {
namespace {

using detail::CapturedGraph;
using detail::CaptureState;
using runtime::RecordedLaunch;

/// Puts the thread's device and stream back and ends the recording if it has not ended.
void leave(CaptureState& capture) noexcept {
  capture.recording.reset();
  ThreadState& thread = thread_state();
  thread.device = capture.previous_device;
  if (capture.device.kind == runtime::DeviceKind::cuda) thread.streams[capture.device.index] = capture.previous_stream;
  if (capture.owns_stream)
    detail::destroy_stream(static_cast<int>(capture.device.kind), capture.device.index, capture.stream);
}

struct Finished {
  runtime::RecordedWork work;
  void* graph = nullptr;
};

Finished finish(std::unique_ptr<CaptureState> capture) {
  Finished finished;
  try {
    finished.work = capture->recording->finish(finished.graph);
  } catch (...) {
    leave(*capture);
    throw;
  }
  leave(*capture);
  return finished;
}

/// The memory must outlive work that is under way on the stream.
void note_stream(CapturedGraph& graph, runtime::NativeStream stream) {
  if (std::find(graph.streams.begin(), graph.streams.end(), stream) != graph.streams.end()) return;
  graph.work.for_each_storage([&](runtime::Storage& storage) {
    if (storage.stream != stream || storage.borrowed) runtime::note_use(storage, stream);
  });
  graph.streams.push_back(stream);
}

void run_on_cpu(const CapturedGraph& graph) {
  for (const RecordedLaunch& launch : graph.work.launches) {
    const auto& block = launch.parameters.front();
    graph.backend->launch(*launch.kernel, launch.shape, block.data(), block.size(), nullptr);
  }
}

/// First byte and the one past the last.
struct Bytes {
  char* first;
  char* end;
  bool holds(const char* address) const { return address >= first && address < end; }
};
Bytes bytes_of(const detail::Handle& handle) {
  char* const data = static_cast<char*>(handle.data);
  return {data + handle.layout->low, data + handle.layout->high};
}

void check_replacement(const CapturedGraph& graph, const detail::Handle& before, const detail::Handle& after,
                       Where where) {
  if (!before.layout || !after.layout)
    fail<ShapeError>("[replace] of or by a default-constructed array{}; give it a shape first", place(where));
  const bool same_place = device_of(*before.layout) == graph.device && device_of(*after.layout) == graph.device;
  if (before.layout != after.layout || !same_place) {
    fail<ShapeError>(
        "[replace] shape {} by shape {}: an array of a graph is replaced by one of the same shape and strides on the "
        "graph's device{}; record again with g.update([&] {{ ... }})",
        to_text(shape_of(*before.layout)), to_text(shape_of(*after.layout)), place(where));
  }
  constexpr std::uintptr_t widest_access = 16;
  const auto misalignment = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data) % widest_access; };
  if (misalignment(after.data) != 0 && misalignment(after.data) != misalignment(before.data)) {
    fail<ShapeError>(
        "[replace] the new array is less aligned than the recorded kernels need{}; record again with g.update([&] {{ "
        "... "
        "}})",
        place(where));
  }
}

/// Kernels were made for the overlaps of the capture: a new array must not bring others.
void check_overlaps(const CapturedGraph& graph, const Bytes& before, const Bytes& after, Where where) {
  graph.work.for_each_storage([&](const runtime::Storage& storage) {
    char* const first = static_cast<char*>(storage.memory);
    const Bytes used{first, first + storage.bytes};
    const bool overlaps = after.first < used.end && used.first < after.end;
    if (!overlaps || (before.first < used.end && used.first < before.end)) return;
    fail<ShapeError>(
        "[replace] the new array overlaps another one that the graph uses{}; record again with "
        "g.update([&] {{ ... }})",
        place(where));
  });
}

/// Patches one launch; false where it does not use `before`.
bool patch(RecordedLaunch& launch, const Bytes& before, std::ptrdiff_t distance) {
  bool found = false;
  for (const RecordedLaunch::Place& place : launch.pointers) {
    char* const address = launch.pointer(place);
    if (!before.holds(address)) continue;
    launch.set_pointer(place, address + distance);
    found = true;
  }
  return found;
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

CaptureState* begin_capture(int kind, int index, void* stream, Where where) try {
  const runtime::DeviceId device{static_cast<runtime::DeviceKind>(kind), index};
  runtime::Backend& backend = runtime::backend(device);
  auto capture = std::make_unique<CaptureState>();
  capture->device = device;
  capture->where = where;
  capture->previous_device = dsl::current_device();
  capture->previous_stream = dsl::current_stream(device);
  const bool has_streams = device.kind == runtime::DeviceKind::cuda;
  capture->owns_stream = has_streams && !stream;
  capture->stream = capture->owns_stream ? create_stream(kind, index) : stream;
  try {
    capture->recording = std::make_unique<runtime::Recording>(backend, capture->stream);
    capture->recording->place = dsl::place(where);
  } catch (const DeviceError& error) {
    dsl::leave(*capture);
    fail<DeviceError>("{}{}", error.what(), dsl::place(where));
  } catch (...) {
    dsl::leave(*capture);
    throw;
  }
  dsl::set_current_stream(device, capture->stream);
  dsl::thread_state().device = device;
  return capture.release();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("begin a capture", where);
}

void abandon_capture(CaptureState* capture) noexcept {
  dsl::leave(*capture);
  delete capture;
}

CapturedGraph* end_capture(CaptureState* capture) try {
  const runtime::DeviceId device = capture->device;
  const Where where = capture->where;
  dsl::Finished finished = dsl::finish(std::unique_ptr<CaptureState>(capture));  // first: it ends in any case
  auto graph = std::make_unique<CapturedGraph>();
  graph->device = device;
  graph->backend = &runtime::backend(device);
  graph->where = where;
  graph->work = std::move(finished.work);
  graph->graph = finished.graph;
  if (graph->graph) graph->instance = graph->backend->graphs()->instantiate(graph->graph);
  return graph.release();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("end a capture");
}

CaptureState* begin_update(CapturedGraph& graph, Where where) {
  return begin_capture(static_cast<int>(graph.device.kind), graph.device.index, nullptr, where);
}

void end_capture_into(CapturedGraph& graph, CaptureState* capture) try {
  dsl::Finished finished = dsl::finish(std::unique_ptr<CaptureState>(capture));
  const std::lock_guard lock(graph.mutex);
  runtime::GraphBackend* const graphs = graph.backend->graphs();
  const bool same_count = finished.work.launches.size() == graph.work.launches.size();
  try {
    if (graphs && same_count && graphs->update(graph.instance, finished.graph)) {
      // The instance answers to the nodes of the graph that it was made of.
      for (std::size_t i = 0; i < finished.work.launches.size(); ++i)
        finished.work.launches[i].node = graph.work.launches[i].node;
      graphs->destroy_graph(finished.graph);
    } else if (graphs) {
      void* const instance = graphs->instantiate(finished.graph);
      graphs->destroy_instance(std::exchange(graph.instance, instance));
      graphs->destroy_graph(std::exchange(graph.graph, finished.graph));
    }
  } catch (...) {
    graphs->destroy_graph(finished.graph);
    throw;
  }
  graph.work = std::move(finished.work);  // the former work's memory goes when `finished` does
  graph.streams.clear();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("update a graph");
}

void launch_graph(CapturedGraph& graph, void* stream, bool given) try {
  const runtime::NativeStream on = given ? stream : dsl::current_stream(graph.device);
  const std::lock_guard lock(graph.mutex);
  const std::string label =
      runtime::is_observed() ? fmt::format("graph of {} kernels{}", graph.work.launches.size(), dsl::place(graph.where))
                             : "";
  const runtime::Activity activity{
      .kind = runtime::Activity::Kind::graph, .backend = graph.backend, .stream = on, .name = "graph", .label = label};
  runtime::observe(activity, [&] {
    if (!graph.instance) {
      if (runtime::recording_of(*graph.backend, on))
        fail<DeviceError>("a graph inside kl::capture on the CPU{}; call its functions instead",
                          dsl::place(graph.where));
      dsl::run_on_cpu(graph);
      return;
    }
    graph.backend->graphs()->launch(graph.instance, on);
    dsl::note_stream(graph, on);
  });
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("launch a graph", graph.where);
}

void replace_in_graph(CapturedGraph& graph, const Handle& before, const Handle& after, Where where) try {
  const std::lock_guard lock(graph.mutex);
  dsl::check_replacement(graph, before, after, where);
  if (before.data == after.data) return;
  const dsl::Bytes old = dsl::bytes_of(before), now = dsl::bytes_of(after);
  dsl::check_overlaps(graph, old, now, where);
  const std::ptrdiff_t distance = now.first - old.first;
  bool found = false;
  for (runtime::RecordedLaunch& launch : graph.work.launches) {
    if (!dsl::patch(launch, old, distance)) continue;
    found = true;
    if (graph.instance)
      graph.backend->graphs()->set_kernel(graph.instance, launch.node, *launch.kernel, launch.shape,
                                          launch.addresses().data());
  }
  if (!found) fail<ShapeError>("[replace] the graph uses no element of the array{}", dsl::place(where));
  if (runtime::Storage* const storage = dsl::storage_of(after)) graph.work.keep(*storage);
  graph.work.drop_unused();
  graph.streams.clear();  // the new array has not been noted
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("replace an array in a graph", where);
}

unsigned kernels_of(const CapturedGraph& graph) { return static_cast<unsigned>(graph.work.launches.size()); }

void destroy(CapturedGraph* graph) noexcept { delete graph; }

void fail_empty_graph(Where where) {
  fail<DeviceError>("a kl::Graph that was not made by kl::capture, or was moved from{}; capture the work first",
                    dsl::place(where));
}

}  // namespace kiln::detail
