// runtime/cuda/relaxed_capture.h -- a scope in which this thread may do what captures of other threads would forbid.
#pragma once

#include "runtime/cuda/driver_api.h"

namespace kiln::runtime::cuda {

/// Loading kernels and asking about events are allowed while another thread captures a graph only in relaxed mode, and
/// would end that capture otherwise; the thread's own mode is put back.
class RelaxedCapture {
 public:
  RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { driver().exchange_capture_mode(&mode_); }

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace kiln::runtime::cuda
