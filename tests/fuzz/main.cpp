// tests/fuzz/main.cpp -- kiln_fuzz: random programs against the reference, on one device, by many threads.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <kiln/kiln.h>

#include "tests/fuzz/program.h"
#include "tests/fuzz/statements.h"

namespace {

struct Settings {
  std::uint64_t first = 1, count = 2000;
  int threads = 2, processes = 1, most_failures = 5;
  std::string device = "cpu", arch;
  bool print = false;
  fuzz::Interface interface = fuzz::Interface::cpp;
};

const char* usage =
    "kiln_fuzz [--seed N] [--count N] [--threads N] [--processes N] [--device cpu|cuda] [--compile ARCH] [--failures "
    "N] [--interface c|c++] [--print]\n"
    "Programs of seeds N, N+1, ... (multiples of 8: scatters, histograms, ufuncs, user functions); --compile sm_90 "
    "compiles them for an architecture that need not be present, and\n"
    "--print shows them, instead of running them.\n";

bool parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--print") {
      settings.print = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const char* value = argv[++i];
    if (name == "--seed")
      settings.first = std::strtoull(value, nullptr, 10);
    else if (name == "--count")
      settings.count = std::strtoull(value, nullptr, 10);
    else if (name == "--threads")
      settings.threads = std::atoi(value);
    else if (name == "--processes")
      settings.processes = std::atoi(value);
    else if (name == "--failures")
      settings.most_failures = std::atoi(value);
    else if (name == "--compile")
      settings.arch = value;
    else if (name == "--interface")
      settings.interface = std::strcmp(value, "c") == 0 ? fuzz::Interface::c : fuzz::Interface::cpp;
    else if (name == "--device")
      settings.device = value;
    else
      return false;
  }
  return settings.threads > 0 && settings.processes > 0 && (settings.device == "cpu" || settings.device == "cuda");
}

/// What is no node of a program.
bool is_statement(const Settings& settings, std::uint64_t seed) {
  return seed % 8 == 0 && settings.arch.empty() && settings.interface == fuzz::Interface::cpp;
}

class Fuzzer {
 public:
  Fuzzer(const Settings& settings, kiln::Device device) : settings_(settings), device_(device) {}
  int run() {
    std::vector<std::thread> threads;
    for (int t = 0; t < settings_.threads; ++t) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    std::printf("%llu programs on %s: %d failures\n", static_cast<unsigned long long>(done_.load()),
                settings_.device.c_str(), failures_.load());
    return failures_ == 0 && done_ == settings_.count ? 0 : 1;
  }

 private:
  void work() {
    const kiln::DeviceGuard guard(device_);
    for (;;) {
      const std::uint64_t i = next_++;
      if (i >= settings_.count || failures_ >= settings_.most_failures) return;
      const std::uint64_t seed = settings_.first + i;
      if (is_statement(settings_, seed)) {
        const std::string problem = fuzz::check_statement(seed);
        ++done_;
        if (!problem.empty()) report(seed, problem);
        continue;
      }
      const fuzz::Program program = fuzz::generate(seed);
      const std::string problem = check(program);
      ++done_;
      if (!problem.empty()) report(program, problem);
    }
  }

  std::string check(const fuzz::Program& program) const {
    return settings_.arch.empty() ? fuzz::check(program, settings_.interface) : fuzz::compile(program, settings_.arch);
  }

  void report(std::uint64_t seed, const std::string& problem) {
    ++failures_;
    const std::lock_guard lock(output_);
    std::printf("seed %llu: %s\nat the least size that fails: %s\n", static_cast<unsigned long long>(seed),
                problem.c_str(), fuzz::shrink_statement(seed).c_str());
    std::fflush(stdout);
  }

  void report(const fuzz::Program& program, const std::string& problem) {
    ++failures_;
    const fuzz::Program small = fuzz::shrink(program, [this](const fuzz::Program& p) { return check(p); });
    const std::lock_guard lock(output_);
    std::printf("seed %llu: %s\nas found, reduced to %zu nodes: %s\n%s\n",
                static_cast<unsigned long long>(program.seed), problem.c_str(), small.nodes.size(),
                check(small).c_str(), fuzz::to_text(small).c_str());
    std::fflush(stdout);
  }

  const Settings& settings_;
  kiln::Device device_;
  std::atomic<std::uint64_t> next_{0}, done_{0};
  std::atomic<int> failures_{0};
  std::mutex output_;
};

/// NVRTC compiles for one thread of a process at a time: processes that share the seeds compile side by side. Forks
/// before anything of kiln is used; true in a child, whose seeds `settings` then names. In the parent `status` is 0
/// if all children's are, 77 if all were skipped.
bool divide(Settings& settings, int& status) {
  const auto parts = static_cast<std::uint64_t>(settings.processes);
  std::vector<pid_t> children;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const pid_t child = fork();
    if (child == 0) {
      const std::uint64_t first = settings.count * part / parts, end = settings.count * (part + 1) / parts;
      settings.first += first;
      settings.count = end - first;
      return true;
    }
    if (child > 0) children.push_back(child);
  }
  std::size_t good = 0, skipped = 0;
  for (const pid_t child : children) {
    int state = 0;
    waitpid(child, &state, 0);
    good += WIFEXITED(state) && WEXITSTATUS(state) == 0 ? 1 : 0;
    skipped += WIFEXITED(state) && WEXITSTATUS(state) == 77 ? 1 : 0;
  }
  status = good == parts ? 0 : skipped == parts ? 77 : 1;
  std::printf("%zu of %d processes without failures\n", good, settings.processes);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fputs(usage, stderr);
    return 2;
  }
  if (settings.print) {
    for (std::uint64_t i = 0; i < settings.count; ++i) {
      const std::uint64_t seed = settings.first + i;
      if (is_statement(settings, seed))
        std::printf("// seed %llu: no program of nodes; shown where it fails\n", static_cast<unsigned long long>(seed));
      else
        std::printf("%s\n", fuzz::to_text(fuzz::generate(seed)).c_str());
    }
    return 0;
  }
  if (int status = 1; settings.processes > 1 && !divide(settings, status)) return status;
  const kiln::Device device = settings.device == "cpu" ? kiln::Device::cpu() : kiln::Device::cuda(0);
  if (!device.is_available()) {
    std::printf("skipped: no usable %s device here\n", settings.device.c_str());
    return 77;
  }
#ifdef KILN_WITHOUT_CPU_COMPILER
  if (device.kind() == kiln::DeviceKind::cpu) {
    std::puts("skipped: built without the CPU compiler (KILN_CPU_JIT=OFF)");
    return 77;
  }
#endif
  return Fuzzer(settings, device).run();
}
