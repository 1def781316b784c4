// runtime/tuning_interface.cpp -- kiln/tuning.h: records as programs see them, and candidates imposed on plans.
#include <kiln/tuning.h>

#include "runtime/background.h"
#include "runtime/tuning_control.h"
#include "runtime/tuning_session.h"
#include "runtime/tuning_store.h"

namespace kiln::tuning {

namespace {

template <std::size_t N>
void copy(char (&to)[N], const std::string& from) {
  from.copy(to, N - 1);  // the rest is zero
}

}  // namespace

std::vector<TunedKernel> records() {
  std::vector<TunedKernel> kernels;
  for (const runtime::TuningRecord& record : runtime::TuningStore::instance().records()) {
    TunedKernel& kernel = kernels.emplace_back();
    copy(kernel.kernel, record.key.kernel);
    copy(kernel.name, record.name);
    copy(kernel.device, record.key.device);
    copy(kernel.choice, record.choice);
    copy(kernel.heuristic, record.heuristic);
    kernel.multiprocessors = record.key.multiprocessors;
    kernel.size = record.key.size;
    kernel.any_order = record.key.any_order;
    kernel.choice_us = record.choice_us;
    kernel.heuristic_us = record.heuristic_us;
    kernel.runs = record.runs;
    kernel.date = record.date;
  }
  return kernels;
}

std::vector<char> export_records() {
  const std::string text = runtime::TuningStore::instance().export_records();
  return {text.begin(), text.end()};
}

Import import_records(std::span<const char> text, bool keep) {
  const auto result = runtime::TuningStore::instance().import_records({text.data(), text.size()}, keep);
  return {result.taken, result.known, result.rejected, result.unwritten};
}

std::size_t forget(const char* device) { return runtime::TuningStore::instance().forget(device); }

std::size_t undecided_kernels() { return runtime::TuningSession::undecided_sessions(); }
void finish_compiling() { runtime::wait_for_background(); }

ImposedCandidate::ImposedCandidate(int number, bool any_order, unsigned most) {
  runtime::most_candidates_seen = 0;
  runtime::imposed_any_order = any_order;
  runtime::imposed_most = most;
  runtime::imposed_candidate = number;
}
ImposedCandidate::~ImposedCandidate() { runtime::imposed_candidate = -1; }
int ImposedCandidate::candidates() { return runtime::most_candidates_seen; }

Afresh::Afresh() { runtime::tuning_afresh = true; }
Afresh::~Afresh() { runtime::tuning_afresh = false; }

}  // namespace kiln::tuning
