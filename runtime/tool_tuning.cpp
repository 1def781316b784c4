// runtime/tool_tuning.cpp -- records of tuning for the kiln command, and candidates imposed on plans.
#include "runtime/tool_tuning.h"

#include "runtime/background.h"
#include "runtime/tuning_control.h"
#include "runtime/tuning_session.h"
#include "runtime/tuning_store.h"

namespace kiln::tool {

std::vector<TunedKernel> tuned_kernels() {
  std::vector<TunedKernel> kernels;
  for (const runtime::TuningRecord& record : runtime::TuningStore::instance().records())
    kernels.push_back({record.key.kernel, record.name, record.key.device, record.key.multiprocessors, record.key.size,
                       record.choice, record.heuristic, record.key.any_order, record.choice_us, record.heuristic_us,
                       record.runs, record.date});
  return kernels;
}

std::string tuning_directory() { return runtime::TuningStore::instance().directory(); }
std::string export_tuning() { return runtime::TuningStore::instance().export_records(); }

TuningImport import_tuning(const std::string& text, bool keep) {
  const auto result = runtime::TuningStore::instance().import_records(text, keep);
  return {result.taken, result.known, result.rejected, result.unwritten};
}

std::size_t forget_tuning(const std::string& device) { return runtime::TuningStore::instance().forget(device); }

std::size_t kernels_being_tuned() { return runtime::TuningSession::undecided_sessions(); }
void finish_background_work() { runtime::wait_for_background(); }

ImposedCandidate::ImposedCandidate(int number, bool any_order) {
  runtime::most_candidates_seen = 0;
  runtime::imposed_any_order = any_order;
  runtime::imposed_candidate = number;
}
ImposedCandidate::~ImposedCandidate() { runtime::imposed_candidate = -1; }
int ImposedCandidate::candidates() { return runtime::most_candidates_seen; }

TuningAfresh::TuningAfresh() { runtime::tuning_afresh = true; }
TuningAfresh::~TuningAfresh() { runtime::tuning_afresh = false; }

}  // namespace kiln::tool
