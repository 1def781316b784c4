// dsl/site.cpp -- publication of plans, and execute(): the entry of every call.
#include "dsl/site.h"

#include "dsl/bundled.h"
#include "dsl/drafting.h"
#include "dsl/infer.h"
#include "dsl/out_of_memory.h"
#include "dsl/planner.h"
#include "dsl/session.h"
#include "dsl/shapes.h"
#include "dsl/usage.h"
#include "runtime/activity.h"
#include "runtime/kernel_limit.h"
#include "support/check.h"
#include "support/float_environment.h"

namespace kiln::dsl {
namespace {

/// A default-constructed array has no shape to compute with.
void check_operands(const detail::Call& call) {
  for (unsigned i = 0; i < call.input_count; ++i) {
    if (call.inputs[i].layout) continue;
    fail<ShapeError>(
        "operand {} has no elements{}: it was default-constructed or moved from; give it a shape or assign to it first",
        i, place(call.where));
  }
}

/// A call of a traced function does not know its own line; the last one of the lambda stands in for it.
detail::Call with_place(const detail::Call& call, const Trace& trace) {
  detail::Call placed = call;
  if (!call.is_function || call.where.file) return placed;
  for (codegen::NodeId id = 0; id < trace.graph.size(); ++id) {
    const Where where = where_of(trace.graph, id);
    if (where.file) placed.where = where;
  }
  return placed;
}

std::unique_ptr<const Plan> plan_of(const Trace& trace, const detail::Call& call, runtime::DeviceId device,
                                    const Machine& machine, SpecializationList* known) {
  const detail::Call placed = with_place(call, trace);
  record_call(trace, placed, device);
  const PlannedCall planned = plan_call(trace, placed, device, machine);
  return finish(planned.draft, placed, planned.machine, known);
}

/// Notes what a call would launch; see OnlyRecording.
[[gnu::cold]] void only_record(SiteTable& table, const detail::Call& call) {
  check_operands(call);
  const std::shared_ptr<const Trace> trace = table.trace(call);
  record_call(*trace, with_place(call, *trace), device_of_call(call));
}

std::unique_ptr<const Plan> make_plan(SiteTable& table, const detail::Call& call) {
  const DefaultFloatEnvironment environment;  // constants are folded, and compilers compute, as at any other time
  const runtime::Planning planning((call.name ? call.name : "expression") + place(call.where));
  const runtime::DeviceId device = device_of_call(call);
  const Machine machine = machine_of(device);
  const std::shared_ptr<const Trace> trace = table.trace(call);
  SpecializationList* const known = call.group ? &SiteTable::of(*call.group).specializations : nullptr;
  try {
    return plan_of(*trace, call, device, machine, known);
  } catch (const ShapeError&) {
    // Expressions of one type share a site: record again, so that the message names this line and not the first one's.
    const std::shared_ptr<const Trace> fresh = record(call);
    return plan_of(*fresh, call, device, machine, known);
  }
}

}  // namespace

SiteTable& SiteTable::of(detail::Site& site) {
  void* table = __atomic_load_n(&site.table, __ATOMIC_ACQUIRE);
  if (table) [[likely]]
    return *static_cast<SiteTable*>(table);
  auto fresh = std::make_unique<SiteTable>();
  runtime::find_tool();  // the first table is made before the first launch
  void* expected = nullptr;
  if (__atomic_compare_exchange_n(&site.table, &expected, static_cast<void*>(fresh.get()), false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return *fresh.release();  // static sites are never freed
  return *static_cast<SiteTable*>(expected);
}

std::unique_ptr<const SiteTable::Entry> SiteTable::make_entry(const CallKey& key, std::shared_ptr<const Plan> plan) {
  auto entry = std::make_unique<Entry>();
  entry->hash = key.hash();
  entry->size = key.size();
  entry->words = std::make_unique<std::uint64_t[]>(key.size());
  std::memcpy(entry->words.get(), key.words(), key.size() * sizeof(std::uint64_t));
  entry->plan = std::move(plan);
  return entry;
}

const SiteTable::Entry* SiteTable::in_overflow(const CallKey& key) const {
  const auto [first, last] = overflow_.equal_range(key.hash());
  for (auto entry = first; entry != last; ++entry)
    if (entry->second->is(key)) return entry->second.get();
  return nullptr;
}

std::shared_ptr<const Plan> SiteTable::find_overflow(const CallKey& key) {
  if (!has_overflow_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const Entry* entry = in_overflow(key);
  return entry ? entry->plan : nullptr;
}

std::shared_ptr<const Plan> SiteTable::insert(const CallKey& key, std::shared_ptr<const Plan> plan) {
  const std::lock_guard lock(mutex_);
  for (unsigned probe = 0; probe < probes; ++probe) {
    std::atomic<const Entry*>& slot = slots_[(key.hash() + probe) % slot_count];
    const Entry* entry = slot.load(std::memory_order_relaxed);
    if (!entry) {
      slot.store(make_entry(key, plan).release(), std::memory_order_release);
      return plan;
    }
    if (entry->is(key)) return entry->plan;
  }
  if (const Entry* entry = in_overflow(key)) return entry->plan;
  const bool too_many_kernels = runtime::LoadedCount::now() > runtime::kernel_limit();
  if (overflow_.size() >= (too_many_kernels ? small_overflow_limit : overflow_limit)) overflow_.clear();
  overflow_.emplace(key.hash(), make_entry(key, plan));
  has_overflow_.store(true, std::memory_order_release);
  return plan;
}

SiteTable::~SiteTable() {
  for (std::atomic<const Entry*>& slot : slots_) delete slot.load(std::memory_order_acquire);
}

}  // namespace kiln::dsl

namespace kiln::detail {

Specializations* specializations(Site& group) { return dsl::SiteTable::of(group).specializations.list(); }

void seal(Site& group) { dsl::SiteTable::of(group).signatures.seal(); }

void destroy(Site& site) noexcept {
  delete static_cast<dsl::SiteTable*>(__atomic_exchange_n(&site.table, nullptr, __ATOMIC_ACQ_REL));
}

void execute(Site& site, const Call& call) try {
  dsl::SiteTable& table = dsl::SiteTable::of(site);
  if ((dsl::thread_state().only_recording | dsl::tracing) != 0) [[unlikely]] {
    table.check_not_tracing(call);
    dsl::only_record(table, call);
    return;
  }
  const dsl::CallKey key(call, dsl::current_device());
  if (const dsl::Plan* plan = table.find(key)) [[likely]] {
    dsl::run_plan(*plan, call);
    return;
  }
  std::shared_ptr<const dsl::Plan> plan = table.find_overflow(key);
  if (!plan) {
    dsl::check_operands(call);
    plan = table.insert(key, dsl::make_plan(table, call));
  }
  dsl::run_plan(*plan, call);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("plan or compile this call", call.where);
}

}  // namespace kiln::detail
