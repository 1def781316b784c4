// dsl/c/inspection.h -- what a kiln_inspection is: one of the C++ interface, in the host's memory.
#pragma once

#include <kiln/inspect.h>

#include "dsl/c/host_memory.h"

struct kiln_inspection {
  kiln_inspection(const kiln::dsl::c::HostMemory& from, kiln::detail::Inspection* made) : memory(from), data(made) {}
  ~kiln_inspection() { kiln::detail::destroy(data); }
  kiln_inspection(const kiln_inspection&) = delete;
  kiln_inspection& operator=(const kiln_inspection&) = delete;
  kiln::dsl::c::HostMemory memory;
  kiln::detail::Inspection* data;
};

namespace kiln::dsl::c {

/// Takes over `made`.
inline kiln_inspection* hand_out(detail::Inspection* made) {
  try {
    return make_object<kiln_inspection>(made);
  } catch (...) {
    detail::destroy(made);
    throw;
  }
}

}  // namespace kiln::dsl::c
