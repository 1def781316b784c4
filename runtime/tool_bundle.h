// runtime/tool_bundle.h -- what `kiln bundle ls|verify|merge|diff` asks of the library.
//
// Exported from libkiln.so for the kiln command alone. Everything throws IoError for a file that cannot be read, or is
// no bundle, or whose manifest is damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tool {

struct BundleItem {
  std::string identity;  ///< 64 hexadecimal digits
  std::string target, kind, title, entry, options, compiler, plan;
  std::uint32_t identity_version = 0;
  std::int64_t image_bytes = 0;
  std::string image_digest;  ///< 64 hexadecimal digits
  int registers = -1, spill_bytes = -1, shared_bytes = 0, local_bytes = 0;
};
struct BundleDevice {
  std::string device;
  int multiprocessors = 0;
  std::uint64_t lines = 0;  ///< of the tuning record
};
struct BundleListing {
  std::uint64_t file_bytes = 0;
  std::uint32_t format_version = 0;
  std::vector<BundleItem> items;  ///< by title, then identity, then target
  std::uint64_t kernels = 0;      ///< distinct identities
  std::vector<BundleDevice> devices;
};
KILN_API BundleListing list_bundle(const std::string& path);

/// What is wrong with the images, one line each: wrong checksums, and images that are not what their target says.
KILN_API std::vector<std::string> verify_bundle(const std::string& path);

struct BundleMerge {
  /// Kernels of one identity and target that are not the same in two files, one line each. Nothing is written then.
  std::vector<std::string> conflicts;
  std::uint64_t kernels = 0, images = 0, devices = 0, bytes = 0;
};
/// All kernels and all lines of all tuning records of the inputs, whose order changes no byte.
KILN_API BundleMerge merge_bundles(const std::vector<std::string>& inputs, const std::string& output);

struct BundleChange {
  enum class Kind : std::uint8_t { added, removed, changed };
  Kind kind = Kind::changed;
  std::string what;     ///< title of the kernel; "tuned launches"
  std::string target;   ///< or the device
  std::string details;  ///< of what changed: "image 4096 to 4112 bytes, registers 32 to 40"; else size
};
/// From `before` to `after`: by title, then target. Empty if they hold the same.
KILN_API std::vector<BundleChange> diff_bundles(const std::string& before, const std::string& after);

}  // namespace kiln::tool
