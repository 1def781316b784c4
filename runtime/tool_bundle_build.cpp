// runtime/tool_bundle_build.cpp -- which recorded kernels to compile for which targets, and the compiles.
#include "runtime/tool_bundle_build.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/choose.h"
#include "runtime/bundle_difference.h"
#include "runtime/cuda_interface.h"
#include "runtime/gpu_target.h"
#include "runtime/kernel_identity.h"
#include "runtime/record_file.h"
#include "runtime/runtime.h"
#include "runtime/tuning_record.h"
#include "support/check.h"
#include "support/progress.h"

namespace kiln::tool {
namespace {

using runtime::GpuArch;
using runtime::RecordedKernel;

struct Target {
  std::string name;      ///< as bundles spell it
  std::string arch;      ///< CompileOptions::arch
  std::string recorded;  ///< the target of the records whose plans it takes
};

/// One compile and its result.
struct Job {
  const RecordedKernel* kernel = nullptr;
  const Target* target = nullptr;
  runtime::Binary binary;
};

std::optional<GpuArch> real_arch(const std::string& name) {
  std::optional<GpuArch> arch = runtime::parse_gpu_arch(name);
  return arch && !arch->is_virtual ? arch : std::nullopt;
}

/// The latest GPU of the records that is not beyond `number`; empty if there is none.
std::string recorded_for(int number, const std::vector<RecordedKernel>& kernels) {
  int best = 0;
  for (const RecordedKernel& kernel : kernels)
    for (const std::string& target : kernel.targets)
      if (const auto arch = real_arch(target); arch && arch->number <= number) best = std::max(best, arch->number);
  return best ? fmt::format("sm_{}", best) : "";
}

/// "ptx_80" is how listings spell it.
std::optional<GpuArch> parse_arch(const std::string& name, bool is_ptx) {
  const std::string spelled = is_ptx && name.starts_with("ptx_") ? "compute_" + name.substr(4) : name;
  std::optional<GpuArch> arch = runtime::parse_gpu_arch(spelled);
  return arch && (is_ptx || !arch->is_virtual) ? arch : std::nullopt;
}

Target gpu_target(const std::string& name, bool is_ptx, const std::vector<RecordedKernel>& kernels) {
  const std::optional<GpuArch> arch = parse_arch(name, is_ptx);
  if (!arch)
    fail<DeviceError>("'{}' is no GPU architecture to make {} for; write {}", name, is_ptx ? "PTX" : "machine code",
                      is_ptx ? "--ptx sm_80" : "--arch sm_90 or --arch sm_90a");
  Target target;
  target.name = fmt::format("{}_{}{}", is_ptx ? "ptx" : "sm", arch->number, arch->suffix);
  target.arch = fmt::format("{}_{}{}", is_ptx ? "compute" : "sm", arch->number, arch->suffix);
  target.recorded = recorded_for(arch->number, kernels);
  return target;
}

Target cpu_target(const std::string& name) {
  const std::string_view features = runtime::cpu_target_features(name);
  if (features.empty())
    fail<DeviceError>("'{}' is no CPU to make code for; write --cpu x86-64-v2, x86-64-v3, x86-64-v4 or aarch64", name);
  return {name, std::string(features), name};
}

std::vector<Target> targets_of(const BundleRequest& request, const std::vector<RecordedKernel>& kernels) {
  std::vector<Target> targets;
  const auto add = [&](Target target) {
    const bool known =
        std::any_of(targets.begin(), targets.end(), [&](const Target& t) { return t.name == target.name; });
    if (!known) targets.push_back(std::move(target));
  };
  for (const std::string& name : request.archs) add(gpu_target(name, false, kernels));
  for (const std::string& name : request.ptx) add(gpu_target(name, true, kernels));
  for (const std::string& name : request.cpus) add(cpu_target(name));
  if (targets.empty())
    fail<DeviceError>("nothing to build a bundle for; write --arch sm_80,sm_90, --ptx sm_80 or --cpu x86-64-v3");
  return targets;
}

std::vector<Job> jobs_of(const std::vector<RecordedKernel>& kernels, const std::vector<Target>& targets) {
  std::vector<Job> jobs;
  for (const RecordedKernel& kernel : kernels)
    for (const Target& target : targets)
      if (std::find(kernel.targets.begin(), kernel.targets.end(), target.recorded) != kernel.targets.end())
        jobs.push_back({&kernel, &target, {}});
  return jobs;
}

/// The compiler's error, with the kernel's origin before it.
[[noreturn]] void fail_job(const Job& job, const char* what) {
  fail<CompileError>("{}, used by {}, cannot be built for {}:\n{}", job.kernel->source.entry, job.kernel->place,
                     job.target->name, what);
}

/// A compiler that does not know the architecture makes PTX for the latest one that it knows.
void check_target(const Job& job) {
  const std::string& name = job.target->name;
  const std::string_view image(job.binary.image.data(), job.binary.image.size());
  const bool is_ptx = name.starts_with("ptx_");
  if (job.binary.is_ptx == is_ptx &&
      (!is_ptx || image.find(fmt::format(".target sm_{}", name.substr(4))) != image.npos))
    return;
  fail_job(job,
           fmt::format("{} does not know this architecture; use a later NVRTC (KILN_NVRTC) or another architecture",
                       job.binary.compiler)
               .c_str());
}

void compile(Job& job) {
  CompileOptions options = job.kernel->options;
  options.arch = job.target->arch;
  try {
    job.binary = runtime::compile(job.kernel->source, options);
  } catch (const CompileError& error) {
    fail_job(job, error.what());
  }
  if (job.kernel->source.language == Language::cuda) check_target(job);
}

/// All jobs on several threads. The first failure, in the order of the jobs, is thrown when all threads are done.
void compile_all(std::vector<Job>& jobs, unsigned threads) {
  Progress progress("building a bundle", "image", jobs.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed = jobs.size();
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      try {
        compile(jobs[i]);
        progress.advance(fmt::format("{} for {}", jobs[i].kernel->source.entry, jobs[i].target->name));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < failed) {
          failed = i;
          failure = std::current_exception();
        }
        next = jobs.size();
      }
    }
  };
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < std::min<std::size_t>(threads, jobs.size()); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

void add(runtime::BundleWriter& writer, const Job& job) {
  const RecordedKernel& kernel = *job.kernel;
  const std::string title = runtime::bundle_text(kernel.title.empty() ? kernel.source.entry : kernel.title);
  const std::string options = runtime::bundle_text(runtime::options_text(kernel.options));
  const std::string compiler = runtime::bundle_text(job.binary.compiler);
  runtime::BundleKernel entry;
  entry.identity = kernel.identity;
  entry.identity_version = runtime::kernel_identity_version;
  entry.target = job.target->name;
  entry.kind = *runtime::kind_of_target(job.target->name);
  entry.entry = job.binary.entry;
  entry.title = title;
  entry.options = options;
  entry.compiler = compiler;
  entry.registers = job.binary.registers;
  entry.spill_bytes = job.binary.spill_bytes;
  entry.shared_bytes = job.binary.shared_bytes;
  entry.local_bytes = job.binary.local_bytes;
  writer.add(entry, {job.binary.image.data(), job.binary.image.size()});
}

std::vector<runtime::TuningRecord> read_tunings(const std::vector<std::string>& paths, BundleBuilt& built) {
  std::vector<runtime::TuningRecord> all;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) fail<IoError>("{} cannot be read", path);
    std::size_t rejected = 0;
    const std::vector<runtime::TuningRecord> records = runtime::parse_records(text, rejected);
    if (records.empty() && rejected > 0) fail<IoError>("{} is nothing that `kiln tune export` wrote", path);
    if (rejected > 0)
      built.notes.push_back(fmt::format("{}: {} of tuning not understood", path,
                                        rejected == 1 ? "1 line" : fmt::format("{} lines", rejected)));
    all.insert(all.end(), records.begin(), records.end());
  }
  runtime::merge_records(all);  // sorts them by device
  return all;
}

