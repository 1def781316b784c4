// runtime/binary_cache.cpp -- the memory cache: one compile per key and process, bounded, over the disk cache.
#include "runtime/binary_cache.h"

#include <atomic>
#include <chrono>
#include <future>
#include <list>
#include <unordered_map>

#include "runtime/cache_key.h"
#include "runtime/compile_mode.h"
#include "runtime/cuda_interface.h"
#include "runtime/disk_cache.h"
#include "runtime/loaded_bundles.h"
#include "runtime/runtime.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

using Result = std::shared_ptr<const Binary>;

constexpr std::size_t most_bytes = std::size_t{16} << 20;  // of finished binaries and their keys; those in use live on

std::atomic<CompileFunction> compiler_for_tests{nullptr};

struct Slot {
  std::shared_future<Result> result;
  bool finished = false;
  std::size_t bytes = 0;
  std::uint64_t ticket = 0;                         // which flight filled it
  std::list<const std::string*>::iterator recency;  // valid once finished
};

struct Cache {
  ForkSafeMutex mutex;
  std::unordered_map<std::string, Slot> slots;  // by full key text: equal digests are not equal keys
  std::list<const std::string*> recent;         // keys of finished slots, most recent first
  std::size_t bytes = 0;
  std::uint64_t tickets = 0;
  CacheCounters counters;
  std::shared_ptr<DiskCache> disk;
};

constinit Leaked<Cache> the_cache;
Cache& cache() { return the_cache.get(); }

// A forked child has no threads to finish the compiles that were in progress, or a pruning: it starts its own.
const InForkedChild forget_flights([] {
  std::erase_if(cache().slots, [](const auto& item) { return !item.second.finished; });
  cache().disk.reset();
});

std::shared_ptr<DiskCache> disk_cache() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  if (!c.disk) c.disk = std::make_shared<DiskCache>(cache_settings());
  return c.disk;
}

template <class Change>
void count(Change change) {
  const std::lock_guard lock(cache().mutex);
  change(cache().counters);
}

bool find_on_disk(DiskCache& disk, const CacheKey& key, Binary& binary) {
  const DiskCache::Found found = disk.find(key, binary);
  count([&](CacheCounters& counters) {
    counters.disk_hits += found == DiskCache::Found::hit;
    counters.disk_misses += found != DiskCache::Found::hit;
    counters.disk_rejects += found == DiskCache::Found::rejected;
    counters.disk_errors += found == DiskCache::Found::error;
  });
  return found == DiskCache::Found::hit;
}

[[noreturn]] void fail_not_cached(const DiskCache& disk, const KernelSource& source, const CompileOptions& options) {
  const CacheSettings& settings = disk.settings();
  const bool is_off = settings.mode == CacheMode::off || settings.directory.empty();
  fail<CompileError>(
      "kernel {} for {} is not in the kernel cache ({}), and compile_mode is cache_only. Fill the cache by a run that "
      "may compile, or let kernels be compiled: kl::set_compile_mode(kl::CompileMode::automatic)",
      source.entry, options.arch, is_off ? "which is off" : settings.directory);
}

/// Loads the compiler and gives the key that names it: the first NVRTC found by name may turn out to be unusable.
CacheKey key_of_the_real_compiler(const CacheKey& key, const KernelSource& source, const CompileOptions& options) {
  if (source.language != Language::cuda) return key;
  cuda::load_compiler();
  return cuda::compiler_identity() == key.compiler ? key : make_cache_key(source, options);
}

void publish(DiskCache& disk, const CacheKey& key, const Binary& binary, const KernelSource& source) {
  // A header that was edited between its reading for the key and its reading by the compiler: whose text is this?
  if (key.has_includes && make_cache_key(source, binary.options).text != key.text) return;
  if (disk.publish(key, binary)) {
    disk.remember_compiler(source.language, key.compiler);
  } else if (disk.settings().mode == CacheMode::on) {
    count([](CacheCounters& counters) { ++counters.disk_errors; });
  }
}

Result load_or_compile(CacheKey key, const KernelSource& source, const CompileOptions& options, CompileMode mode) {
  const std::shared_ptr<DiskCache> disk = disk_cache();
  const bool enabled = disk->settings().mode != CacheMode::off && key.persistent && mode != CompileMode::jit_only;
  auto binary = std::make_shared<Binary>();
  bool found = enabled && find_on_disk(*disk, key, *binary);
  const CompileFunction replacement = compiler_for_tests.load(std::memory_order_relaxed);
  if (enabled && !found && !replacement && may_compile(mode)) {
    CacheKey real = key_of_the_real_compiler(key, source, options);
    if (real.text != key.text) {
      key = std::move(real);
      found = find_on_disk(*disk, key, *binary);
    }
  }
  if (found) {
    KILN_LOG(2, "kernel {} for {}: from the disk cache", source.entry,
             source.language == Language::cuda ? options.arch : "the CPU");
    binary->options = options;
    return binary;
  }
  if (!may_compile(mode)) fail_not_cached(*disk, source, options);
  const auto start = std::chrono::steady_clock::now();
  *binary = replacement ? replacement(source, options) : compile(source, options);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  binary->compile_ms = elapsed.count();
  binary->options = options;
  count([](CacheCounters& counters) { ++counters.compiles; });
  if (enabled) publish(*disk, key, *binary, source);
  return binary;
}

