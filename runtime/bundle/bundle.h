// runtime/bundle/bundle.h -- one file of precompiled kernels for several targets: what it holds, its reader and writer.
//
// docs/bundles.md describes the format. A bundle is memory-mapped; a kernel is found by its identity, which its user
// computes and the bundle does not interpret, and then by target (choose.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"

namespace kiln::runtime {

/// Raised when the layout of the file changes.
inline constexpr std::uint32_t bundle_format_version = 1;
inline constexpr std::size_t bundle_alignment = 64;  ///< bytes, of every image

enum class ImageKind : std::uint8_t { cubin, ptx, object };

/// One kernel compiled for one target. Identity and target are unique in a bundle. The texts are UTF-8 without control
/// characters; `plan` may also have line ends and tabs.
struct BundleKernel {
  Digest identity{};  ///< BLAKE3 over what the kernel is, whatever it is compiled for
  /// "sm_90", "sm_90a", "sm_100f" (cubin); "ptx_80" (PTX); a name that cpu_target_features() knows (object).
  std::string_view target;
  ImageKind kind = ImageKind::cubin;  ///< which is what the target says
  /// Version of the rules by which identities are made: tells why nothing is found in a bundle of another kiln.
  std::uint32_t identity_version = 0;
  std::string_view entry;     ///< name of the kernel in the image; not empty
  std::string_view title;     ///< for people: name, typed signature, layout classes; not empty
  std::string_view options;   ///< for people: of the compile
  std::string_view compiler;  ///< for people: "NVRTC 13.0"
  std::string_view plan;      ///< text of whoever launches the kernel
  std::int32_t registers = -1, spill_bytes = -1, shared_bytes = 0, local_bytes = 0;  ///< as in Binary
  // Filled in by writer and reader.
  std::uint64_t image_bytes = 0;
  Digest image_digest{};
};

/// Tuned launches of one kind of device. Device and multiprocessors are unique in a bundle.
struct BundleTuning {
  std::string_view device;  ///< as DeviceInfo::name; not empty
  std::int32_t multiprocessors = 0;
  std::string_view record;  ///< of the tuner: lines, whose order means nothing
};

/// What a bundle may hold; beyond it is an error on both sides.
struct BundleLimits {
  static constexpr std::uint64_t image_bytes = std::uint64_t{1} << 30;
  static constexpr std::uint32_t kernels = 1u << 20;
  static constexpr std::uint32_t tunings = 1u << 16;
  static constexpr std::uint32_t text_bytes = 1u << 16;    ///< titles and the like
  static constexpr std::uint32_t record_bytes = 1u << 24;  ///< plans and tuning records
  static constexpr std::uint64_t manifest_bytes = 1ull << 31;
  static constexpr std::uint64_t file_bytes = std::uint64_t{1} << 40;
};

/// `text` made acceptable for a bundle: what is no UTF-8 or is a control character becomes '?', the end is cut off.
std::string bundle_text(std::string_view text);

/// Collects kernels in any order; equal contents give equal bytes. Not for use by two threads at once.
class BundleWriter {
 public:
  BundleWriter();
  BundleWriter(BundleWriter&&) noexcept;
  BundleWriter& operator=(BundleWriter&&) noexcept;
  ~BundleWriter();

  /// Copies everything. The same kernel may come twice; with another image or other texts it is an IoError, as is what
  /// no reader would accept.
  void add(const BundleKernel& kernel, std::string_view image);
  void add(const BundleTuning& tuning);
  /// What was added under this name, or null.
  const BundleKernel* find(const Digest& identity, std::string_view target) const;
  std::string_view image(const BundleKernel& kernel) const;  ///< of a kernel from find()
  const BundleTuning* find_tuning(std::string_view device, std::int32_t multiprocessors) const;
  std::size_t kernel_count() const;

  /// The whole file.
  std::string contents() const;
  /// Under a temporary name beside `path`, then renamed over it: readers see the old bundle or the new one, and those
  /// that have the old one mapped keep it. Throws IoError naming the path, the reason and the cure; no file is left.
  void write(const std::string& path) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A bundle that was checked: everything but the images when it is opened, each image when it is first used. Immutable,
/// for any number of threads. All views live as long as the reader.
class BundleReader {
 public:
  /// Maps the file. Throws IoError: the file cannot be read, is no bundle, is of a version of the format that this kiln
  /// does not know, or is damaged, with what to do.
  static std::shared_ptr<const BundleReader> open(const std::string& path);
  /// The same for bytes in memory, which stay valid and unchanged; `name` is for messages.
  static std::shared_ptr<const BundleReader> from_memory(std::string_view bytes, const std::string& name);
  BundleReader(const BundleReader&) = delete;
  BundleReader& operator=(const BundleReader&) = delete;
  ~BundleReader();

  const std::string& name() const;  ///< path, or the name given
  std::uint64_t file_bytes() const;
  /// All, by identity, then by target.
  std::span<const BundleKernel> kernels() const;
  /// The candidates for choose().
  std::span<const BundleKernel> kernels(const Digest& identity) const;
  /// The image of a kernel of this reader, 64-byte aligned. Compares it with its checksum the first time: IoError if it
  /// is damaged. PTX ends with a NUL, as in Binary.
  std::string_view image(const BundleKernel& kernel) const;
  std::span<const BundleTuning> tunings() const;
  const BundleTuning* tuning(std::string_view device, std::int32_t multiprocessors) const;
  /// Everything that is wrong with the images, one line each; empty for a sound bundle. Reads every byte.
  std::vector<std::string> verify() const;

 private:
  struct State;
  explicit BundleReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kiln::runtime
