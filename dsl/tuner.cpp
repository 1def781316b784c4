// dsl/tuner.cpp -- identities of tuned kernels, sessions by identity, and the schedules that records name.
#include "dsl/tuner.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/loaded_bundles.h"
#include "runtime/tuning_control.h"
#include "runtime/tuning_store.h"
#include "support/env.h"
#include "support/fork_safe.h"
#include "support/hash.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

constexpr std::int64_t least_bytes = std::int64_t{4} << 20;  // below, a launch takes longer than the kernel
constexpr std::size_t longest_body = 1000;                   // operations: compiling candidates would take minutes
constexpr std::size_t most_candidates = 12, most_exhaustive = 64;
constexpr std::size_t most_sessions = 512;
constexpr unsigned exhaustive_runs = 15;

enum class Mode : std::uint8_t { off, online, exhaustive };

/// Read at each plan, so that tests may change it.
Mode mode() {
  const std::string mode = setting("KILN_TUNE");
  if (mode == "off") return Mode::off;
  if (mode == "full") {
    warn_once(
        "KILN_TUNE=full: schedules that join elements in other orders are tried, too; floating reductions may differ "
        "in their last bits from call to call until they are tuned");
    return Mode::exhaustive;
  }
  if (mode != "on") warn_once(fmt::format("KILN_TUNE={} is none of off, on and full; taking on", mode));
  return Mode::online;
}

std::string identity(const codegen::Kernel& kernel, const codegen::Schedule& schedule, const Machine& machine,
                     const CodeFlags& flags) {
  const std::string text =
      fmt::format("{} contract {} fast {}\n{} {}\n{}", machine.arch, flags.contract, flags.fast_math, schedule.key(),
                  codegen::candidate_name(schedule), codegen::kernel_key(kernel));
  return to_hex(blake3(text));
}

struct Sessions {
  ForkSafeMutex mutex;
  std::unordered_map<std::string, std::shared_ptr<runtime::TuningSession>> sessions;
};

constinit Leaked<Sessions> the_sessions;
Sessions& sessions() { return the_sessions.get(); }

runtime::TuningSession::Setup setup_of(const DraftKernel& draft, const Machine& machine, const CodeFlags& flags,
                                       const std::shared_ptr<const CompiledKernel>& compiled) {
  runtime::TuningSession::Setup setup;
  setup.key = draft.tunable->key;
  setup.name = compiled->source.entry;
  setup.backend = &runtime::backend(machine.device);
  setup.bytes = static_cast<double>(draft.bytes_moved);
  setup.heuristic = {compiled->loaded.get(), compiled};
  if (runtime::tuning_afresh) setup.calls_before = 0;
  if (setup.key.any_order) {
    setup.rules.first_runs = exhaustive_runs;
    setup.rules.finalists = most_exhaustive;
    setup.rules.only_candidates = true;
  }
  const auto kernel = std::make_shared<const codegen::Kernel>(draft.kernel);
  for (const codegen::Candidate& candidate : draft.tunable->candidates) {
    setup.candidates.push_back({candidate.name, [kernel, schedule = candidate.schedule, machine, flags] {
                                  const auto built = compiled_kernel(*kernel, schedule, machine, flags);
                                  return runtime::TuningSession::Built{built->loaded.get(), built};
                                }});
  }
  return setup;
}

bool has_candidates(const runtime::TuningSession& session, const std::vector<codegen::Candidate>& candidates) {
  if (session.candidates().size() != candidates.size()) return false;
  for (std::size_t c = 0; c < candidates.size(); ++c)
    if (session.candidates()[c].name != candidates[c].name) return false;
  return true;
}

/// Those that need no memory which the plan does not have.
std::vector<codegen::Candidate> candidates_of(const DraftKernel& draft, const Machine& machine, std::size_t most,
                                              bool any_order) {
  std::vector<codegen::Candidate> candidates =
      codegen::tuning_candidates(draft.kernel, draft.extents, draft.schedule, machine.traits, most, any_order);
  if (candidates.empty()) return candidates;
  const LaunchShape usual = codegen::launch_shape(draft.kernel, draft.schedule, draft.extents);
  std::erase_if(candidates, [&](const codegen::Candidate& candidate) {
    const LaunchShape shape = codegen::launch_shape(draft.kernel, candidate.schedule, draft.extents);
    const bool has_more = any_order ? (shape.workspace_bytes > 0) != (usual.workspace_bytes > 0)
                                    : shape.workspace_bytes > usual.workspace_bytes;
    return has_more || (shape.counters > 0) != (usual.counters > 0);
  });
  return candidates;
}

