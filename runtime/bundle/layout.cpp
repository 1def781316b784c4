// runtime/bundle/layout.cpp -- lays out a bundle file in the one canonical order.
#include "runtime/bundle/layout.h"

#include <cstring>
#include <map>

#include "runtime/bundle/format.h"
#include "support/check.h"

namespace kiln::runtime::bundle_format {
namespace {

template <class T>
void append(std::string& to, const T& record) {
  to.append(reinterpret_cast<const char*>(&record), sizeof record);
}

/// Distinct texts in order, and the index of each.
class TextTable {
 public:
  void note(std::string_view text) { indices_.try_emplace(text, 0); }
  void number() {
    std::uint32_t next = 0;
    for (auto& [text, index] : indices_) index = next++;
  }
  std::uint32_t operator[](std::string_view text) const { return indices_.find(text)->second; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(indices_.size()); }
  void append_to(std::string& manifest) const {
    for (const auto& [text, index] : indices_) append(manifest, static_cast<std::uint32_t>(text.size()));
    for (const auto& [text, index] : indices_) manifest += text;
  }

 private:
  std::map<std::string_view, std::uint32_t> indices_;
};

void append_kernel(std::string& manifest, const BundleKernel& kernel, std::uint32_t blob, const TextTable& texts) {
  Kernel record{};
  std::memcpy(record.identity, kernel.identity.data(), sizeof record.identity);
  record.blob = blob;
  record.kind = static_cast<std::uint32_t>(kernel.kind);
  record.identity_version = kernel.identity_version;
  record.registers = kernel.registers;
  record.spill_bytes = kernel.spill_bytes;
  record.shared_bytes = kernel.shared_bytes;
  record.local_bytes = kernel.local_bytes;
  for (std::uint32_t i = 0; i < text_count; ++i) record.texts[i] = texts[text_of(kernel, i)];
  append(manifest, record);
}

/// Everything behind the blob records.
std::string records_of(const Contents& contents, Header& header) {
  TextTable texts;
  for (const BundleKernel* const kernel : contents.kernels)
    for (std::uint32_t i = 0; i < text_count; ++i) texts.note(text_of(*kernel, i));
  for (const BundleTuning* const tuning : contents.tunings) {
    texts.note(tuning->device);
    texts.note(tuning->record);
  }
  texts.number();
  std::map<Digest, std::uint32_t> blobs;
  for (const auto& [digest, image] : contents.images) blobs.emplace(*digest, static_cast<std::uint32_t>(blobs.size()));
  std::string records;
  for (const BundleKernel* const kernel : contents.kernels)
    append_kernel(records, *kernel, blobs.at(kernel->image_digest), texts);
  for (const BundleTuning* const tuning : contents.tunings)
    append(records, Tuning{texts[tuning->device], tuning->multiprocessors, texts[tuning->record]});
  texts.append_to(records);
  header.texts = texts.size();
  return records;
}

}  // namespace

Layout lay_out(const Contents& contents) {
  static constexpr char zeros[bundle_alignment] = {};
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.version = bundle_format_version;
  header.header_bytes = sizeof header;
  header.blobs = static_cast<std::uint32_t>(contents.images.size());
  header.kernels = static_cast<std::uint32_t>(contents.kernels.size());
  header.tunings = static_cast<std::uint32_t>(contents.tunings.size());
  const std::string records = records_of(contents, header);
  header.manifest_bytes = contents.images.size() * sizeof(Blob) + records.size();
  std::uint64_t offset = aligned(sizeof header + header.manifest_bytes);
  Layout layout;
  layout.parts = {{}, {zeros, offset - sizeof header - header.manifest_bytes}};
  std::string blobs;
  for (const auto& [digest, image] : contents.images) {
    Blob blob{offset, image.size(), {}};
    std::memcpy(blob.digest, digest->data(), sizeof blob.digest);
    append(blobs, blob);
    offset = aligned(offset + image.size());
    layout.parts.push_back(image);
    layout.parts.emplace_back(zeros, offset - blob.offset - image.size());
  }
  header.file_bytes = offset;
  if (header.manifest_bytes > BundleLimits::manifest_bytes || offset > BundleLimits::file_bytes)
    fail<IoError>("the bundle would have {} bytes: make several", offset);
  blobs += records;
  const Digest digest = manifest_digest(header, blobs);
  std::memcpy(header.digest, digest.data(), sizeof header.digest);
  append(layout.manifest, header);
  layout.manifest += blobs;
  layout.parts.front() = layout.manifest;
  return layout;
}

}  // namespace kiln::runtime::bundle_format
