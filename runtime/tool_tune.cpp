// runtime/tool_tune.cpp -- runs the tuning jobs of a trace one after another.
#include "runtime/tool_tune.h"

#include <algorithm>

#include <kiln/error.h>

#include "runtime/tuning_offline.h"
#include "runtime/tuning_store.h"
#include "support/check.h"
#include "support/files.h"

namespace kiln::tool {
namespace {

constexpr std::uint64_t largest_job = std::uint64_t{64} << 20;

std::vector<std::string> jobs_in(const std::string& directory) {
  std::vector<files::Entry> entries;
  if (const int error = files::list(directory, entries))
    fail<IoError>(
        "{}: {}; run the program with KILN_RECORD on a machine with a GPU first, and give the name of the trace",
        directory, files::error_text(error));
  std::vector<std::string> paths;
  for (const files::Entry& entry : entries)
    if (!entry.directory && entry.name.ends_with(".job")) paths.push_back(directory + "/" + entry.name);
  if (paths.empty()) fail<IoError>("{} holds no kernels to tune", directory);
  std::sort(paths.begin(), paths.end());
  return paths;
}

OfflineTuning run(const std::string& path, runtime::Backend& backend, bool again) {
  OfflineTuning result;
  result.file = path;
  result.serious = true;
  std::string text;
  runtime::TuningJob job;
  if (const int error = files::read_private(path, {.limit = largest_job}, text)) {
    result.problem = files::error_text(error);
    return result;
  }
  if (!runtime::parse_job(text, job, result.problem)) return result;
  result.name = job.name;
  result.serious = false;
  if (job.options.arch != backend.info().arch) {
    result.problem = fmt::format("it was recorded for {}, and this is {}", job.options.arch, backend.info().arch);
    return result;
  }
  runtime::TuningKey key = job.key;
  key.device = backend.info().name;
  key.multiprocessors = backend.info().multiprocessors;
  std::optional<runtime::TuningRecord> record;
  if (!again) record = runtime::TuningStore::instance().find(key);
  result.was_known = record.has_value();
  if (!record) {
    record = runtime::tune_offline(job, backend, result.problem);
    if (!record) return result;
    result.is_kept = runtime::TuningStore::instance().publish(*record);
  }
  result.problem.clear();
  result.choice = record->choice, result.heuristic = record->heuristic;
  result.choice_us = record->choice_us, result.heuristic_us = record->heuristic_us;
  return result;
}

}  // namespace

void tune_offline(const std::string& trace, bool again,
                  const std::function<void(const OfflineTuning&, std::size_t, std::size_t)>& take) {
  const std::vector<std::string> paths = jobs_in(trace + ".tuning");
  const runtime::DeviceId device = runtime::default_device();
  if (device.kind != runtime::DeviceKind::cuda)
    fail<DeviceError>("kernels are tuned on a GPU, and the default device is the CPU: {}",
                      runtime::unavailable_reason(runtime::DeviceKind::cuda));
  runtime::Backend& backend = runtime::backend(device);
  backend.bind_thread();
  const runtime::TuningStore& store = runtime::TuningStore::instance();
  if (const std::string reason = store.why_unwritable(); !reason.empty())
    fail<IoError>("results of tuning cannot be kept{}{}: {}; set KILN_CACHE_DIR to a directory of yours",
                  store.directory().empty() ? "" : " in ", store.directory(), reason);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    OfflineTuning result;
    try {
      result = run(paths[i], backend, again);
    } catch (const std::exception& error) {
      result.file = paths[i];
      result.problem = error.what();
      result.serious = true;
    }
    take(result, i + 1, paths.size());
  }
}

}  // namespace kiln::tool
