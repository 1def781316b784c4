// runtime/cache_key.h -- the identity of a compile: everything that can change the binary, as text and as a digest.
#pragma once

#include <string>

#include "support/hash.h"
#include "support/kernel.h"

namespace kiln::runtime {

/// Raised when the meaning of a key or an entry changes: older entries then never match.
inline constexpr unsigned cache_format_version = 2;

struct CacheKey {
  std::string text;      ///< compared in full; the digest only finds the place
  Digest digest;         ///< BLAKE3 of the text
  std::string compiler;  ///< whose work the key promises
  bool has_includes = false;
  bool persistent = true;  ///< false: the source includes what cannot be followed, so the key does not say everything
};

CacheKey make_cache_key(const KernelSource& source, const CompileOptions& options);

/// Which build of kiln this is: build id of the library (or program) that holds this code, else its size and time.
const std::string& kiln_build();

/// For tests: keep only the first `bits` bits of digests, so that different keys meet in one place. 256 restores.
void truncate_digests(int bits);

}  // namespace kiln::runtime
