// runtime/tool_bundle.cpp -- lists, verifies, merges and compares bundles.
#include "runtime/tool_bundle.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "runtime/bundle/bundle.h"
#include "runtime/cpu/jit/kiln_cpu.h"

namespace kiln::tool {
namespace {

using runtime::BundleKernel;
using runtime::BundleReader;
using runtime::BundleTuning;
using runtime::BundleWriter;
using runtime::ImageKind;
using Reader = std::shared_ptr<const BundleReader>;

const char* name_of(ImageKind kind) {
  return kind == ImageKind::cubin ? "cubin" : kind == ImageKind::ptx ? "PTX" : "object";
}

std::uint64_t lines_of(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) +
         (text.empty() || text.back() == '\n' ? 0 : 1);
}

BundleItem describe(const BundleKernel& kernel) {
  BundleItem item;
  item.identity = to_hex(kernel.identity);
  item.target = kernel.target;
  item.kind = name_of(kernel.kind);
  item.title = kernel.title;
  item.entry = kernel.entry;
  item.options = kernel.options;
  item.compiler = kernel.compiler;
  item.plan = kernel.plan;
  item.identity_version = kernel.identity_version;
  item.image_bytes = static_cast<std::int64_t>(kernel.image_bytes);
  item.image_digest = to_hex(kernel.image_digest);
  item.registers = kernel.registers;
  item.spill_bytes = kernel.spill_bytes;
  item.shared_bytes = kernel.shared_bytes;
  item.local_bytes = kernel.local_bytes;
  return item;
}

auto place_of(const BundleItem& item) { return std::tie(item.title, item.identity, item.target); }

bool is_elf_of_cuda(std::string_view image) {
  constexpr std::size_t machine_at = 18;  // e_machine of an ELF header
  std::uint16_t machine = 0;
  if (image.size() >= machine_at + sizeof machine) std::memcpy(&machine, image.data() + machine_at, sizeof machine);
  return image.starts_with(
             "\x7f"
             "ELF") &&
         machine == 190;
}

bool is_cpu_image(std::string_view image) {
  kiln_cpu_image_header header = {};
  if (image.size() >= sizeof header) std::memcpy(&header, image.data(), sizeof header);
  return header.magic == KILN_CPU_MAGIC && header.size == image.size() && header.entry >= sizeof header &&
         header.entry < image.size();
}

/// "" or why an image is not what the kernel's target says; judged by its first bytes.
std::string content_problem(const BundleKernel& kernel, std::string_view image) {
  switch (kernel.kind) {
    case ImageKind::cubin:
      return is_elf_of_cuda(image) ? "" : "its image is not a cubin";
    case ImageKind::object:
      return is_cpu_image(image) ? "" : "its image is not a CPU kernel of this kiln";
    case ImageKind::ptx:
      break;
  }
  const bool is_ptx = image.find(".version") != image.npos && image.find(".target") != image.npos;
  return is_ptx ? "" : "its image is not PTX";
}

/// Lines of records that were noted anywhere, sorted.
std::string join_lines(const std::set<std::string_view>& lines) {
  std::string text;
  for (const std::string_view line : lines) text += fmt::format("{}\n", line);
  return text;
}

void add_lines(std::string_view record, std::set<std::string_view>& lines) {
  while (!record.empty()) {
    const std::size_t end = std::min(record.find('\n'), record.size());
    if (end) lines.insert(record.substr(0, end));
    record.remove_prefix(std::min(end + 1, record.size()));
  }
}

/// "" or in what two kernels of one identity and target differ: "registers 32 to 40, image 4096 to 4112 bytes".
std::string differences(const BundleKernel& a, const BundleKernel& b) {
  std::string text;
  const auto note = [&](std::string_view what) { text += fmt::format("{}{}", text.empty() ? "" : ", ", what); };
  const auto count = [&](const char* name, std::int64_t before, std::int64_t after) {
    if (before != after) note(fmt::format("{} {} to {}", name, before, after));
  };
  const auto words = [&](const char* name, std::string_view before, std::string_view after) {
    if (before != after) note(fmt::format("{} \"{}\" to \"{}\"", name, before, after));
  };
  words("title", a.title, b.title);
  words("entry", a.entry, b.entry);
  words("options", a.options, b.options);
  words("compiler", a.compiler, b.compiler);
  if (a.plan != b.plan) note("plan");
  count("identity version", a.identity_version, b.identity_version);
  count("registers", a.registers, b.registers);
  count("spilled bytes", a.spill_bytes, b.spill_bytes);
  count("shared bytes", a.shared_bytes, b.shared_bytes);
  count("local bytes", a.local_bytes, b.local_bytes);
  if (a.image_digest != b.image_digest)
    note(a.image_bytes == b.image_bytes ? fmt::format("image of {} bytes", a.image_bytes)
                                        : fmt::format("image {} to {} bytes", a.image_bytes, b.image_bytes));
  return text;
}

const BundleKernel* find(const BundleReader& reader, const BundleKernel& kernel) {
  for (const BundleKernel& candidate : reader.kernels(kernel.identity))
    if (candidate.target == kernel.target) return &candidate;
  return nullptr;
}

void compare_kernels(const BundleReader& before, const BundleReader& after, std::vector<BundleChange>& changes) {
  using Kind = BundleChange::Kind;
  const auto add = [&](Kind kind, const BundleKernel& kernel, std::string details) {
    changes.push_back({kind, std::string(kernel.title), std::string(kernel.target), std::move(details)});
  };
  for (const BundleKernel& kernel : before.kernels()) {
    const BundleKernel* const other = find(after, kernel);
    if (!other) {
      add(Kind::removed, kernel, fmt::format("image of {} bytes", kernel.image_bytes));
    } else if (std::string details = differences(kernel, *other); !details.empty()) {
      add(Kind::changed, *other, std::move(details));
    }
  }
  for (const BundleKernel& kernel : after.kernels())
    if (!find(before, kernel)) add(Kind::added, kernel, fmt::format("image of {} bytes", kernel.image_bytes));
}

void compare_tunings(const BundleReader& before, const BundleReader& after, std::vector<BundleChange>& changes) {
  using Kind = BundleChange::Kind;
  const auto add = [&](Kind kind, const BundleTuning& tuning, std::string details) {
    changes.push_back({kind, "tuned launches",
                       fmt::format("{}, {} multiprocessors", tuning.device, tuning.multiprocessors),
                       std::move(details)});
  };
  const auto lines = [](const BundleTuning& tuning) {
    const std::uint64_t count = lines_of(tuning.record);
    return fmt::format("{} line{}", count, count == 1 ? "" : "s");
  };
  for (const BundleTuning& tuning : before.tunings()) {
    const BundleTuning* const other = after.tuning(tuning.device, tuning.multiprocessors);
    if (!other) {
      add(Kind::removed, tuning, lines(tuning));
    } else if (tuning.record != other->record) {
      add(Kind::changed, tuning, fmt::format("{} to {}", lines(tuning), lines(*other)));
    }
  }
  for (const BundleTuning& tuning : after.tunings())
    if (!before.tuning(tuning.device, tuning.multiprocessors)) add(Kind::added, tuning, lines(tuning));
}

}  // namespace

