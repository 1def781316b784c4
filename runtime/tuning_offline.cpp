// runtime/tuning_offline.cpp -- buffers, candidates and the trial of a tuning job.
#include "runtime/tuning_offline.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "runtime/tuning_trial.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

/// In every floating type a number between 0.0001 and 2.
constexpr unsigned char filling = 0x3f;
constexpr std::size_t chunk_bytes = std::size_t{16} << 20;

/// The memory of a job, and events.
class Bench {
 public:
  Bench(const TuningJob& job, Backend& backend)
      : job_(job), backend_(backend), stream_(backend.create_stream()), block_(job.image) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    for (void* const event : {begin_, end_})
      if (event) backend_.destroy_event(event);
    for (void* const memory : memory_) backend_.release(memory, stream_);
    backend_.destroy_stream(stream_);
  }

  void prepare() {
    for (const TuningJob::Buffer& buffer : job_.buffers) point(buffer.at, allocate(buffer.bytes), buffer.offset);
    std::uint64_t workspace = 0;
    std::uint32_t counters = 0;
    for (const TuningJob::Candidate& candidate : job_.candidates) {
      workspace = std::max(workspace, candidate.shape.workspace_bytes);
      counters = std::max(counters, candidate.shape.counters);
    }
    if (workspace > 0) point(static_cast<std::uint32_t>(job_.workspace_at), allocate(workspace), 0);
    if (counters > 0)
      point(static_cast<std::uint32_t>(job_.counters_at), backend_.zeroed_counters(counters, stream_).memory, 0);
    begin_ = backend_.create_event();
    end_ = backend_.create_event();
  }

  /// Behind a run of the heuristic, so that the launch is already waiting when its turn comes.
  double microseconds(const LoadedKernel& first, const LoadedKernel& kernel, const LaunchShape& shape) {
    launch(first, job_.candidates[0].shape);
    backend_.record_event(begin_, stream_);
    launch(kernel, shape);
    backend_.record_event(end_, stream_);
    backend_.synchronize_event(end_);
    return 1e3 * static_cast<double>(backend_.elapsed_ms(begin_, end_));
  }

 private:
  void launch(const LoadedKernel& kernel, const LaunchShape& shape) {
    backend_.launch(kernel, shape, block_.data(), block_.size(), stream_);
  }
  void point(std::uint32_t at, void* memory, std::uint64_t offset) {
    char* const address = static_cast<char*>(memory) + offset;
    std::memcpy(block_.data() + at, &address, sizeof address);
  }
  void* allocate(std::uint64_t bytes) {
    static const std::vector<unsigned char> content(chunk_bytes, filling);
    memory_.push_back(backend_.allocate(bytes, stream_));
    char* const memory = static_cast<char*>(memory_.back());
    for (std::uint64_t done = 0; done < bytes; done += chunk_bytes)
      backend_.copy(memory + done, content.data(), std::min<std::uint64_t>(chunk_bytes, bytes - done),
                    Backend::Copy::host_to_device, stream_);
    return memory;
  }

  const TuningJob& job_;
  Backend& backend_;
  NativeStream stream_;
  std::vector<std::uint8_t> block_;
  std::vector<void*> memory_;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace

std::optional<TuningRecord> tune_offline(const TuningJob& job, Backend& backend, std::string& why_not) {
  Trial trial(job.candidates.size(), {});
  std::vector<std::shared_ptr<const LoadedKernel>> kernels(job.candidates.size());
  std::vector<std::shared_ptr<const Binary>> binaries;
  for (std::size_t c = 0; c < kernels.size(); ++c) {
    try {
      binaries.push_back(cached_binary(job.candidates[c].source, job.options));
      kernels[c] = backend.load(*binaries.back(), job.candidates[c].source);
    } catch (const std::exception& error) {
      if (c == 0) throw;
      KILN_LOG(2, "tuning {}: {} is out: {}", job.name, job.candidates[c].name, error.what());
      trial.drop(c);
    }
  }
  Bench bench(job, backend);
  bench.prepare();
  while (!trial.is_decided()) {
    if (trial.is_too_short()) {
      why_not = "a launch takes as long as the kernel";
      return std::nullopt;
    }
    if (trial.knows_heuristic()) trial.allow_candidates();
    const int next = trial.next();
    if (next == Trial::none) break;
    const auto c = static_cast<std::size_t>(next);
    try {
      trial.add(c, bench.microseconds(*kernels[0], *kernels[c], job.candidates[c].shape));
    } catch (const std::exception& error) {
      if (c == 0) throw;
      KILN_LOG(2, "tuning {}: {} is out: {}", job.name, job.candidates[c].name, error.what());
      trial.drop(c);
    }
  }
  TuningRecord record;
  record.key = job.key;
  record.key.device = backend.info().name;
  record.key.multiprocessors = backend.info().multiprocessors;
  record.choice = job.candidates[trial.winner()].name;
  record.heuristic = job.candidates[0].name;
  record.choice_us = trial.winner_us();
  record.heuristic_us = trial.heuristic_us();
  record.runs = trial.runs();
  record.date = std::time(nullptr);
  record.name = job.name;
  return record;
}

}  // namespace kiln::runtime
