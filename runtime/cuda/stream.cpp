// runtime/cuda/stream.cpp -- streams, events, capture queries.
#include "runtime/cuda/backend.h"
#include "runtime/cuda/relaxed_capture.h"
#include "runtime/stream_registry.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

CUstream native_stream(NativeStream stream) { return static_cast<CUstream>(stream); }
CUevent native_event(void* event) { return static_cast<CUevent>(event); }

}  // namespace

NativeStream CudaBackend::create_stream() {
  CUstream stream = nullptr;
  // Non-blocking: a library's stream must not be ordered against everybody's legacy default stream.
  check(in_context(*this, [&] { return driver().stream_create(&stream, CU_STREAM_NON_BLOCKING); }),
        "creating a stream");
  stream_created(stream);
  return stream;
}

void CudaBackend::destroy_stream(NativeStream stream) noexcept {
  if (!stream) return;
  try {
    // Its work is finished first: memory that it used is then free of it, and needs the handle no more.
    in_context(*this, [&] { return driver().stream_synchronize(native_stream(stream)); });
    drop_counters(stream);
    stream_destroyed(stream);
    in_context(*this, [&] { return driver().stream_destroy(native_stream(stream)); });
  } catch (const std::exception& error) {
    KILN_LOG(1, "cuda:{}: destroying a stream: {}", info_.id.index, error.what());
  }
}

void CudaBackend::synchronize(NativeStream stream) {
  check(in_context(*this, [&] { return driver().stream_synchronize(native_stream(stream)); }), "waiting for a stream");
}

void* CudaBackend::create_event() {
  CUevent event = nullptr;
  check(in_context(*this, [&] { return driver().event_create(&event, CU_EVENT_DEFAULT); }), "creating an event");
  return event;
}

void CudaBackend::destroy_event(void* event) noexcept {
  try {
    in_context(*this, [&] { return driver().event_destroy(native_event(event)); });
  } catch (const std::exception& error) {
    KILN_LOG(1, "cuda:{}: destroying an event: {}", info_.id.index, error.what());
  }
}

void CudaBackend::record_event(void* event, NativeStream stream) {
  check(in_context(*this, [&] { return driver().event_record(native_event(event), native_stream(stream)); }),
        "recording an event");
}

void CudaBackend::wait_event(NativeStream stream, void* event) {
  check(in_context(*this, [&] { return driver().stream_wait_event(native_stream(stream), native_event(event), 0); }),
        "making a stream wait");
}

void CudaBackend::synchronize_event(void* event) {
  check(in_context(*this, [&] { return driver().event_synchronize(native_event(event)); }), "waiting for an event");
}

float CudaBackend::elapsed_ms(void* begin, void* end) {
  float milliseconds = 0;
  check(
      in_context(*this, [&] { return driver().event_elapsed(&milliseconds, native_event(begin), native_event(end)); }),
      "reading the time between two events");
  return milliseconds;
}

float CudaBackend::elapsed_if_done(void* begin, void* end) {
  const RelaxedCapture relaxed;
  const CUresult result = in_context(*this, [&] { return driver().event_query(native_event(end)); });
  if (result == CUDA_ERROR_NOT_READY) return -1;
  check(result, "asking for an event");
  return elapsed_ms(begin, end);
}

bool CudaBackend::is_done(void* event) {
  const RelaxedCapture relaxed;
  const CUresult result = in_context(*this, [&] { return driver().event_query(native_event(event)); });
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "asking for an event");
  return true;
}

void CudaBackend::relax_captures() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().exchange_capture_mode(&mode);
}

void* CudaBackend::context_of(NativeStream stream) {
  CUcontext context = nullptr;
  const bool is_default = !stream || stream == legacy_stream || stream == per_thread_stream;
  const CUresult result = in_context(*this, [&] {
    return is_default ? driver().context_get_current(&context)
                      : driver().stream_context(native_stream(stream), &context);
  });
  return result == CUDA_SUCCESS ? context : nullptr;
}

void* CudaBackend::record_fence(NativeStream stream, void* context) {
  const ContextScope scope(*this);
  CUcontext current = nullptr;
  check(driver().context_get_current(&current), "reading the current context");
  const bool elsewhere = context && context != current;
  if (elsewhere) check(driver().context_push(static_cast<CUcontext>(context)), "entering the context of a stream");
  CUevent event = nullptr;
  CUresult result = driver().event_create(&event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) {
    result = driver().event_record(event, native_stream(stream));
    if (result != CUDA_SUCCESS) driver().event_destroy(event);
  }
  if (elsewhere) driver().context_pop(&current);
  check(result, "recording an event");
  return event;
}

bool CudaBackend::is_capturing(NativeStream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result =
      in_context(*this, [&] { return driver().stream_is_capturing(native_stream(stream), &status); });
  // The legacy stream cannot be asked while another stream captures in global mode: then a capture is going on.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  check(result, "asking whether a stream captures");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace kiln::runtime::cuda
