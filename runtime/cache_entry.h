// runtime/cache_entry.h -- the file format of one cached kernel.
//
// Little-endian: magic "KILNBIN\n", format version, header bytes, then fixed fields and lengths, a BLAKE3 checksum over
// everything else, and the compiler's name, the kernel's name, the key text and the image. A reader accepts a file only
// if every byte is accounted for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/cache_key.h"
#include "runtime/runtime.h"

namespace kiln::runtime {

std::string write_entry(const CacheKey& key, const Binary& binary);

/// "" and a filled `binary`, or why the file is not the entry of `key`. Accepts any bytes.
std::string read_entry(std::string_view file, const CacheKey& key, Binary& binary);

/// What an entry says of itself, for `kiln cache`.
struct EntrySummary {
  std::string kernel, compiler;
  std::string language, arch;   ///< from the key
  std::uint32_t created_s = 0;  ///< since the epoch
  std::uint32_t version = 0;    ///< of the format; the rest is known only of cache_format_version
};
/// How many bytes from the start of a file describe_entry() wants to see.
inline constexpr std::size_t summary_bytes = 4096;
/// "" and a filled summary, or what is wrong with the start of the file; nothing behind it is looked at. Accepts any
/// bytes.
std::string describe_entry(std::string_view start, EntrySummary& summary);
/// "" if the whole file is a sound entry of this version that belongs under this digest, else what is wrong.
std::string verify_entry(std::string_view file, std::string_view digest);

}  // namespace kiln::runtime
