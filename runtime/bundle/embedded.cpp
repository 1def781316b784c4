// runtime/bundle/embedded.cpp -- the list of embedded bundles.
#include "runtime/bundle/embedded.h"

#include <atomic>

namespace {

// Initialised before any code runs, so that objects may register in any order.
constinit std::atomic<const kiln_embedded_bundle*> newest{nullptr};

}  // namespace

void kiln_register_bundle(kiln_embedded_bundle* bundle) noexcept {
  const kiln_embedded_bundle* next = newest.load(std::memory_order_relaxed);
  do {
    bundle->next = next;
  } while (!newest.compare_exchange_weak(next, bundle, std::memory_order_release, std::memory_order_relaxed));
}

namespace kiln::runtime {

const kiln_embedded_bundle* embedded_bundles() noexcept { return newest.load(std::memory_order_acquire); }

}  // namespace kiln::runtime