/// Results of tuning, one text per kind of device.
void add_tunings(runtime::BundleWriter& writer, const std::vector<runtime::TuningRecord>& records) {
  for (auto first = records.begin(); first != records.end();) {
    const runtime::TuningKey& key = first->key;
    const auto end = std::find_if(first, records.end(), [&](const runtime::TuningRecord& record) {
      return record.key.device != key.device || record.key.multiprocessors != key.multiprocessors;
    });
    std::string text;
    for (auto record = first; record != end; ++record) text += runtime::to_line(*record);
    writer.add({key.device, key.multiprocessors, text});
    first = end;
  }
}

std::set<Digest> identities_of(const std::vector<Job>& jobs) {
  std::set<Digest> identities;
  for (const Job& job : jobs) identities.insert(job.kernel->identity);
  return identities;
}

/// By any name: a link to it is the same file.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

/// "" or which of the inputs the output would replace.
std::string overwriting(const BundleRequest& request) {
  for (const auto* const inputs : {&request.records, &request.tunings})
    for (const std::string& input : *inputs)
      if (is_same_file(input, request.output)) return fmt::format("-o {} would overwrite {}", request.output, input);
  return "";
}

}  // namespace

std::string problem_of(const BundleRequest& request) {
  try {
    targets_of(request, {});
  } catch (const DeviceError& error) {
    return error.what();
  }
  return overwriting(request);
}

BundleBuilt build_bundle(const BundleRequest& request) {
  if (const std::string problem = overwriting(request); !problem.empty()) fail<IoError>("{}", problem);
  runtime::RecordSet records;
  for (const std::string& path : request.records) records.add_file(path);
  const std::vector<Target> targets = targets_of(request, records.kernels());
  std::vector<Job> jobs = jobs_of(records.kernels(), targets);
  BundleBuilt built;
  const std::vector<runtime::TuningRecord> tunings = read_tunings(request.tunings, built);
  built.unfinished = records.unfinished();
  for (const Target& target : targets) {
    const bool used = std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) { return job.target == &target; });
    if (!used)
      fail<IoError>("{}: nothing is recorded for {}; leave it out, or record a run whose kernels it can have",
                    fmt::join(request.records, ", "), target.name);
  }
  compile_all(jobs, request.jobs);
  runtime::BundleWriter writer;
  for (const Job& job : jobs) add(writer, job);
  add_tunings(writer, tunings);
  writer.write(request.output);
  built.records = records.kernels().size();
  built.kernels = identities_of(jobs).size();
  built.images = writer.kernel_count();
  built.bytes = writer.contents().size();
  return built;
}

}  // namespace kiln::tool