/// Drops the least recently used binaries from memory. The caller holds the mutex.
void shrink(Cache& c) {
  while (c.bytes > most_bytes && c.recent.size() > 1) {
    const auto slot = c.slots.find(*c.recent.back());
    c.bytes -= slot->second.bytes;
    c.recent.pop_back();
    c.slots.erase(slot);
  }
}

/// Moves a flight's slot to the finished ones, or removes it if the compile failed. The slot is gone after a reset.
void finish(const std::string& key, std::uint64_t ticket, const Result& result) {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  const auto found = c.slots.find(key);
  if (found == c.slots.end() || found->second.ticket != ticket) return;
  if (!result) {
    c.slots.erase(found);
    return;
  }
  Slot& slot = found->second;
  slot.finished = true;
  slot.bytes = 2 * key.size() + result->image.size();
  c.recent.push_front(&found->first);
  slot.recency = c.recent.begin();
  c.bytes += slot.bytes;
  shrink(c);
}

std::vector<std::string> texts_of(const std::vector<BundleRejection>& rejections) {
  std::vector<std::string> texts;
  for (const BundleRejection& rejection : rejections) texts.push_back(to_text(rejection));
  return texts;
}

/// Before a key is made, for that asks which compilers are here.
Result from_bundles(const KernelSource& source, const CompileOptions& options) {
  std::vector<BundleRejection> rejections;
  const bool explain = compile_mode() == CompileMode::bundle_only || log_enabled(2);
  std::optional<Binary> found = find_in_bundles(source, options, explain ? &rejections : nullptr);
  count([&](CacheCounters& counters) { ++(found ? counters.bundle_hits : counters.bundle_misses); });
  if (found) {
    KILN_LOG(2, "kernel {} for {}: {}", source.entry, source.language == Language::cuda ? options.arch : "the CPU",
             found->compiler);
    return std::make_shared<const Binary>(std::move(*found));
  }
  if (compile_mode() == CompileMode::bundle_only)
    fail<CompileError>("{}", missing_kernel_text("kernel " + source.entry, options.arch, texts_of(rejections)));
  for (const BundleRejection& rejection : rejections) KILN_LOG(2, "kernel {}: {}", source.entry, to_text(rejection));
  return nullptr;
}

}  // namespace

std::shared_ptr<const Binary> cached_binary(const KernelSource& source, const CompileOptions& options) {
  const CompileMode mode = compile_mode();
  if (looks_in_bundles())
    if (Result found = from_bundles(source, options)) return found;
  CacheKey key = make_cache_key(source, options);
  if (mode == CompileMode::jit_only) key.text += "compiled in this process\n";  // not what others found on the disk
  std::promise<Result> promise;
  std::shared_future<Result> waiting;
  std::uint64_t ticket = 0;
  {
    Cache& c = cache();
    const std::lock_guard lock(c.mutex);
    const auto [slot, inserted] = c.slots.try_emplace(key.text);
    if (inserted) {
      slot->second.result = promise.get_future().share();
      ticket = slot->second.ticket = ++c.tickets;
    } else {
      ++c.counters.memory_hits;
      waiting = slot->second.result;
      if (slot->second.finished) c.recent.splice(c.recent.begin(), c.recent, slot->second.recency);
    }
  }
  if (waiting.valid()) return waiting.get();  // rethrows the failure of the thread that compiles
  try {
    Result result = load_or_compile(key, source, options, mode);
    finish(key.text, ticket, result);
    promise.set_value(result);
    return result;
  } catch (...) {
    finish(key.text, ticket, nullptr);
    promise.set_exception(std::current_exception());
    throw;
  }
}

CacheCounters cache_counters() {
  const std::lock_guard lock(cache().mutex);
  return cache().counters;
}

void reset_binary_cache() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  c.slots.clear();
  c.recent.clear();
  c.bytes = 0;
  c.counters = {};
  c.disk.reset();
}

void use_compiler_for_tests(CompileFunction function) { compiler_for_tests.store(function, std::memory_order_relaxed); }

}  // namespace kiln::runtime
