// dsl/site.h -- the table of one site: from the key of a call to its plan, read without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "dsl/call_key.h"
#include "dsl/plan.h"
#include "dsl/specializations.h"
#include "dsl/trace.h"
#include "dsl/tracing.h"
#include "support/fork_safe.h"

namespace kiln::dsl {

class SiteTable {
 public:
  SiteTable() = default;
  ~SiteTable();
  SiteTable(const SiteTable&) = delete;
  SiteTable& operator=(const SiteTable&) = delete;

  /// The table of `site`, made at first use.
  static SiteTable& of(detail::Site& site);

  /// One acquire load per probe. Null on a miss. The plan lives as long as the table.
  const Plan* find(const CallKey& key) const {
    for (unsigned probe = 0; probe < probes; ++probe) {
      const Entry* entry = slots_[(key.hash() + probe) % slot_count].load(std::memory_order_acquire);
      if (!entry) return nullptr;
      if (entry->is(key)) return entry->plan.get();
    }
    return nullptr;
  }
  /// Plans beyond the table, kept alive by the result.
  std::shared_ptr<const Plan> find_overflow(const CallKey& key);

  /// Publishes `plan`; when another thread was first, its plan is returned and this one dropped.
  std::shared_ptr<const Plan> insert(const CallKey& key, std::shared_ptr<const Plan> plan);

  /// The trace of a call of this site; TypeError where it belongs to a sealed function that has none.
  std::shared_ptr<const Trace> trace(const detail::Call& call) {
    return traces_.get(call, call.group ? &of(*call.group).signatures : nullptr);
  }

  /// TypeError inside of a trace, where nothing may be computed.
  void check_not_tracing(const detail::Call& call) const {
    traces_.check_not_recording(call);
    dsl::check_not_tracing("computed or written", call.where);
  }

  Signatures signatures;               ///< where the site is that of a function
  SpecializationList specializations;  ///< the same

 private:
  Traces traces_;
  static constexpr unsigned slot_count = 64, probes = 8;
  /// Shapes that change on every call would grow the map without end; it starts over at this size.
  static constexpr std::size_t overflow_limit = 4096;
  /// The same where the process has more kernels than its limit: plans keep theirs loaded.
  static constexpr std::size_t small_overflow_limit = 128;

  struct Entry {
    std::uint64_t hash = 0;
    unsigned size = 0;
    std::unique_ptr<std::uint64_t[]> words;
    std::shared_ptr<const Plan> plan;
    bool is(const CallKey& key) const { return hash == key.hash() && key.equals(words.get(), size); }
  };
  static std::unique_ptr<const Entry> make_entry(const CallKey& key, std::shared_ptr<const Plan> plan);
  const Entry* in_overflow(const CallKey& key) const;

  std::atomic<const Entry*> slots_[slot_count] = {};
  std::atomic<bool> has_overflow_ = false;
  ForkSafeMutex mutex_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<const Entry>> overflow_;  ///< by hash
};

}  // namespace kiln::dsl
