// runtime/cache_entry.h -- the file format of one cached kernel.
//
// Little-endian: magic "KILNBIN\n", format version, header bytes, then fixed fields and lengths, a BLAKE3 checksum over
// everything else, and the key text, entry name and image. A reader accepts a file only if every byte is accounted for.
#pragma once

#include <string>
#include <string_view>

#include "runtime/cache_key.h"
#include "runtime/runtime.h"

namespace kiln::runtime {

std::string write_entry(const CacheKey& key, const Binary& binary);

/// "" and a filled `binary`, or why the file is not the entry of `key`. Accepts any bytes.
std::string read_entry(std::string_view file, const CacheKey& key, Binary& binary);

}  // namespace kiln::runtime
