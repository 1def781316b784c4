// dsl/tracing.h -- whether this thread runs a lambda of the user's to record it: arrays are not read or computed then.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::dsl {

/// > 0: it does. initial-exec: one load in every call.
extern constinit thread_local int tracing __attribute__((tls_model("initial-exec")));

/// While one lives, check_not_tracing() refuses on this thread.
class Tracing {
 public:
  Tracing() { ++tracing; }
  ~Tracing() { --tracing; }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

/// TypeError while a lambda of the user's is traced on this thread: what it does with the values of arrays then happens
/// once, and later calls repeat the kernel without it. `what` happens to an array: "read".
void check_not_tracing(const char* what, detail::Where where);

}  // namespace kiln::dsl
