// runtime/loaded_bundles.cpp -- opens bundles at first use and searches them in order.
#include "runtime/loaded_bundles.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <span>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/choose.h"
#include "runtime/bundle/embedded.h"
#include "runtime/bundle_difference.h"
#include "runtime/compile_mode.h"
#include "runtime/kernel_identity.h"
#include "runtime/tuning_store.h"
#include "support/check.h"
#include "support/env.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

/// Keeps one kernel of each target, as choose() takes them.
void add_target(std::vector<BundleKernel>& targets, const BundleKernel& kernel) {
  const bool known = std::any_of(targets.begin(), targets.end(),
                                 [&](const BundleKernel& other) { return other.target == kernel.target; });
  if (!known) targets.push_back(kernel);
}

/// How many distinct kernels; those of one identity are neighbours.
std::size_t count_identities(std::span<const BundleKernel> kernels) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) count += i == 0 || kernels[i].identity != kernels[i - 1].identity;
  return count;
}

/// How many kernels have an image for a device of this architecture.
std::size_t count_usable(std::span<const BundleKernel> kernels, const std::string& arch) {
  std::size_t count = 0;
  for (std::size_t first = 0, end = 0; first < kernels.size(); first = end) {
    while (end < kernels.size() && kernels[end].identity == kernels[first].identity) ++end;
    count += !choose(kernels.subspan(first, end - first), arch, true).usable.empty();
  }
  return count;
}

/// Kernels, by what they compute, that the bundle has for devices of this kind and not for this architecture. Plans
/// differ between architectures, so a title may stand for several identities.
std::set<std::string> missing_for(std::span<const BundleKernel> kernels, Language language, const std::string& arch) {
  std::set<std::string> missing, usable;
  for (std::size_t first = 0, end = 0; first < kernels.size(); first = end) {
    while (end < kernels.size() && kernels[end].identity == kernels[first].identity) ++end;
    if ((kernels[first].kind == ImageKind::object) != (language == Language::llvm_ir)) continue;
    const bool none = choose(kernels.subspan(first, end - first), arch, true).usable.empty();
    (none ? missing : usable).emplace(kernels[first].title);
  }
  for (const std::string& title : usable) missing.erase(title);
  return missing;
}

/// What of it the devices here can use: a bundle for other machines is seen when it is opened, not at the first call.
void log_contents(const BundleReader& bundle) {
  const std::span<const BundleKernel> kernels = bundle.kernels();
  std::string here;
  for (const DeviceInfo& device : devices())
    here += fmt::format(", {} for {} ({})", count_usable(kernels, device.arch),
                        device.id.kind == DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.id.index),
                        device.arch.substr(0, device.arch.find(' ')));
  KILN_LOG(1, "bundle {}: {} images of {} kernels{}", bundle.name(), kernels.size(), count_identities(kernels), here);
}

struct OpenBundle {
  std::shared_ptr<const BundleReader> reader;
  std::vector<BundleKernel> targets;  ///< one kernel of each, as choose() takes them
  mutable ForkSafeMutex mutex;
  mutable std::set<std::string> compared;  ///< architectures

  /// Where nothing may be compiled, calls of kernels that are there for other devices only will fail. That is said when
  /// a device looks into the bundle for the first time, whatever it looks for.
  void warn_of_missing(Language language, const std::string& arch) const {
    {
      const std::lock_guard lock(mutex);
      if (!compared.insert(arch).second) return;
    }
    const std::set<std::string> missing = missing_for(reader->kernels(), language, arch);
    if (missing.empty()) return;
    const bool one = missing.size() == 1;
    warn_once(fmt::format(
        "bundle {} has {} kernel{} for other devices and not for {}, the first of which is \"{}\": calls of {} will "
        "fail, for nothing may be compiled. Build the bundle for this target as well; kiln bundle ls {} shows what it "
        "has",
        reader->name(), missing.size(), one ? "" : "s", arch.substr(0, arch.find(' ')), *missing.begin(),
        one ? "it" : "them", reader->name()));
  }

  explicit OpenBundle(std::shared_ptr<const BundleReader> opened) : reader(std::move(opened)) {
    for (const BundleKernel& kernel : reader->kernels()) add_target(targets, kernel);
    for (const BundleTuning& tuning : reader->tunings()) TuningStore::instance().import_records(tuning.record, false);
    if (log_enabled(1)) log_contents(*reader);
  }
};
using Reader = std::shared_ptr<const OpenBundle>;

struct Bundles {
  std::vector<Reader> loaded;         ///< by calls, the last one first
  std::vector<Reader> named;          ///< KILN_BUNDLE
  std::vector<Reader> embedded;       ///< the last registered first
  std::vector<std::string> problems;  ///< of bundles that cannot be used
  bool has_read_setting = false;
  const kiln_embedded_bundle* newest = nullptr;  ///< embedded ones are known up to here

  std::vector<Reader> all() const {
    std::vector<Reader> list = loaded;
    list.insert(list.end(), named.begin(), named.end());
    list.insert(list.end(), embedded.begin(), embedded.end());
    return list;
  }
};

