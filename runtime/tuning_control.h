// runtime/tuning_control.h -- what tests and the offline tuner impose on plans that are made meanwhile.
#pragma once

#include <atomic>

namespace kiln::runtime {

/// >= 0: kernels are planned with this one of their candidates (0: the heuristic's schedule), whatever is known of
/// them and however small they are; nothing is tuned. Kernels that have fewer keep the heuristic's schedule.
inline constinit std::atomic<int> imposed_candidate{-1};
inline constinit std::atomic<bool> imposed_any_order{false};
inline constinit std::atomic<unsigned> imposed_most{12};
/// Candidates of the kernel that had most of them, since it was last set to 0.
inline constinit std::atomic<int> most_candidates_seen{0};
/// Records are not looked at; tuning begins at the first call of a kernel.
inline constinit std::atomic<bool> tuning_afresh{false};

}  // namespace kiln::runtime
