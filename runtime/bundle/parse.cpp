// runtime/bundle/parse.cpp -- checks a bundle before anything in it is used. No size is trusted.
#include "runtime/bundle/parse.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace kiln::runtime::bundle_format {
namespace {

std::string damaged(std::string_view what) {
  return fmt::format("it is damaged ({}): copy it again, or build it again with `kiln bundle build`", what);
}

std::string header_problem(std::string_view file, Header& header) {
  if (file.size() < sizeof magic || std::memcmp(file.data(), magic, sizeof magic) != 0) return foreign_file(file);
  if (file.size() < sizeof header) return damaged(fmt::format("{} bytes are less than a header", file.size()));
  std::memcpy(&header, file.data(), sizeof header);
  if (header.version != bundle_format_version)
    return fmt::format("its format is version {}, this kiln reads version {}: {}", header.version,
                       bundle_format_version,
                       header.version > bundle_format_version
                           ? "install the kiln that made it, or build it again with this one's `kiln bundle build`"
                           : "build it again with `kiln bundle build`");
  if (header.header_bytes != sizeof header) return damaged("the length of its header is wrong");
  if (header.file_bytes != file.size())
    return damaged(fmt::format("it has {} bytes and says {}", file.size(), header.file_bytes));
  if (std::any_of(std::begin(header.reserved), std::end(header.reserved), [](unsigned char c) { return c != 0; }))
    return damaged("reserved bytes of its header are not zero");
  if (header.kernels > BundleLimits::kernels || header.tunings > BundleLimits::tunings)
    return damaged("it says that it holds more than a bundle may");
  if (file.size() > BundleLimits::file_bytes || header.manifest_bytes > BundleLimits::manifest_bytes ||
      header.manifest_bytes > file.size() - sizeof header)
    return damaged("its manifest is longer than the file");
  return "";
}

std::string digest_problem(std::string_view file, const Header& header) {
  const Digest digest = manifest_digest(header, file.substr(sizeof header, header.manifest_bytes));
  return std::memcmp(digest.data(), header.digest, digest.size()) == 0
             ? ""
             : damaged("the checksum of its manifest is wrong");
}

/// The parts of a manifest, each within the file, and together all of it.
struct Sections {
  std::string_view blobs, kernels, tunings, lengths, texts;
};

std::string section_problem(std::string_view file, const Header& header, Sections& sections) {
  std::string_view rest = file.substr(sizeof header, header.manifest_bytes);
  bool fits = true;
  const auto take = [&](std::uint64_t count, std::uint64_t size) {  // counts have 32 bits: the product cannot wrap
    fits = fits && count * size <= rest.size();
    const std::string_view section = fits ? rest.substr(0, count * size) : std::string_view();
    rest.remove_prefix(section.size());
    return section;
  };
  sections.blobs = take(header.blobs, sizeof(Blob));
  sections.kernels = take(header.kernels, sizeof(Kernel));
  sections.tunings = take(header.tunings, sizeof(Tuning));
  sections.lengths = take(header.texts, sizeof(std::uint32_t));
  sections.texts = rest;
  return fits ? "" : damaged("its manifest is shorter than its counts say");
}

template <class Record>
Record record_at(std::string_view section, std::size_t index) {
  Record record;
  std::memcpy(&record, section.data() + index * sizeof record, sizeof record);
  return record;
}

bool are_zero(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

bool is_below(const Blob& a, const Blob& b) { return std::memcmp(a.digest, b.digest, sizeof a.digest) < 0; }

/// Where a blob may lie follows from those before it, so none overlap and none wraps.
std::string read_blobs(std::string_view file, const Header& header, std::string_view section,
                       std::vector<Blob>& blobs) {
  const std::uint64_t end_of_manifest = sizeof header + header.manifest_bytes;
  std::uint64_t expected = aligned(end_of_manifest);
  if (expected > file.size() || !are_zero(file.substr(end_of_manifest, expected - end_of_manifest)))
    return damaged("there are no zeros behind its manifest");
  blobs.reserve(header.blobs);
  for (std::uint32_t i = 0; i < header.blobs; ++i) {
    const Blob blob = record_at<Blob>(section, i);
    if (blob.offset != expected) return damaged(fmt::format("image {} is not where it belongs", i));
    if (blob.bytes == 0 || blob.bytes > BundleLimits::image_bytes || blob.bytes > file.size() - expected)
      return damaged(fmt::format("the length of image {} is wrong", i));
    if (i && !is_below(blobs.back(), blob)) return damaged("its images are out of order");
    expected = aligned(expected + blob.bytes);
    if (expected > file.size()) return damaged("it ends too early");
    blobs.push_back(blob);
  }
  return expected == file.size() ? "" : damaged("it ends too late");
}

/// The texts, and which of them are used.
class Texts {
 public:
  std::string read(const Sections& sections) {
    std::string_view rest = sections.texts;
    const std::size_t count = sections.lengths.size() / sizeof(std::uint32_t);
    texts_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto length = record_at<std::uint32_t>(sections.lengths, i);
      if (length > rest.size()) return damaged("its texts are longer than its manifest");
      const std::string_view text = rest.substr(0, length);
      if (i && !(texts_.back() < text)) return damaged("its texts are out of order");
      texts_.push_back(text);
      rest.remove_prefix(length);
    }
    used_.assign(texts_.size(), false);
    return rest.empty() ? "" : damaged("its manifest is longer than its texts");
  }
  bool get(std::uint32_t index, std::string_view& text) {
    if (index >= texts_.size()) return false;
    used_[index] = true;
    text = texts_[index];
    return true;
  }
  bool are_all_used() const { return std::find(used_.begin(), used_.end(), false) == used_.end(); }

 private:
  std::vector<std::string_view> texts_;
  std::vector<bool> used_;
};

bool are_in_order(const BundleKernel& a, const BundleKernel& b) {
  return a.identity != b.identity ? a.identity < b.identity : a.target < b.target;
}

bool are_in_order(const BundleTuning& a, const BundleTuning& b) {
  return a.device != b.device ? a.device < b.device : a.multiprocessors < b.multiprocessors;
}

/// "" and a kernel whose texts and blob are there.
std::string read_kernel(const Kernel& record, Texts& texts, const std::vector<Blob>& blobs, BundleKernel& kernel) {
  std::memcpy(kernel.identity.data(), record.identity, kernel.identity.size());
  for (std::uint32_t i = 0; i < text_count; ++i)
    if (!texts.get(record.texts[i], text_of(kernel, i)))
      return fmt::format("its {} is not there", kernel_rules[i].name);
  if (record.blob >= blobs.size()) return "its image is not there";
  if (record.kind > static_cast<std::uint32_t>(ImageKind::object)) return "its image is of an unknown kind";
  kernel.kind = static_cast<ImageKind>(record.kind);
  kernel.identity_version = record.identity_version;
  kernel.registers = record.registers;
  kernel.spill_bytes = record.spill_bytes;
  kernel.shared_bytes = record.shared_bytes;
  kernel.local_bytes = record.local_bytes;
  kernel.image_bytes = blobs[record.blob].bytes;
  std::memcpy(kernel.image_digest.data(), blobs[record.blob].digest, kernel.image_digest.size());
  return kernel_problem(kernel);
}

std::string read_kernels(std::string_view section, Texts& texts, Parsed& parsed) {
  const std::size_t count = section.size() / sizeof(Kernel);
  std::vector<bool> used(parsed.blobs.size(), false);
  parsed.kernels.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = record_at<Kernel>(section, i);
    BundleKernel kernel;
    if (const std::string problem = read_kernel(record, texts, parsed.blobs, kernel); !problem.empty())
      return damaged(fmt::format("kernel {}: {}", i, problem));
    if (i && !are_in_order(parsed.kernels.back(), kernel))
      return damaged(fmt::format("kernel {} is there twice or out of order", i));
    used[record.blob] = true;
    parsed.kernels.push_back(kernel);
  }
  const bool all = std::find(used.begin(), used.end(), false) == used.end();
  return all ? "" : damaged("an image belongs to no kernel");
}