struct Registry {
  ForkSafeMutex mutex;
  Bundles bundles;
  std::atomic<bool> is_empty{false};  ///< KILN_BUNDLE was read, and there is nothing at all
};

constinit Leaked<Registry> the_registry;
Registry& registry() { return the_registry.get(); }

template <class Open>
void open_into(std::vector<Reader>& list, Bundles& bundles, const char* origin, Open open) {
  try {
    list.push_back(std::make_shared<const OpenBundle>(open()));
  } catch (const Error& error) {
    warn_once(fmt::format("a bundle{} is not used: {}", origin, error.what()));
    bundles.problems.emplace_back(error.what());
  }
}

void read_setting(Bundles& bundles) {
  const std::string paths = setting("KILN_BUNDLE");
  for (std::size_t at = 0; at < paths.size();) {
    const std::size_t end = std::min(paths.find(':', at), paths.size());
    if (end > at) {
      const std::string path = paths.substr(at, end - at);
      open_into(bundles.named, bundles, " of KILN_BUNDLE", [&] { return BundleReader::open(path); });
    }
    at = end + 1;
  }
}

void read_embedded(Bundles& bundles, const kiln_embedded_bundle* newest) {
  std::vector<Reader> added;
  for (const auto* bundle = newest; bundle != bundles.newest; bundle = bundle->next) {
    open_into(added, bundles, " embedded in this process", [&] {
      return BundleReader::from_memory({static_cast<const char*>(bundle->data), bundle->bytes}, bundle->name);
    });
  }
  bundles.embedded.insert(bundles.embedded.begin(), added.begin(), added.end());
  bundles.newest = newest;
}

/// Everything that is there now.
struct Snapshot {
  std::vector<Reader> readers;
  std::vector<std::string> problems;
};

Snapshot snapshot() {
  Registry& r = registry();
  const kiln_embedded_bundle* const newest = embedded_bundles();
  if (!newest && r.is_empty.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(r.mutex);
  Bundles& bundles = r.bundles;
  if (!bundles.has_read_setting) {
    read_setting(bundles);
    bundles.has_read_setting = true;
  }
  if (newest != bundles.newest) read_embedded(bundles, newest);
  Snapshot result{bundles.all(), bundles.problems};
  r.is_empty.store(result.readers.empty() && result.problems.empty(), std::memory_order_release);
  return result;
}

Binary binary_of(const BundleReader& bundle, const BundleKernel& kernel, const CompileOptions& options) {
  const std::string_view image = bundle.image(kernel);  // checks it
  Binary binary;
  binary.image.assign(image.begin(), image.end());
  binary.is_ptx = kernel.kind == ImageKind::ptx;
  binary.entry = kernel.entry;
  binary.compiler = fmt::format("{} (bundle {})", kernel.compiler, bundle.name());
  binary.registers = kernel.registers;
  binary.spill_bytes = kernel.spill_bytes;
  binary.shared_bytes = kernel.shared_bytes;
  binary.local_bytes = kernel.local_bytes;
  binary.options = options;
  return binary;
}

bool has_name_of(const BundleKernel& kernel, const KernelSource& source) {
  return source.expression.empty() ? kernel.entry == source.entry
                                   : kernel.title.find(source.expression) != kernel.title.npos;
}

/// The kernel that differs in the fewest fields, and in which.
std::pair<const BundleKernel*, std::vector<std::string>> nearest_of(const std::vector<const BundleKernel*>& kernels,
                                                                    const KernelSource& source,
                                                                    const CompileOptions& options) {
  std::pair<const BundleKernel*, std::vector<std::string>> nearest{nullptr, {}};
  for (const BundleKernel* const kernel : kernels) {
    std::vector<std::string> differing = differences(*kernel, source, options);
    if (!nearest.first || differing.size() < nearest.second.size()) nearest = {kernel, std::move(differing)};
  }
  return nearest;
}

/// Why a bundle has no candidates: what it holds under the same name helps to see what was not recorded.
std::string absence(const BundleReader& bundle, const KernelSource& source, const CompileOptions& options) {
  std::vector<BundleKernel> named;
  bool same_rules = bundle.kernels().empty();
  for (const BundleKernel& kernel : bundle.kernels()) {
    same_rules |= kernel.identity_version == kernel_identity_version;
    if (has_name_of(kernel, source)) named.push_back(kernel);
  }
  if (!same_rules) return "it was built by a version of kiln that made other kernels; build it again";
  if (named.empty()) return fmt::format("no kernel of this name among its {}", count_identities(bundle.kernels()));
  const BundleChoice choice = choose(named, options.arch, true);
  if (choice.usable.empty()) {
    const std::size_t count = count_identities(named);
    const std::set<std::string> reasons(choice.rejections.begin(), choice.rejections.end());
    return fmt::format("{} kernel{} of this name, as \"{}\", all for other devices: {}", count, count == 1 ? "" : "s",
                       named.front().title, fmt::join(reasons, "; "));
  }
  std::set<Digest> usable;
  for (const BundleKernel* const kernel : choice.usable) usable.insert(kernel->identity);
  const std::string count =
      fmt::format("{} kernel{} of this name for this device", usable.size(), usable.size() == 1 ? "" : "s");
  const auto [nearest, differing] = nearest_of(choice.usable, source, options);
  if (!differing.empty())
    return fmt::format("{}, {} with {}", count, usable.size() == 1 ? "but" : "the nearest one",
                       fmt::join(differing, "; "));
  if (!source.title.empty())
    return fmt::format(
        "{}, the nearest one, \"{}\", with another source text alone: another kiln or text of a function", count,
        nearest->title);
  return fmt::format("{}, with other types, layouts, options or plans, as \"{}\"", count, nearest->title);
}

std::optional<Binary> take_first(const BundleReader& bundle, const BundleChoice& choice, const CompileOptions& options,
                                 std::vector<BundleRejection>& rejections) {
  for (const BundleKernel* const kernel : choice.usable) {
    try {
      return binary_of(bundle, *kernel, options);
    } catch (const Error& error) {
      warn_once(error.what());
      rejections.push_back({bundle.name(), fmt::format("{}: {}", kernel->target, error.what()), true});
    }
  }
  return std::nullopt;
}

}  // namespace

