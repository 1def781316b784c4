// dsl/explain.h -- what explain() says: kernels, schedules, bytes moved against the least possible, reasons.
#pragma once

#include <span>
#include <string>

#include <kiln/inspect.h>

#include "dsl/draft.h"

namespace kiln::dsl {

/// `infos[k]` belongs to kernel `k` of the draft.
std::string explain(const Draft& draft, const detail::Call& call, const Machine& machine,
                    std::span<const KernelInfo> infos);

/// Resident threads over the multiprocessor's maximum, limited by registers, shared memory and blocks; -1 where the
/// compiler told no registers. `shared_bytes`: static and dynamic.
double occupancy(int registers, unsigned block, std::uint64_t shared_bytes, const codegen::DeviceTraits& traits);

}  // namespace kiln::dsl
