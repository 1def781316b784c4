// runtime/cache_settings.cpp -- where the disk cache is, and how large it may grow.
#include "runtime/cache_settings.h"

#include <sys/stat.h>

#include <charconv>

#include "support/env.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void choose_directory(CacheSettings& settings) {
  if (std::string named = setting("KILN_CACHE_DIR"); !named.empty()) {
    settings.directory = std::move(named);
    return;
  }
  // The XDG base directory rules: a relative XDG_CACHE_HOME is to be ignored.
  if (const std::string xdg = foreign_variable("XDG_CACHE_HOME"); xdg.starts_with('/')) {
    settings.directory = xdg + "/kiln";
    return;
  }
  const std::string home = foreign_variable("HOME");
  if (home.empty()) {
    settings.problem = "neither KILN_CACHE_DIR, XDG_CACHE_HOME nor HOME is set";
  } else if (!is_directory(home)) {
    settings.problem = fmt::format("HOME={} is not a directory", home);
  } else {
    settings.directory = home + "/.cache/kiln";
  }
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  int shift = 0;
  if (!unit.empty()) {
    const std::size_t place = std::string_view("KMGT").find(static_cast<char>(unit[0] & ~0x20));
    if (place == std::string_view::npos) return std::nullopt;
    shift = 10 * static_cast<int>(place + 1);
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "B" && unit != "b" && unit != "iB") return std::nullopt;
  }
  if (shift && value > (~std::uint64_t{0} >> shift)) return std::nullopt;
  return value << shift;
}

CacheSettings cache_settings() {
  CacheSettings settings;
  const std::string mode = setting("KILN_CACHE");
  if (mode == "off") {
    settings.mode = CacheMode::off;
  } else if (mode == "ro") {
    settings.mode = CacheMode::read_only;
  } else if (mode != "on") {
    warn_once(fmt::format("KILN_CACHE={} is none of on, ro and off; taking on", mode));
  }
  const std::string limit = setting("KILN_CACHE_LIMIT");
  if (const auto bytes = parse_size(limit)) {
    settings.limit = *bytes;
  } else {
    warn_once(fmt::format("KILN_CACHE_LIMIT={} is not a size such as 500M or 2G; taking 1G", limit));
  }
  choose_directory(settings);
  return settings;
}

std::string compiler_note_path(const CacheSettings& settings, Language language) {
  return settings.directory + (language == Language::cuda ? "/nvrtc" : "/llvm");
}

std::string remembered_compiler(const CacheSettings& settings, Language language) {
  std::string identity;
  if (settings.mode == CacheMode::off || settings.directory.empty() ||
      files::read_private(compiler_note_path(settings, language), {.limit = 4096}, identity) != 0)
    return "none";
  return identity;
}

}  // namespace kiln::runtime