namespace {

void add_loaded(Reader opened) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<Reader>& loaded = r.bundles.loaded;
  std::erase_if(loaded, [&](const Reader& known) { return known->reader->name() == opened->reader->name(); });
  loaded.insert(loaded.begin(), std::move(opened));
  r.is_empty.store(false, std::memory_order_release);
}

}  // namespace

void load_bundle(const std::string& path) { add_loaded(std::make_shared<const OpenBundle>(BundleReader::open(path))); }

void load_bundle_from_memory(std::string_view data, const std::string& name) {
  add_loaded(std::make_shared<const OpenBundle>(BundleReader::from_memory({data.data(), data.size()}, name)));
}

bool looks_in_bundles() {
  if (!reads_bundles(compile_mode())) return false;
  return compile_mode() == CompileMode::bundle_only || !snapshot().readers.empty();
}

std::vector<std::string> usable_bundle_targets(const std::string& arch) {
  std::vector<BundleKernel> targets;
  const Snapshot bundles = snapshot();
  for (const Reader& bundle : bundles.readers)
    for (const BundleKernel& kernel : bundle->targets) add_target(targets, kernel);
  std::vector<std::string> names;
  for (const BundleKernel* const target : choose(targets, arch, true).usable) names.emplace_back(target->target);
  return names;
}

std::string to_text(const BundleRejection& rejection) {
  return rejection.bundle.empty() ? rejection.why : fmt::format("{}: {}", rejection.bundle, rejection.why);
}

std::optional<Binary> find_in_bundles(const KernelSource& source, const CompileOptions& options,
                                      std::vector<BundleRejection>* rejections) {
  const Snapshot bundles = snapshot();
  const Digest identity = bundles.readers.empty() ? Digest{} : kernel_identity(source, options);
  if (compile_mode() == CompileMode::bundle_only)
    for (const Reader& bundle : bundles.readers) bundle->warn_of_missing(source.language, options.arch);
  for (const bool allow_ptx : {false, true}) {
    std::vector<BundleRejection> reasons;
    for (const std::string& problem : bundles.problems) reasons.push_back({"", problem});
    for (const Reader& bundle : bundles.readers) {
      const BundleReader& reader = *bundle->reader;
      const auto candidates = reader.kernels(identity);
      if (candidates.empty()) {
        if (rejections && allow_ptx) reasons.push_back({reader.name(), absence(reader, source, options)});
        continue;
      }
      const BundleChoice choice = choose(candidates, options.arch, allow_ptx);
      for (const std::string& rejection : choice.rejections) reasons.push_back({reader.name(), rejection, true});
      if (std::optional<Binary> found = take_first(reader, choice, options, reasons)) return found;
    }
    if (bundles.readers.empty() && reasons.empty()) reasons.push_back({"", "no bundle is loaded"});
    if (rejections && allow_ptx) rejections->insert(rejections->end(), reasons.begin(), reasons.end());
  }
  return std::nullopt;
}

std::string missing_kernel_text(const std::string& what, const std::string& arch,
                                const std::vector<std::string>& rejections) {
  return fmt::format(
      "{} is in no bundle for {}, and compile_mode is bundle_only:\n  {}\nRecord this call (KILN_RECORD=FILE) and "
      "build the bundle again for this device, with kiln bundle build; or let kernels be compiled: "
      "kl::set_compile_mode(kl::CompileMode::automatic)",
      what, arch, fmt::join(rejections, "\n  "));
}

void reset_bundles() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.bundles = {};
  r.bundles.newest = embedded_bundles();
  r.is_empty.store(false, std::memory_order_release);
}

}  // namespace kiln::runtime