/// The schedule that won, where that is known.
void take_record(DraftKernel& draft) {
  if (runtime::tuning_afresh) return;
  runtime::looks_in_bundles();  // opens them: they bring results of tuning
  std::optional<runtime::TuningRecord> record = runtime::TuningStore::instance().find(draft.tunable->key);
  if (!record) return;
  for (const codegen::Candidate& candidate : draft.tunable->candidates) {
    if (candidate.name != record->choice) continue;  // of another version: no candidate any more
    draft.schedule = candidate.schedule;
    draft.schedule.reason += "; " + tuning_text(*record);
    draft.tunable->record = std::move(record);
    return;
  }
}

/// For tests and sweeps.
void impose(DraftKernel& draft, const Machine& machine, int number) {
  const std::vector<codegen::Candidate> candidates =
      candidates_of(draft, machine, runtime::imposed_most, runtime::imposed_any_order);
  const int count = static_cast<int>(candidates.size());
  if (count > runtime::most_candidates_seen) runtime::most_candidates_seen = count;
  if (number < count) draft.schedule = candidates[static_cast<std::size_t>(number)].schedule;
  draft.schedule.reason += fmt::format("; candidate {} imposed", number);
}

}  // namespace

void apply_tuning(DraftKernel& draft, const Machine& machine, const CodeFlags& flags) {
  if (const int number = runtime::imposed_candidate; number >= 0) return impose(draft, machine, number);
  if (!machine.traits.cuda || machine.name.empty() || draft.bytes_moved < least_bytes) return;
  if (draft.kernel.body.size() > longest_body) return;
  const bool any_order = mode() == Mode::exhaustive;
  auto tunable = std::make_shared<Tunable>();
  tunable->candidates = candidates_of(draft, machine, any_order ? most_exhaustive : most_candidates, any_order);
  if (tunable->candidates.size() < 2) return;
  tunable->heuristic = draft.schedule;
  tunable->key.kernel = identity(draft.kernel, draft.schedule, machine, flags);
  tunable->key.size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(draft.bytes_moved))) - 1;
  tunable->key.device = machine.name;
  tunable->key.multiprocessors = machine.traits.multiprocessors;
  tunable->key.any_order = any_order;
  draft.tunable = std::move(tunable);
  take_record(draft);
}

std::shared_ptr<const LaunchTuning> join_tuning(const DraftKernel& draft, const Machine& machine,
                                                const CodeFlags& flags,
                                                const std::shared_ptr<const CompiledKernel>& compiled,
                                                LaunchShape& shape) {
  if (!draft.tunable || draft.tunable->record || mode() == Mode::off) return nullptr;
  auto tuning = std::make_shared<LaunchTuning>();
  {
    const std::string name = fmt::format("{} {}", machine.device.index, draft.tunable->key.digest());
    const std::lock_guard lock(sessions().mutex);
    std::shared_ptr<runtime::TuningSession>& session = sessions().sessions[name];
    if (runtime::tuning_afresh && session && session->decided() != runtime::TuningSession::undecided) session = nullptr;
    if (!session) {
      if (sessions().sessions.size() > most_sessions) {
        sessions().sessions.erase(name);
        return nullptr;
      }
      session = std::make_shared<runtime::TuningSession>(setup_of(draft, machine, flags, compiled));
    }
    tuning->session = session;
  }
  if (!has_candidates(*tuning->session, draft.tunable->candidates)) return nullptr;
  for (const codegen::Candidate& candidate : draft.tunable->candidates) {
    tuning->shapes.push_back(codegen::launch_shape(draft.kernel, candidate.schedule, draft.extents));
    shape.counters = std::max(shape.counters, tuning->shapes.back().counters);
    shape.workspace_bytes = std::max(shape.workspace_bytes, tuning->shapes.back().workspace_bytes);
  }
  return tuning;
}

std::string tuning_text(const runtime::TuningRecord& record) {
  if (record.choice == record.heuristic)
    return fmt::format("tuned on {}: nothing was faster than {:.2f} us", record.key.device, record.choice_us);
  return fmt::format("tuned on {}: {:.2f} us, {:.2f} us without", record.key.device, record.choice_us,
                     record.heuristic_us);
}

}  // namespace kiln::dsl
