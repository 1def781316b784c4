// runtime/stream_registry.h -- remembers destroyed streams, because arrays may outlive the stream that they were made
// on.
//
// Backends finish a stream's work before they destroy it, so memory whose stream is gone needs no ordering any more.
// Drivers reuse handles: a handle is forgotten here as soon as it is seen in use again.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

void stream_created(NativeStream stream);
void stream_destroyed(NativeStream stream);
/// `stream` is in use: a program may have made a stream of its own with the handle of a destroyed one.
void stream_seen(NativeStream stream);
bool stream_is_gone(NativeStream stream);

}  // namespace kiln::runtime
