// runtime/cache_settings.h -- where the disk cache is, how large it may grow, and which compiler filled it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/kernel.h"

namespace kiln::runtime {

enum class CacheMode : std::uint8_t { on, read_only, off };

struct CacheSettings {
  CacheMode mode = CacheMode::on;
  std::string directory;  ///< empty: there is no place for a cache
  std::string problem;    ///< why there is no place; warned about once
  std::uint64_t limit = std::uint64_t{1} << 30;
  friend bool operator==(const CacheSettings&, const CacheSettings&) = default;
};
/// "500M" and the like in bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// KILN_CACHE, KILN_CACHE_DIR, KILN_CACHE_LIMIT, XDG_CACHE_HOME, HOME. A value that cannot be understood is warned
/// about once and its default taken.
CacheSettings cache_settings();

/// The file in which a cache notes the compiler that its entries of a language come from, and what it says; "none" if
/// nothing.
std::string compiler_note_path(const CacheSettings& settings, Language language);
std::string remembered_compiler(const CacheSettings& settings, Language language);

}  // namespace kiln::runtime
