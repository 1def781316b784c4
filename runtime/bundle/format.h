// runtime/bundle/format.h -- the bytes of a bundle file, as reader and writer share them.
//
// Header, then the manifest: blob records, kernel records, tuning records, lengths of the texts, the texts; then the
// blobs. Everything is little-endian and in one order only, so that equal contents are equal bytes:
//   - texts by their bytes, blobs by their digest, kernels by identity and target, tunings by device and
//     multiprocessors, each once, and nothing that is not used;
//   - the blobs in the order of their records, each on the next multiple of 64 bytes, zeros between them and at the
//   end.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/bundle/bundle.h"

namespace kiln::runtime::bundle_format {

static_assert(std::endian::native == std::endian::little, "bundles are read and written in the machine's byte order");

/// No text file begins like this, and a transfer that changes line ends or clears high bits destroys it (as PNG's).
inline constexpr unsigned char magic[8] = {0x89, 'K', 'L', 'B', '\r', '\n', 0x1a, '\n'};

/// Magic and version stay where they are in every version of the format.
struct Header {
  unsigned char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t file_bytes;
  std::uint64_t manifest_bytes;
  std::uint32_t blobs, kernels, tunings, texts;
  unsigned char reserved[48];  ///< zero
  unsigned char digest[32];    ///< BLAKE3 of the header, with zeros here, and of the manifest's BLAKE3
};
static_assert(sizeof(Header) == 128);

struct Blob {
  std::uint64_t offset;  ///< in the file
  std::uint64_t bytes;
  unsigned char digest[32];  ///< BLAKE3 of the bytes
};
static_assert(sizeof(Blob) == 48);

/// The texts of a kernel, in the order of their indices in its record.
enum Text : std::uint32_t { target, entry, title, options, compiler, plan, text_count };

struct Kernel {
  unsigned char identity[32];
  std::uint32_t blob;  ///< index of its record
  std::uint32_t kind;  ///< ImageKind
  std::uint32_t identity_version;
  std::int32_t registers, spill_bytes, shared_bytes, local_bytes;
  std::uint32_t texts[text_count];
};
static_assert(sizeof(Kernel) == 84);

struct Tuning {
  std::uint32_t device;  ///< index of a text
  std::int32_t multiprocessors;
  std::uint32_t record;  ///< index of a text
};
static_assert(sizeof(Tuning) == 12);

Digest manifest_digest(Header header, std::string_view manifest);

/// `offset` on the next multiple of the alignment; offsets are far from 2^64.
constexpr std::uint64_t aligned(std::uint64_t offset) {
  return (offset + bundle_alignment - 1) / bundle_alignment * bundle_alignment;
}

/// What an empty text, or line ends and tabs, mean for a field.
struct TextRule {
  const char* name;
  std::uint32_t most_bytes = BundleLimits::text_bytes;
  bool may_be_empty = true;
  bool may_have_lines = false;
};
inline constexpr TextRule kernel_rules[text_count] = {
    {"target", 64, false},
    {"entry", BundleLimits::text_bytes, false},
    {"title", BundleLimits::text_bytes, false},
    {"options"},
    {"compiler"},
    {"plan", BundleLimits::record_bytes, true, true},
};
inline constexpr TextRule device_rule = {"device", BundleLimits::text_bytes, false};
inline constexpr TextRule record_rule = {"tuning record", BundleLimits::record_bytes, true, true};

/// "" or what is wrong with a text under a rule: "its title has a control character at byte 5".
std::string text_problem(std::string_view text, const TextRule& rule);
/// "" or what is wrong with everything but image and digest.
std::string kernel_problem(const BundleKernel& kernel);
std::string tuning_problem(const BundleTuning& tuning);
/// The six texts, in the order of `Text`.
std::string_view text_of(const BundleKernel& kernel, std::uint32_t which);
std::string_view& text_of(BundleKernel& kernel, std::uint32_t which);

/// "it begins with \"#!/bin/sh\"" or whatever tells a person what the file really is, and what to do.
std::string foreign_file(std::string_view start);

}  // namespace kiln::runtime::bundle_format
