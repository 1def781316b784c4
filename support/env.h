// support/env.h -- the only place that reads the environment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

enum class SettingKind : std::uint8_t { text, path, paths };

/// One documented variable and where its value came from.
struct Setting {
  const char* name;                      ///< "KILN_CACHE"
  const char* default_value;             ///< as shown in the README's table
  const char* meaning;                   ///< one line
  SettingKind kind = SettingKind::text;  ///< setting() gives paths absolute, as they were at the start of the process
};
/// The table of api.md section 6; `kiln info` and the README print it.
const std::vector<Setting>& settings();

/// The value of a listed variable, or its default. Read once, at first use.
std::string setting(std::string_view name);
bool is_set(std::string_view name);
/// One sentence per KILN_* variable in the environment that is not in the table, with the nearest known name. The log
/// reports them once, at its first use.
std::vector<std::string> unknown_settings();

/// Re-reads the environment. For tests only: not safe beside other threads.
void reload_settings();

/// Other variables that kiln honours but does not own (HOME, XDG_CACHE_HOME, CUDA_HOME, ...); empty when unset.
std::string foreign_variable(const char* name);

}  // namespace kiln