std::string read_tunings(std::string_view section, Texts& texts, Parsed& parsed) {
  const std::size_t count = section.size() / sizeof(Tuning);
  parsed.tunings.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = record_at<Tuning>(section, i);
    BundleTuning tuning;
    tuning.multiprocessors = record.multiprocessors;
    if (!texts.get(record.device, tuning.device) || !texts.get(record.record, tuning.record))
      return damaged(fmt::format("a text of tuning {} is not there", i));
    if (const std::string problem = tuning_problem(tuning); !problem.empty())
      return damaged(fmt::format("tuning {}: {}", i, problem));
    if (i && !are_in_order(parsed.tunings.back(), tuning))
      return damaged(fmt::format("tuning {} is there twice or out of order", i));
    parsed.tunings.push_back(tuning);
  }
  return "";
}

}  // namespace

std::string parse(std::string_view file, Parsed& parsed) {
  parsed = {};
  Header header;
  Sections sections;
  Texts texts;
  if (std::string problem = header_problem(file, header); !problem.empty()) return problem;
  if (std::string problem = digest_problem(file, header); !problem.empty()) return problem;
  if (std::string problem = section_problem(file, header, sections); !problem.empty()) return problem;
  if (std::string problem = read_blobs(file, header, sections.blobs, parsed.blobs); !problem.empty()) return problem;
  if (std::string problem = texts.read(sections); !problem.empty()) return problem;
  if (std::string problem = read_kernels(sections.kernels, texts, parsed); !problem.empty()) return problem;
  if (std::string problem = read_tunings(sections.tunings, texts, parsed); !problem.empty()) return problem;
  return texts.are_all_used() ? "" : damaged("a text belongs to nothing");
}

std::string blob_problem(std::string_view file, const Blob& blob) {
  const std::string_view image = file.substr(blob.offset, blob.bytes);
  const Digest digest = blake3(image);
  if (std::memcmp(digest.data(), blob.digest, digest.size()) != 0) return "its checksum is wrong";
  const std::uint64_t end = blob.offset + blob.bytes;
  return are_zero(file.substr(end, aligned(end) - end)) ? "" : "there are no zeros behind it";
}

std::string image_problem(const BundleKernel& kernel, std::string_view image) {
  if (kernel.kind == ImageKind::ptx)
    return !image.empty() && image.back() == '\0' ? "" : "its PTX does not end with a NUL";
  return "";
}

}  // namespace kiln::runtime::bundle_format