BundleListing list_bundle(const std::string& path) {
  const Reader reader = BundleReader::open(path);
  BundleListing listing;
  listing.file_bytes = reader->file_bytes();
  listing.format_version = runtime::bundle_format_version;
  std::set<Digest> identities;
  for (const BundleKernel& kernel : reader->kernels()) {
    listing.items.push_back(describe(kernel));
    identities.insert(kernel.identity);
  }
  std::sort(listing.items.begin(), listing.items.end(),
            [](const BundleItem& a, const BundleItem& b) { return place_of(a) < place_of(b); });
  listing.kernels = identities.size();
  for (const BundleTuning& tuning : reader->tunings())
    listing.devices.push_back({std::string(tuning.device), tuning.multiprocessors, lines_of(tuning.record)});
  return listing;
}

std::vector<std::string> verify_bundle(const std::string& path) {
  const Reader reader = BundleReader::open(path);
  std::vector<std::string> problems = reader->verify();
  const bool is_sound = problems.empty();  // bytes that are damaged say nothing
  for (const BundleKernel& kernel : is_sound ? reader->kernels() : std::span<const BundleKernel>())
    if (const std::string problem = content_problem(kernel, reader->image(kernel)); !problem.empty())
      problems.push_back(fmt::format("{} for {}: {}", kernel.title, kernel.target, problem));
  std::sort(problems.begin(), problems.end());
  return problems;
}

BundleMerge merge_bundles(const std::vector<std::string>& inputs, const std::string& output) {
  std::vector<Reader> readers;
  for (const std::string& path : inputs) readers.push_back(BundleReader::open(path));
  BundleMerge merge;
  BundleWriter writer;
  std::map<std::pair<Digest, std::string_view>, const BundleReader*> origins;
  std::map<std::pair<std::string_view, std::int32_t>, std::set<std::string_view>> lines;
  std::set<Digest> identities;
  for (const Reader& reader : readers) {
    for (const BundleKernel& kernel : reader->kernels()) {
      const auto [origin, is_new] = origins.try_emplace({kernel.identity, kernel.target}, reader.get());
      identities.insert(kernel.identity);
      if (is_new) {
        writer.add(kernel, reader->image(kernel));
      } else if (const std::string details = differences(*find(*origin->second, kernel), kernel); !details.empty()) {
        merge.conflicts.push_back(fmt::format("{} for {} in {} and {}: {}", kernel.title, kernel.target,
                                              origin->second->name(), reader->name(), details));
      }
    }
    for (const BundleTuning& tuning : reader->tunings())
      add_lines(tuning.record, lines[{tuning.device, tuning.multiprocessors}]);
  }
  if (!merge.conflicts.empty()) return merge;
  for (const auto& [device, set] : lines) {
    const std::string record = join_lines(set);
    writer.add(BundleTuning{device.first, device.second, record});
  }
  writer.write(output);
  merge.kernels = identities.size();
  merge.images = origins.size();
  merge.devices = lines.size();
  merge.bytes = BundleReader::open(output)->file_bytes();
  return merge;
}

std::vector<BundleChange> diff_bundles(const std::string& before, const std::string& after) {
  const Reader old_reader = BundleReader::open(before), new_reader = BundleReader::open(after);
  std::vector<BundleChange> changes;
  compare_kernels(*old_reader, *new_reader, changes);
  compare_tunings(*old_reader, *new_reader, changes);
  std::stable_sort(changes.begin(), changes.end(), [](const BundleChange& a, const BundleChange& b) {
    return std::tie(a.what, a.target) < std::tie(b.what, b.target);
  });
  return changes;
}

}  // namespace kiln::tool
