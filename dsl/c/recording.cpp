// dsl/c/recording.cpp -- kiln_capture and kiln_recording: launches recorded once and launched many times.
#include "dsl/c/recording.h"

#include <kiln/graph.h>

#include <thread>
#include <vector>

#include "dsl/c/fault.h"
#include "dsl/c/kernel.h"
#include "support/log.h"

struct kiln_recording {
  kiln_recording(const kiln::dsl::c::HostMemory& from, kiln::runtime::DeviceId on) : memory(from), device(on) {}
  ~kiln_recording() {
    if (graph) kiln::detail::destroy(graph);
  }
  kiln_recording(const kiln_recording&) = delete;
  kiln_recording& operator=(const kiln_recording&) = delete;

  kiln::dsl::c::HostMemory memory;
  kiln::runtime::DeviceId device;
  kiln::detail::CapturedGraph* graph = nullptr;
  std::vector<std::shared_ptr<const kiln::dsl::c::UserFunction>> functions;
};

struct kiln_capture {
  kiln_capture(const kiln::dsl::c::HostMemory& from, kiln::runtime::DeviceId on) : memory(from), device(on) {}
  kiln::dsl::c::HostMemory memory;
  kiln::runtime::DeviceId device;
  kiln::detail::CaptureState* state = nullptr;
  void* stream = nullptr;
  kiln_recording* updated = nullptr;  ///< null: a new one is made
  std::thread::id thread = std::this_thread::get_id();
  std::vector<std::shared_ptr<const kiln::dsl::c::UserFunction>> functions;
};

namespace kiln::dsl::c {
namespace {

constinit thread_local kiln_capture* capturing = nullptr;

/// Begins to record for a capture that has its memory; nothing else can fail afterwards.
kiln_capture* begin(runtime::DeviceId device, kiln_recording* updated, void* stream) {
  kiln_capture* const capture = make_object<kiln_capture>(device);
  try {
    capture->updated = updated;
    capture->state = updated ? detail::begin_update(*updated->graph, {})
                             : detail::begin_capture(static_cast<int>(device.kind), device.index, stream, {});
    capture->stream = detail::current_stream(static_cast<int>(device.kind), device.index);
  } catch (...) {
    if (capture->state) detail::abandon_capture(capture->state);
    destroy_object(capture);
    throw;
  }
  capturing = capture;
  return capture;
}

void check_thread(const kiln_capture& capture) {
  if (capture.thread != std::this_thread::get_id())
    throw Fault(KILN_ERROR_ARGUMENT, "the capture was begun by another thread, which must end it");
}

/// Takes the recorded state; the capture is destroyed with this.
class Ending {
 public:
  explicit Ending(kiln_capture* capture) : capture_(capture) { capturing = nullptr; }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    if (capture_->state) detail::abandon_capture(capture_->state);
    destroy_object(capture_);
  }
  detail::CaptureState* take() { return std::exchange(capture_->state, nullptr); }

 private:
  kiln_capture* capture_;
};

void end(kiln_capture* capture, kiln_recording** recording) {
  Ending ending(capture);
  if (kiln_recording* const updated = capture->updated) {
    updated->functions.reserve(updated->functions.size() + capture->functions.size());
    detail::end_capture_into(*updated->graph, ending.take());
    // Launches of the former work may be under way: what they call stays, too.
    updated->functions.insert(updated->functions.end(), capture->functions.begin(), capture->functions.end());
    if (recording) *recording = updated;
    return;
  }
  require(static_cast<const void*>(recording), "recording");
  kiln_recording* const made = make_object<kiln_recording>(capture->device);
  try {
    made->functions = std::move(capture->functions);
    made->graph = detail::end_capture(ending.take());
  } catch (...) {
    destroy_object(made);
    throw;
  }
  *recording = made;
}

}  // namespace

void note_captured_function(const std::shared_ptr<const UserFunction>& function) {
  if (capturing) capturing->functions.push_back(function);
}

}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_capture_begin(kiln_dl_device device, void* stream, kiln_capture** capture) noexcept {
  return guarded("kiln_capture_begin", [&] {
    require(static_cast<const void*>(capture), "capture");
    *capture = begin(device_named(device), nullptr, stream);
  });
}

kiln_status kiln_capture_update(kiln_recording* recording, kiln_capture** capture) noexcept {
  return guarded("kiln_capture_update", [&] {
    require(recording, "recording");
    require(static_cast<const void*>(capture), "capture");
    *capture = begin(recording->device, recording, nullptr);
  });
}

void* kiln_capture_stream(const kiln_capture* capture) noexcept { return capture ? capture->stream : nullptr; }

kiln_status kiln_capture_end(kiln_capture* capture, kiln_recording** recording) noexcept {
  return guarded("kiln_capture_end", [&] {
    require(capture, "capture");
    check_thread(*capture);
    end(capture, recording);
  });
}

void kiln_capture_destroy(kiln_capture* capture) noexcept {
  if (!capture) return;
  if (capture->thread != std::this_thread::get_id())  // whose recording cannot be reached from here
    return warn_once("kiln_capture_destroy of a capture of another thread: it goes on there");
  const Ending ending(capture);
}

kiln_status kiln_recording_launch(kiln_recording* recording, void* stream) noexcept {
  return guarded("kiln_recording_launch", [&] {
    require(recording, "recording");
    detail::launch_graph(*recording->graph, stream, true);
    if (const char* const failure = take_callback_failure()) throw Fault(KILN_ERROR_CALLBACK, failure);
    for (const auto& function : recording->functions) function->check_host();
  });
}

kiln_status kiln_recording_replace(kiln_recording* recording, const kiln_dl_tensor* before,
                                   const kiln_dl_tensor* after) noexcept {
  return guarded("kiln_recording_replace", [&] {
    require(recording, "recording");
    require(before, "before");
    require(after, "after");
    detail::replace_in_graph(*recording->graph, bind_any(*before, "before", recording->device),
                             bind_any(*after, "after", recording->device), {});
  });
}

std::size_t kiln_recording_kernel_count(const kiln_recording* recording) noexcept {
  return recording ? detail::kernels_of(*recording->graph) : 0;
}

void kiln_recording_destroy(kiln_recording* recording) noexcept { destroy_object(recording); }

}  // extern "C"
