// tests/fuzz/bundle/target.cpp -- one run of the fuzzer.
#include "tests/fuzz/bundle/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <kiln/error.h>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/choose.h"
#include "runtime/bundle/format.h"

namespace kiln::fuzz {
namespace {

using namespace runtime;
using bundle_format::Blob;
using bundle_format::Header;

std::uint64_t accepted = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bundle fuzzer: %s\n", what);
  std::abort();
}

/// Reads every byte, so that a sanitizer sees views that leave the file.
std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 0;
  for (const char c : text) sum += static_cast<unsigned char>(c);
  return sum;
}

void use(const BundleReader& reader) {
  std::uint64_t sum = 0;
  const BundleKernel* previous = nullptr;
  for (const BundleKernel& kernel : reader.kernels()) {
    for (std::uint32_t i = 0; i < bundle_format::text_count; ++i) sum += sum_of(bundle_format::text_of(kernel, i));
    expect(bundle_format::kernel_problem(kernel).empty(), "a kernel was accepted that may not be");
    expect(!previous || previous->identity != kernel.identity || previous->target < kernel.target,
           "a kernel is there twice");
    const auto found = reader.kernels(kernel.identity);
    expect(std::any_of(found.begin(), found.end(), [&](const BundleKernel& k) { return &k == &kernel; }),
           "a kernel is not found");
    for (const char* const arch : {"sm_90", "x86-64 sse3", "aarch64 neon"}) {
      const BundleChoice choice = choose(found, arch, true);
      expect(choice.usable.size() + choice.rejections.size() == found.size(), "a candidate was forgotten");
    }
    previous = &kernel;
  }
  for (const BundleTuning& tuning : reader.tunings()) {
    sum += sum_of(tuning.device) + sum_of(tuning.record);
    expect(reader.tuning(tuning.device, tuning.multiprocessors) == &tuning, "a tuning is not found");
  }
  expect(sum < ~std::uint64_t{0}, "so many bytes are not there");  // keeps the compiler from leaving the reads out
}

/// A bundle whose images are sound is what the writer makes of its contents.
void rewrite(const BundleReader& reader, std::string_view bytes) {
  BundleWriter writer;
  for (const BundleKernel& kernel : reader.kernels()) {
    std::string_view image;
    try {
      image = reader.image(kernel);
    } catch (const IoError&) {
      return;
    }
    expect(reinterpret_cast<std::uintptr_t>(image.data()) % bundle_alignment == 0, "an image is not aligned");
    expect(blake3(image) == kernel.image_digest, "an image is not what its checksum says");
    writer.add(kernel, image);
  }
  if (!reader.verify().empty()) return;
  for (const BundleTuning& tuning : reader.tunings()) writer.add(tuning);
  expect(writer.contents() == bytes, "the bundle is not in canonical form");
}

void parse(std::string_view bytes) {
  std::shared_ptr<const BundleReader> reader;
  try {
    reader = BundleReader::from_memory(bytes, "fuzzed.klb");
  } catch (const IoError& error) {
    expect(std::string_view(error.what()).find("fuzzed.klb") != std::string_view::npos, "the message names no file");
    return;
  }
  ++accepted;
  use(*reader);
  rewrite(*reader, bytes);
}

}  // namespace

std::uint64_t accepted_bundles() { return accepted; }

std::string with_right_checksums(std::string bytes) {
  Header header;
  if (bytes.size() < sizeof header) return bytes;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint64_t manifest_bytes = std::min<std::uint64_t>(header.manifest_bytes, bytes.size() - sizeof header);
  const std::uint64_t blobs = std::min<std::uint64_t>(header.blobs, manifest_bytes / sizeof(Blob));
  for (std::uint64_t i = 0; i < blobs; ++i) {
    Blob blob;
    char* const place = bytes.data() + sizeof header + i * sizeof blob;
    std::memcpy(&blob, place, sizeof blob);
    if (blob.offset > bytes.size() || blob.bytes > bytes.size() - blob.offset) continue;
    const Digest digest = blake3(std::string_view(bytes).substr(blob.offset, blob.bytes));
    std::memcpy(place + offsetof(Blob, digest), digest.data(), digest.size());
  }
  const Digest digest =
      bundle_format::manifest_digest(header, std::string_view(bytes).substr(sizeof header, manifest_bytes));
  std::memcpy(bytes.data() + offsetof(Header, digest), digest.data(), digest.size());
  return bytes;
}

namespace {

BundleKernel kernel_for(const std::string& name, std::string_view target) {
  BundleKernel kernel;
  kernel.identity = blake3(name);
  kernel.target = target;
  kernel.kind = *kind_of_target(target);
  kernel.entry = "k";
  kernel.title = "saxpy f32[n]";
  return kernel;
}

}  // namespace

std::vector<std::string> bundle_seeds() {
  std::vector<std::string> seeds = {BundleWriter().contents()};
  const char* const targets[] = {"sm_80", "sm_90a", "ptx_80", "x86-64-v3", "aarch64", "sm_100f"};
  for (int kernels = 1; kernels <= 6; ++kernels) {
    BundleWriter writer;
    for (int i = 0; i < kernels; ++i) {
      BundleKernel kernel = kernel_for(i % 2 ? "one" : "two", targets[i]);
      kernel.plan = kernels % 2 ? "flat\n\t4" : "";
      kernel.options = kernels > 3 ? "contract é" : "";
      std::string image(static_cast<std::size_t>(i * 63 + 1), static_cast<char>('a' + i));
      if (kernel.kind == ImageKind::ptx) image += '\0';
      writer.add(kernel, image);
    }
    for (int i = 0; i < kernels / 2; ++i) writer.add(BundleTuning{"NVIDIA H200", 100 + i, i % 2 ? "line\n" : ""});
    seeds.push_back(writer.contents());
  }
  BundleWriter shared;  // one image for two kernels
  for (const char* const name : {"one", "two"}) shared.add(kernel_for(name, "sm_90"), "image");
  seeds.push_back(shared.contents());
  return seeds;
}

}  // namespace kiln::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  kiln::fuzz::parse(bytes);
  // Past the checksums, where the checks of every field are.
  const std::string forged = kiln::fuzz::with_right_checksums(bytes);
  if (forged != bytes) kiln::fuzz::parse(forged);
  return 0;
}
